/* SPDX-License-Identifier: Apache-2.0 */
/* ITT domains, string handles, threads, pause and resume, clocks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/itt/itt.h"
#include "core/marker/choose.h"

/*
 * The same object for the same text, whatever static part asks. Kept by the text, so that it is found
 * at once; never freed. Not base/map.h: every thread looks here at every call, without a lock.
 */
#define BUCKETS 1024u
struct object {
	kymo_string_t *text;
	void *object;
	struct object *next;
};
static struct object *_Atomic domains[BUCKETS], *_Atomic strings[BUCKETS];

static struct object *_Atomic *bucket_of(struct object *_Atomic *table, const kymo_string_t *text)
{
	return &table[((uintptr_t)text >> 4) % BUCKETS];
}

static void *object_find(struct object *_Atomic *table, const kymo_string_t *text)
{
	const struct object *x = atomic_load(bucket_of(table, text));

	while (x && x->text != text)
		x = x->next;
	return x ? x->object : NULL;
}

static void *object_add(struct object *_Atomic *table, kymo_string_t *text, void *object)
{
	struct object *_Atomic *bucket = bucket_of(table, text);
	int saved = errno;
	struct object *x = object ? malloc(sizeof(*x)) : NULL;

	errno = saved;
	if (!x)
		return object;
	*x = (struct object){text, object, atomic_load(bucket)};
	while (!atomic_compare_exchange_weak(bucket, &x->next, x))
		;
	return object;
}

static void *object_new(size_t size)
{
	int saved = errno;
	void *object = calloc(1, size);

	errno = saved;
	return object;
}

static struct itt_domain *domain_create(const char *name)
{
	kymo_string_t *s = annotation_string(name);
	struct itt_domain *d = s ? object_find(domains, s) : NULL;

	if (d || !s)
		return d;
	d = object_new(sizeof(*d));
	if (!d)
		return NULL;
	d->flags = marker_asks(name); /* 0: callers skip what they would say */
	d->name = s->text;
	d->ours = s;
	return object_add(domains, s, d);
}

static struct itt_string *string_create(const char *text)
{
	kymo_string_t *s = annotation_string(text);
	struct itt_string *x = s ? object_find(strings, s) : NULL;

	if (x || !s)
		return x;
	x = object_new(sizeof(*x));
	if (!x)
		return NULL;
	x->text = s->text;
	x->ours = s;
	return object_add(strings, s, x);
}

void itt_adopt(struct itt_domain *first_domain, struct itt_string *first_string)
{
	for (struct itt_domain *d = first_domain; d; d = d->next) {
		kymo_string_t *s = itt_domain_name(d);

		if (s && !marker_asks(s->text))
			d->flags = 0;
		if (s && !object_find(domains, s))
			object_add(domains, s, d);
	}
	for (struct itt_string *x = first_string; x; x = x->next) {
		kymo_string_t *s = itt_string(x);

		if (s && !object_find(strings, s))
			object_add(strings, s, x);
	}
}

/* Objects that a static part made before it had loaded us are named when they are met. */
kymo_string_t *itt_domain_name(const struct itt_domain *d)
{
	struct itt_domain *x = (struct itt_domain *)(uintptr_t)d;
	kymo_string_t *s = x ? atomic_load_explicit(&x->ours, memory_order_acquire) : NULL;

	if (!s && x) {
		s = annotation_string(x->name);
		atomic_store(&x->ours, s);
	}
	return s;
}

kymo_string_t *itt_string(const struct itt_string *given)
{
	struct itt_string *x = (struct itt_string *)(uintptr_t)given;
	kymo_string_t *s = x ? atomic_load_explicit(&x->ours, memory_order_acquire) : NULL;

	if (!s && x) {
		s = annotation_string(x->text);
		atomic_store(&x->ours, s);
	}
	return s;
}

/* ---- names of ids: the latest 4,096, in the order of a hash ---- */

#define ID_NAMES 4096u
static struct {
	_Atomic uint64_t d1, d2;
	kymo_string_t *_Atomic name;
} id_names[ID_NAMES];

static unsigned id_slot(struct itt_id id)
{
	return (unsigned)(((id.d1 ^ id.d2 << 20) * 0x9e3779b97f4a7c15ull) >> 52) % ID_NAMES;
}

void itt_id_name(struct itt_id id, kymo_string_t *name)
{
	unsigned i = id_slot(id);

	if (!name || (!id.d1 && !id.d2))
		return;
	atomic_store(&id_names[i].name, NULL);
	atomic_store(&id_names[i].d1, id.d1);
	atomic_store(&id_names[i].d2, id.d2);
	atomic_store(&id_names[i].name, name);
}

kymo_string_t *itt_name_of_id(struct itt_id id)
{
	unsigned i = id_slot(id);
	kymo_string_t *name = atomic_load(&id_names[i].name);
	bool same = atomic_load(&id_names[i].d1) == id.d1 && atomic_load(&id_names[i].d2) == id.d2;

	return same && atomic_load(&id_names[i].name) == name ? name : NULL;
}

kymo_marker_t itt_marker(const struct itt_domain *d, const struct itt_string *name)
{
	return (kymo_marker_t){.size = sizeof(kymo_marker_t),
			       .string = itt_string(name),
			       .domain = itt_domain_name(d)};
}

/* ---- threads ---- */

static void thread_set_name(const char *name)
{
	kymo_name(KYMO_OBJECT_THREAD, NULL, 0, name);
}

static int thr_name_set(const char *name, int length)
{
	char text[KYMO_STRING_MAX];

	if (!name || length < 0)
		return -1;
	snprintf(text, sizeof(text), "%.*s", length, name);
	thread_set_name(text);
	return 0;
}

static void thread_ignore(void)
{
	kymo_pause_thread();
}

/* ---- pause and resume ---- */

enum { SCOPE_HOST = 1 };

static void pause_all(void)
{
	kymo_pause();
}

static void resume_all(void)
{
	kymo_resume();
}

static void pause_scoped(int scope)
{
	if (scope & SCOPE_HOST)
		kymo_pause();
}

static void resume_scoped(int scope)
{
	if (scope & SCOPE_HOST)
		kymo_resume();
}

/* ---- clocks ---- */

static unsigned long long timestamp(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

static struct itt_clock *clock_create(void (*get)(struct itt_clock_info *, void *), void *data)
{
	struct itt_clock *c = object_new(sizeof(*c));

	if (!c)
		return NULL;
	c->get = get;
	c->data = data;
	if (get)
		get(&c->info, data);
	return c;
}

static const char *version(void)
{
	return "Kymo " KYMO_VERSION;
}

void itt_object_functions(itt_tell *tell, void *data)
{
	ITT_FUNCTION("domain_create", domain_create);
	ITT_FUNCTION("string_handle_create", string_create);
	ITT_FUNCTION("thread_set_name", thread_set_name);
	ITT_FUNCTION("thr_name_set", thr_name_set);
	ITT_FUNCTION("thread_ignore", thread_ignore);
	ITT_FUNCTION("thr_ignore", thread_ignore);
	ITT_FUNCTION("pause", pause_all);
	ITT_FUNCTION("resume", resume_all);
	ITT_FUNCTION("detach", pause_all);
	ITT_FUNCTION("pause_scoped", pause_scoped);
	ITT_FUNCTION("resume_scoped", resume_scoped);
	ITT_FUNCTION("get_timestamp", timestamp);
	ITT_FUNCTION("clock_domain_create", clock_create);
	ITT_FUNCTION("api_version", version);
}
