/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling tools what there is: programs, kernels, streams, threads, runtimes. Backends only define
 * them; from the definitions come the activities here, also for contexts that start late.
 */
#include "core/activity/activity.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "base/vec.h"
#include "core/context/context.h"
#include "core/define/define.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/activity/submission.h"

/* ---- one definition as an activity ---- */

static void text(struct wire_enc *e, unsigned field, const struct wire_def *d, unsigned i)
{
	size_t length;
	const char *s = wire_def_text(d, i, &length);

	wire_array(e, field, s, length, 1, 512);
}

static void pointer(struct wire_enc *e, unsigned field, const struct wire_def *d, unsigned i)
{
	wire_pointer(e, field, (const void *)(uintptr_t)wire_def_get(d, i));
}

static void put_program(struct wire_enc *e, const struct wire_def *d, bool replayed)
{
	wire_unsigned(e, LOAD_PROGRAM, wire_def_get(d, DEF_PROGRAM_ID));
	text(e, LOAD_DOMAIN, d, DEF_PROGRAM_DOMAIN);
	text(e, LOAD_KIND, d, DEF_PROGRAM_KIND);
	wire_unsigned(e, LOAD_CONTEXT, wire_def_get(d, DEF_PROGRAM_CONTEXT));
	pointer(e, LOAD_HANDLE, d, DEF_PROGRAM_HANDLE);
	wire_unsigned(e, LOAD_REPLAYED, replayed);
}

static void put_kernel(struct wire_enc *e, const struct wire_def *d, bool replayed)
{
	wire_unsigned(e, SYMBOL_KERNEL, wire_def_get(d, DEF_KERNEL_ID));
	text(e, SYMBOL_DOMAIN, d, DEF_KERNEL_DOMAIN);
	text(e, SYMBOL_NAME, d, DEF_KERNEL_NAME);
	wire_unsigned(e, SYMBOL_PROGRAM, wire_def_get(d, DEF_KERNEL_PROGRAM));
	pointer(e, SYMBOL_HANDLE, d, DEF_KERNEL_HANDLE);
	wire_unsigned(e, SYMBOL_REPLAYED, replayed);
}

static void put_queue(struct wire_enc *e, const struct wire_def *d, bool replayed)
{
	wire_unsigned(e, STREAM_QUEUE, wire_def_get(d, DEF_QUEUE_ID));
	text(e, STREAM_DOMAIN, d, DEF_QUEUE_DOMAIN);
	wire_unsigned(e, STREAM_AGENT, wire_def_get(d, DEF_QUEUE_AGENT));
	wire_unsigned(e, STREAM_CONTEXT, wire_def_get(d, DEF_QUEUE_CONTEXT));
	pointer(e, STREAM_HANDLE, d, DEF_QUEUE_HANDLE);
	wire_unsigned(e, STREAM_REPLAYED, replayed);
}

static void put_thread(struct wire_enc *e, const struct wire_def *d, bool replayed)
{
	wire_unsigned(e, THREAD_INDEX, wire_def_get(d, DEF_THREAD_INDEX));
	wire_unsigned(e, THREAD_TID, wire_def_get(d, DEF_THREAD_TID));
	text(e, THREAD_NAME, d, DEF_THREAD_NAME);
	wire_unsigned(e, THREAD_REPLAYED, replayed);
}

static void put_runtime(struct wire_enc *e, const struct wire_def *d, bool replayed)
{
	text(e, RUNTIME_DOMAIN, d, DEF_DOMAIN_NAME);
	wire_unsigned(e, RUNTIME_VERSION, wire_def_get(d, DEF_DOMAIN_VERSION));
	wire_unsigned(e, RUNTIME_OPS, wire_def_get(d, DEF_DOMAIN_OPS));
	wire_unsigned(e, RUNTIME_REPLAYED, replayed);
}

/* What a kind of definition begins and ends. */
static const struct object {
	uint16_t kind;
	uint8_t fields;
	void (*put)(struct wire_enc *e, const struct wire_def *d, bool replayed);
	struct cap_op *begin, *end;
} objects[] = {
	{DEF_PROGRAM, LOAD_FIELDS, put_program, &core_code_object_ops[CODE_OBJECT_OP_LOAD],
	 &core_code_object_ops[CODE_OBJECT_OP_UNLOAD]},
	{DEF_KERNEL, SYMBOL_FIELDS, put_kernel, &core_symbol_ops[SYMBOL_OP_LOAD],
	 &core_symbol_ops[SYMBOL_OP_UNLOAD]},
	{DEF_QUEUE, STREAM_FIELDS, put_queue, &core_stream_ops[STREAM_OP_CREATE],
	 &core_stream_ops[STREAM_OP_DESTROY]},
	{DEF_THREAD, THREAD_FIELDS, put_thread, &core_thread_ops[THREAD_OP_START],
	 &core_thread_ops[THREAD_OP_END]},
	{DEF_DOMAIN, RUNTIME_FIELDS, put_runtime, &core_runtime_ops[0], NULL},
};
#define OBJECTS (sizeof(objects) / sizeof(objects[0]))

