/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, streams, kernels and buffers of a program, by their mode objects. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "capture/occa/occa.h"
#include "core/annotation/string.h"
#include "core/marker/marker.h"

enum kind { DEVICE, STREAM, KERNEL, BUFFER, KINDS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map objects[KINDS]; /* under the lock */

/* ---- texts ---- */

uint32_t occa_string(const char *text)
{
	const struct marker_name *n = text && *text ? marker_name(text) : NULL;

	return n ? n->id : 0;
}

/* One that stays. */
static const char *kept(const char *text)
{
	const kymo_string_t *s = annotation_string(text ? text : "");

	return s ? s->text : "";
}

/* ---- by handle ---- */

static void *find(enum kind kind, const void *handle)
{
	void *found;

	pthread_mutex_lock(&lock);
	found = handle ? map_get_pointer(&objects[kind], (uintptr_t)handle) : NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

/* The object may be replaced, and stays all the same. */
static bool put(enum kind kind, const void *handle, void *object)
{
	bool ok;

	pthread_mutex_lock(&lock);
	ok = map_set_pointer(&objects[kind], (uintptr_t)handle, object);
	pthread_mutex_unlock(&lock);
	return ok;
}

static void *take(enum kind kind, const void *handle)
{
	void *found;

	pthread_mutex_lock(&lock);
	found = map_remove_pointer(&objects[kind], (uintptr_t)handle);
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- streams ---- */

static uint32_t define_queue(const struct occa_device *d, const void *handle, const char *name)
{
	uint32_t id = cap_new_id(DEF_QUEUE);
	struct wire_def def;

	wire_def_init(&def, DEF_QUEUE);
	wire_def_u64(&def, id);
	wire_def_string(&def, "occa");
	wire_def_u64(&def, (uintptr_t)handle);
	wire_def_u64(&def, d->agent);
	wire_def_u64(&def, 0);
	wire_def_u64(&def, 0);
	wire_def_u64(&def, 0);
	wire_def_u64(&def, tick_now());
	wire_def_string(&def, name);
	cap_define(&def);
	return id;
}

static void stream_begins(struct occa_stream *s, const void *handle, struct occa_device *d)
{
	char name[32];

	snprintf(name, sizeof(name), "stream %u", atomic_fetch_add(&d->streams, 1));
	s->device = d;
	s->name = occa_string(name);
	s->queue = d->host ? define_queue(d, handle, name) : 0;
}

struct occa_stream *occa_stream_find(const void *handle)
{
	return find(STREAM, handle);
}

struct occa_stream *occa_stream_new(const void *handle, struct occa_device *device)
{
	struct occa_stream *s = handle && device ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	stream_begins(s, handle, device);
	put(STREAM, handle, s);
	return s;
}

void occa_stream_gone(const void *handle)
{
	take(STREAM, handle);
}

/* ---- devices ---- */

struct occa_device *occa_device_find(const void *handle)
{
	return find(DEVICE, handle);
}

/*
 * Devices have the numbers that OCCA knows them by (device_id); where it knows none (Serial, OpenMP), those of a mode are
 * counted from 0. What is made anew with a number that was there is another device, and told apart.
 */
static struct numbered {
	struct numbered *next;
	char name[64];
	uint32_t made;
} * numbered; /* under the lock */

/* How many of that name were made before. */
static uint32_t made_before(const char *name)
{
	struct numbered *n;
	uint32_t before = 0;

	pthread_mutex_lock(&lock);
	for (n = numbered; n && strcmp(n->name, name) != 0;)
		n = n->next;
	if (!n && (n = calloc(1, sizeof(*n)))) {
		snprintf(n->name, sizeof(n->name), "%s", name);
		n->next = numbered;
		numbered = n;
	}
	if (n)
		before = n->made++;
	pthread_mutex_unlock(&lock);
	return before;
}

static void name_device(char *name, size_t size, const char *mode, int platform, int number)
{
	char own[64], again[16] = "", where[32] = "";
	uint32_t before;

	snprintf(own, sizeof(own), "%.32s %d %d", mode, platform, number);
	before = made_before(own);
	if (platform > 0)
		snprintf(where, sizeof(where), " of platform %d", platform);
	if (number < 0)
		number = (int)before;
	else if (before)
		snprintf(again, sizeof(again), " (%u)", before + 1);
	snprintf(name, size, "OCCA %.32s #%d%s%s", mode, number, where, again);
}

struct occa_device *occa_device_new(const void *handle, const char *mode, int platform, int number)
{
	struct occa_device *d = handle ? calloc(1, sizeof(*d)) : NULL;
	char name[128];

	if (!d)
		return NULL;
	name_device(name, sizeof(name), mode, platform, number);
	d->text = kept(name);
	d->name = occa_string(name);
	d->mode = occa_string(mode);
	d->host = strcmp(mode, "Serial") == 0 || strcmp(mode, "OpenMP") == 0;
	d->agent = d->host ? occa_host_agent(name) : 0;
	stream_begins(&d->first, NULL, d);
	atomic_store(&d->current, &d->first);
	put(DEVICE, handle, d);
	return d;
}

const char *occa_device_now(void)
{
	const struct occa_inside *t = &occa_thread()->in;

	return occa_inside(cap_sp()) && t->device ? t->device->text : NULL;
}

void occa_device_gone(const void *handle)
{
	take(DEVICE, handle);
}

/* ---- kernels ---- */

/* A launch looks its kernel up: the last few of a thread are found without the lock. */
static _Atomic uint32_t kernels_changed;

struct occa_kernel *occa_kernel_find(const void *handle)
{
	unsigned i = (unsigned)(((uintptr_t)handle * 0x9e3779b97f4a7c15ull) >> 60);
	uint32_t now = atomic_load_explicit(&kernels_changed, memory_order_acquire);
	struct occa_thread *t = occa_thread();

	if (t->lately.as_of != now) {
		memset(&t->lately, 0, sizeof(t->lately));
		t->lately.as_of = now;
	}
	if (t->lately.handles[i] != handle || !t->lately.kernels[i]) {
		t->lately.kernels[i] = find(KERNEL, handle);
		t->lately.handles[i] = handle;
	}
	return t->lately.kernels[i];
}

static const char *device_text(const struct occa_device *d)
{
	return d ? d->text : "";
}

/* A kernel of the host's modes: nobody below tells of it. */
static uint32_t define_kernel(const void *handle, const struct cap_kernel_origin *o)
{
	uint32_t id = cap_new_id(DEF_KERNEL);
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, id);
	wire_def_string(&d, "occa");
	wire_def_string(&d, o->name);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, (uintptr_t)handle);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, "");
	wire_def_string(&d, o->framework);
	wire_def_string(&d, o->source);
	wire_def_string(&d, o->device);
	cap_define(&d);
	return id;
}