static const struct object *object_of(uint16_t kind)
{
	for (size_t i = 0; i < OBJECTS; i++)
		if (objects[i].kind == kind)
			return &objects[i];
	return NULL;
}

static void tell(const struct object *o, struct cap_op *op, const struct wire_def *d,
		 const struct cap_submission *submission)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!op || !cap_activity_begin(&f, &e, op, submission, now, now, o->fields))
		return;
	o->put(&e, d, submission != NULL);
	cap_activity_commit(&f, &e);
}

void core_objects_defined(const struct wire_def *d)
{
	const struct object *o = object_of(d->kind);
	struct cap_thread *t = cap_thread_current;

	/* Threads and runtimes are told of where it is known that they are new. */
	if (o && d->kind != DEF_THREAD && d->kind != DEF_DOMAIN && t)
		tell(o, o->begin, d, NULL);
}

/* Domains of activities alone (markers, counters, messages) are no runtimes. */
static bool is_runtime(const kymo_domain_desc_t *desc)
{
	for (uint32_t i = 0; i < desc->op_count; i++)
		if (!(desc->ops[i].flags & KYMO_OP_ACTIVITY))
			return true;
	return false;
}

/* By index of the domain: told when it came, so that it is replayed to those that come later. */
static _Atomic bool runtime_told[CORE_DOMAINS];

void core_objects_runtime(const struct cap_domain *domain)
{
	const kymo_domain_desc_t *desc = domain->desc;
	struct wire_def d;

	if (!is_runtime(desc))
		return;
	atomic_store(&runtime_told[domain->id - 1], true);
	if (!cap_wants(CAP_ACTIVITY_OBJECTS))
		return;
	wire_def_init(&d, DEF_DOMAIN);
	wire_def_u64(&d, 0);
	wire_def_string(&d, desc->name);
	wire_def_string(&d, desc->title);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, desc->op_count);
	wire_def_u64(&d, desc->version);
	tell(object_of(DEF_DOMAIN), &core_runtime_ops[0], &d, NULL);
}

/* ---- what is there no more ---- */

/* Bits by id, for each kind; under `define`. */
static struct ended {
	uint64_t *bits;
	size_t words;
} ended[DEF_COUNT] GUARDED_BY(core_live->define);

static bool has_ended(uint16_t kind, uint64_t id) REQUIRES(core_live->define)
{
	kymo_assert_held(&core_live->define);
	return id / 64 < ended[kind].words && ended[kind].bits[id / 64] >> id % 64 & 1;
}

static void note_end(uint16_t kind, uint64_t id) REQUIRES(core_live->define)
{
	struct ended *e = &ended[kind];

	kymo_assert_held(&core_live->define);
	if (vec_reserve_zero(&e->bits, &e->words, id / 64, 1))
		e->bits[id / 64] |= 1ull << id % 64;
}

void core_objects_thread(const struct wire_def *d, bool start)
{
	const struct object *o = object_of(DEF_THREAD);
	uint64_t before;

	if (!start) {
		core_definitions_hold(&before);
		note_end(DEF_THREAD, wire_def_get(d, DEF_THREAD_INDEX));
		core_definitions_let_go(&before);
	}
	if (cap_wants(CAP_ACTIVITY_OBJECTS))
		tell(o, start ? o->begin : o->end, d, NULL);
}

void cap_define_end(enum wire_def_kind kind, uint64_t id)
{
	const struct object *o = object_of(kind);
	int saved = errno;
	uint8_t *copy = NULL;
	uint64_t before;
	struct wire_def d;

	if (!o || !core_usable())
		return;
	core_definitions_hold(&before);
	note_end(kind, id);
	/* Looking for it takes time that grows with what was defined. */
	if (o->end && (atomic_load(&o->end->callbacks) || atomic_load(&o->end->buffers)))
		copy = core_definition_find(kind, id, &d);
	core_definitions_let_go(&before);
	if (copy)
		tell(o, o->end, &d, NULL);
	free(copy);
	errno = saved;
}

/* ---- replay ---- */

struct late {
	struct core_context *context;
	uint32_t generation;
	const struct core_subscribers *subscribers[OBJECTS]; /* kept */
	uint64_t buffers[OBJECTS];
	struct late *next;
};

/* Its services will be told of the op, even if they cannot now. */
static bool selects(const struct core_context *c, const struct cap_op *op)
{
	bool yes = false;

	for (uint32_t i = 0; i < c->service_count && !yes; i++)
		yes = c->services[i].kind & (SERVICE_CALLBACK | SERVICE_BUFFER) &&
		      core_service_selects(&c->services[i], op->wire);
	return yes;
}

bool core_objects_selected(const struct core_context *c)
{
	for (size_t i = 0; i < OBJECTS; i++)
		if (selects(c, objects[i].begin))
			return true;
	return false;
}

static bool waits(const struct core_context *c)
{
	for (uint32_t i = 0; i < c->service_count; i++)
		if (c->services[i].waits)
			return true;
	return false;
}

struct search {
	const struct core_context *only;
	struct late *list;
};

/* What a started context wants and has not been told; under `configure`. */
static void find_late(struct core_context *c, void *data) REQUIRES(core_live->configure)
{
	struct search *s = data;
	struct late *l;
	bool any = false;

	kymo_assert_held(&core_live->configure);
	if (!c->active || (s->only ? c != s->only : waits(c)))
		return;
	l = calloc(1, sizeof(*l));
	for (size_t i = 0; l && i < OBJECTS; i++) {
		if (c->told >> i & 1)
			continue;
		l->subscribers[i] = core_subscribers_of(c, objects[i].begin, &l->buffers[i]);
		if (!l->subscribers[i] && !l->buffers[i]) {
			/* Its buffer is not made before there is a runtime: only threads are there. */
			if (objects[i].kind != DEF_THREAD && selects(c, objects[i].begin))
				c->told |= 1u << i;
			continue;
		}
		c->told |= 1u << i;
		any = true;
		if (l->subscribers[i])
			core_subscribers_hold(l->subscribers[i]);
	}
	if (!any) {
		free(l);
		return;
	}
	l->next = s->list;
	s->list = l;
}

/* Under `define`. */
static bool to_be_told(const struct wire_def *d) REQUIRES(core_live->define)
{
	uint64_t id = wire_def_get(d, 0);

	if (!object_of(d->kind))
		return false;
	if (d->kind == DEF_DOMAIN)
		return atomic_load(&runtime_told[id - 1]);
	return !has_ended(d->kind, id);
}

static void replay_to(struct late *l, const uint8_t *p, const uint8_t *end)
{
	struct wire_def d;

	while (wire_def_read(&p, end, &d) == 1) {
		const struct object *o = object_of(d.kind);
		size_t i = o ? (size_t)(o - objects) : 0;
		struct cap_submission submission = {.buffers = o ? l->buffers[i] : 0,
						    .epoch = atomic_load(&core_epoch)};

		if (!o || (!l->subscribers[i] && !l->buffers[i]))
			continue;
		submission.more = core_submission_of(l->subscribers[i]);
		tell(o, o->begin, &d, &submission);
		cap_submission_end(&submission);
	}
}

void core_objects_replay(const struct core_context *only)
{
	struct search s = {.only = only};
	struct late *list, *next;
	uint8_t *copy = NULL;
	size_t bytes = 0;

	if (!cap_wants(CAP_ACTIVITY_OBJECTS | CAP_ACTIVITY_CODE_OBJECT))
		return;
	pthread_mutex_lock(&core_live->configure);
	core_contexts_each(find_late, &s);
	pthread_mutex_unlock(&core_live->configure);
	list = s.list;
	if (list) { /* a copy, so that no lock is held while tools are told */
		pthread_mutex_lock(&core_live->define);
		copy = core_definitions_copy(to_be_told, &bytes);
		pthread_mutex_unlock(&core_live->define);
	}
	for (; list; list = next) {
		next = list->next;
		if (copy)
			replay_to(list, copy, copy + bytes);
		for (size_t i = 0; i < OBJECTS; i++)
			if (list->subscribers[i])
				core_subscribers_release(list->subscribers[i]);
		free(list);
	}
	free(copy);
}

void core_objects_fork_child(void) UNCHECKED_LOCKS
{
	free(ended[DEF_THREAD].bits); /* the child counts its threads anew */
	ended[DEF_THREAD] = (struct ended){NULL, 0};
}