struct occa_kernel *occa_kernel_new(const void *handle, const char *name, const char *source,
				    struct occa_device *device)
{
	struct occa_kernel *k = handle ? calloc(1, sizeof(*k)) : NULL;

	if (!k)
		return NULL;
	k->origin =
		(struct cap_kernel_origin){"occa", kept(name), kept(source), device_text(device)};
	k->name = occa_string(k->origin.name);
	k->source = occa_string(k->origin.source);
	k->device = device;
	k->id = device && device->host ? define_kernel(handle, &k->origin) : 0;
	put(KERNEL, handle, k);
	atomic_fetch_add(&kernels_changed, 1);
	return k;
}

void occa_kernel_gone(const void *handle)
{
	take(KERNEL, handle);
	atomic_fetch_add(&kernels_changed, 1);
}

/* ---- names of the kernels that modes generate ---- */

struct name {
	struct cap_kernel_origin origin;
	size_t length;
};
static struct map names; /* by hash of the name, under the lock */

static struct name *find_name(const char *text, size_t length)
{
	uint64_t value;

	map_each(&names, hash_bytes(text, length), value) {
		struct name *n = (struct name *)(uintptr_t)value;

		if (n->length == length && memcmp(n->origin.name, text, length) == 0)
			return n;
	}
	return NULL;
}

void occa_kernel_name(const char *name, const char *source, const struct occa_device *device)
{
	const char *of = kept(source), *text = kept(name);
	const struct cap_kernel_origin origin = {"occa", text, of, device_text(device)};
	struct name *n;

	pthread_mutex_lock(&lock);
	n = find_name(text, strlen(text));
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (n && !map_add(&names, hash_bytes(text, strlen(text)), (uintptr_t)n)) {
			free(n);
			n = NULL;
		}
	}
	if (n)
		*n = (struct name){origin, strlen(text)};
	pthread_mutex_unlock(&lock);
	occa_thread()->in.builds = origin;
}

/* OCCA's names are _occa_NAME_NUMBER: a kernel of the user's may become several of the mode's. */
static bool strip(const char **symbol, size_t *length)
{
	static const char prefix[] = "_occa_";
	const char *p = *symbol;
	size_t n = *length, digits = 0;

	if (n < sizeof(prefix) || memcmp(p, prefix, sizeof(prefix) - 1) != 0)
		return false;
	p += sizeof(prefix) - 1;
	n -= sizeof(prefix) - 1;
	while (digits < n && p[n - digits - 1] >= '0' && p[n - digits - 1] <= '9')
		digits++;
	if (!digits || n < digits + 2 || p[n - digits - 1] != '_')
		return false;
	*symbol = p;
	*length = n - digits - 1;
	return true;
}

static bool is_it(const struct cap_kernel_origin *o, const char *symbol, size_t length)
{
	return o->name && strlen(o->name) == length && memcmp(o->name, symbol, length) == 0;
}

bool occa_kernel_origin(const char *symbol, size_t length, struct cap_kernel_origin *out)
{
	const struct occa_inside *t = &occa_thread()->in;
	const struct name *n;

	if (!strip(&symbol, &length))
		return false;
	/* The kernel that is built or runs just now, for others may have its name. */
	if (occa_inside(cap_sp())) {
		const struct cap_kernel_origin *o = t->kernel ? &t->kernel->origin : &t->builds;

		if (is_it(o, symbol, length)) {
			*out = *o;
			return true;
		}
	}
	pthread_mutex_lock(&lock);
	n = find_name(symbol, length);
	if (n)
		*out = n->origin;
	pthread_mutex_unlock(&lock);
	return n != NULL;
}

/* ---- buffers ---- */

bool occa_buffer_put(const void *handle, const struct occa_buffer *b)
{
	struct occa_buffer *copy = malloc(sizeof(*copy)), *old;

	if (!copy)
		return false;
	*copy = *b;
	old = take(BUFFER, handle);
	free(old);
	if (put(BUFFER, handle, copy))
		return true;
	free(copy);
	return false;
}

bool occa_buffer_get(const void *handle, struct occa_buffer *out, bool gone)
{
	struct occa_buffer *b;

	pthread_mutex_lock(&lock);
	b = gone ? map_remove_pointer(&objects[BUFFER], (uintptr_t)handle)
		 : map_get_pointer(&objects[BUFFER], (uintptr_t)handle);
	if (b)
		*out = *b;
	pthread_mutex_unlock(&lock);
	if (b && gone)
		free(b);
	return b != NULL;
}

void occa_objects_fork_child(void)
{
	pthread_mutex_init(&lock, NULL); /* whoever held it is not in this process */
	occa_site_fork_child();
}
