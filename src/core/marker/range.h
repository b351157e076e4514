/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges as the files of this room share them: a thread's stack, what a range keeps, and the inline path of an
 * annotation.
 *
 * Invariants. A thread's stack is changed by that thread alone. Another one reads it under core_live->threads when the
 * process ends: of a range below `depth` what cannot move. Scopes are numbered in blocks, so that a new one
 * costs no shared write.
 */
#ifndef CORE_MARKER_RANGE_H
#define CORE_MARKER_RANGE_H

#include <string.h>

#include "base/locks.h"
#include "core/context/context.h"
#include "core/marker/marker.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tally/count.h"

#define MARKER_NAME_CACHE 64u /* names of a thread, by address */
#define SCOPE_BLOCK       65536

/* What few ranges have: kept with its place on the stack, used again by the next one. */
struct range_extra {
	uint16_t text;    /* bytes of the name, which has no number */
	uint16_t payload; /* bytes */
	uint64_t id;      /* for callbacks, as their words */
	uint64_t *words;
	uint32_t word_room;
	char name[KYMO_STRING_MAX];
	uint8_t data[MARKER_PAYLOAD_MAX];
};

/* An open range. One cache line. */
struct range {
	uint64_t start;
	int64_t scope;
	int64_t parent;
	uint32_t name, domain, category, color;
	const struct core_subscribers *callbacks; /* who saw it begin; kept */
	struct range_extra *extra; /* or NULL; valid for this range while `has_extra` */
	uint32_t has_extra;
	uint32_t thread; /* of process ranges: who started it */
};

/* A thread's ranges. Others look at them only when the process ends. */
struct marker_thread {
	struct marker_thread *next, **link; /* of all threads, under `threads` */
	struct cap_thread *owner;
	_Atomic uint32_t depth;
	uint32_t generation; /* of who listened when the ranges were pushed */
	uint32_t deeper;     /* pushed beyond the limit */
	uint32_t inherited;  /* pushed before a fork, or ended by the end of the process */
	int64_t next_scope, scope_limit;
	struct {
		const char *address;
		const struct marker_name *name;
	} cache[MARKER_NAME_CACHE];
	struct range stack[KYMO_RANGE_DEPTH];
};

extern _Thread_local struct marker_thread *marker_current
	__attribute__((tls_model("initial-exec")));
extern _Atomic int64_t marker_next_scope;

/* ---- the thread's state (range.c) ---- */

/* NULL: no memory. */
struct marker_thread *marker_thread_add(struct cap_thread *t);
/* Somebody listens again: what is on the thread's stack is not known to be open. */
void marker_thread_forget(struct cap_thread *t, struct marker_thread *m);

static inline struct cap_thread *marker_thread_any(struct marker_thread **m)
{
	struct cap_thread *t = cap_thread_current;

	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC)) {
		t = cap_thread_attach();
		if (!t)
			return core_lost_without_thread(), NULL;
	}
	*m = marker_current;
	if (cap_unlikely(!*m)) {
		*m = marker_thread_add(t);
		if (!*m)
			return core_lost_without_thread(), NULL;
	}
	if (cap_unlikely((*m)->generation !=
			 atomic_load_explicit(&marker_generation, memory_order_relaxed)))
		marker_thread_forget(t, *m);
	return t;
}

/* State of the thread; NULL inside Kymo or a tool: their annotations are not the program's. A jump may have left them. */
static inline struct cap_thread *marker_thread_get(struct marker_thread **m)
{
	struct cap_thread *t = marker_thread_any(m);

	return t && (cap_likely(!t->guard) || cap_guard_left(t, cap_sp())) ? t : NULL;
}

/* What would be recorded is lost where it is not known in time whether anybody listens. */
static inline bool marker_listening(uint32_t records)
{
	uint32_t state = atomic_load_explicit(&marker_state, memory_order_relaxed);

	return cap_likely(state == MARKER_LISTENING) ||
	       (state == MARKER_UNKNOWN && marker_begin(records));
}

/* Of this thread: ranges that were begun while it was not known who listens, and have not ended. */
extern _Thread_local uint32_t marker_missed __attribute__((tls_model("initial-exec")));

/* What a push returns that nobody took. */
static inline int marker_push_off(void)
{
	marker_missed +=
		atomic_load_explicit(&marker_state, memory_order_relaxed) == MARKER_UNKNOWN;
	return KYMO_MARKER_OFF;
}

static inline int64_t marker_scope_next(struct marker_thread *m)
{
	if (cap_unlikely(m->next_scope == m->scope_limit)) {
		m->next_scope = atomic_fetch_add(&marker_next_scope, SCOPE_BLOCK);
		m->scope_limit = m->next_scope + SCOPE_BLOCK;
	}
	return m->next_scope++;
}

/* ---- texts (extra.c) ---- */

/* Of the range, empty if it had none. NULL: no memory. */
struct range_extra *marker_extra(struct range *r);
void marker_extra_free(struct range_extra *x);
/* A text that got no number. */
void marker_keep_text(struct range *r, const char *text);
/* The rest of a marker given in full. False: not one of this version or later. */
bool marker_set(struct marker_thread *m, struct range *r, const kymo_marker_t *k);

static inline unsigned cache_slot(const char *address)
{
	return (unsigned)(((uintptr_t)address * 0x9e3779b97f4a7c15ull) >> 58) % MARKER_NAME_CACHE;
}

/* Texts at one address mostly stay the same, but need not. */
static inline const struct marker_name *name_of(struct marker_thread *m, const char *text)
{
	unsigned i = cache_slot(text);
	const struct marker_name *x;

	if (cap_likely(m->cache[i].address == text && strcmp(m->cache[i].name->text, text) == 0))
		return m->cache[i].name;
	x = marker_name(text);
	if (x) { /* in this order: a handler's mark may come between */
		m->cache[i].name = x;
		atomic_signal_fence(memory_order_seq_cst);
		m->cache[i].address = text;
	}
	return x;
}

static inline void marker_set_name(struct marker_thread *m, struct range *r, const char *text)
{
	const struct marker_name *x;

	r->name = 0;
	if (cap_unlikely(!text)) {
		marker_fault(FAULT_NULL);
		return;
	}
	x = name_of(m, text);
	if (cap_likely(x != NULL))
		r->name = x->id;
	else
		marker_keep_text(r, text);
}

/* ---- callbacks (extra.c) ---- */

/* `phase` CAP_ENTER gives the range an id. */
void callbacks_call(struct range *r, struct cap_op *op, enum cap_phase phase);
void callbacks_end(struct range *r, struct cap_op *op);
/* Tools that want scopes whatever annotation interface they come from. */
void marker_write_scope(const struct range *r, uint64_t end);

static inline uint64_t take_id(struct cap_thread *t)
{
	if (cap_unlikely(t->next_id >= t->id_limit))
		cap_ids_refill(t);
	return cap_take_id(t);
}

/* By which callbacks were told of it; 0: none was, so that it gets one with its record. */
static inline uint64_t marker_told_id(const struct range *r)
{
	return cap_unlikely(r->callbacks && r->has_extra) ? r->extra->id : 0;
}

static inline void callbacks_begin(struct cap_thread *t, struct range *r, struct cap_op *op)
{
	r->callbacks = NULL;
	if (cap_likely(!atomic_load_explicit(&op->callbacks, memory_order_relaxed)))
		return;
	cap_read_lock(t);
	r->callbacks = atomic_load_explicit(&op->callbacks, memory_order_acquire);
	if (r->callbacks)
		core_subscribers_hold(r->callbacks);
	cap_read_unlock(t);
	if (!r->callbacks)
		return;
	callbacks_call(r, op, CAP_ENTER);
}

/* ---- records ---- */

/*
 * `scope`: that of the record itself; `id`: 0 is a new one. As cap_activity_begin(), but all in one
 * piece: most of what an annotation costs is this.
 */
static inline __attribute__((always_inline)) bool
marker_record_begin(struct cap_thread *t, struct cap_frame *f, struct wire_enc *e,
		    struct cap_op *op, uint64_t id, uint64_t start, uint64_t end, int64_t scope,
		    unsigned fields)
{
	uint64_t buffers = atomic_load_explicit(&op->buffers, memory_order_relaxed);
	struct wire_ring *ring;
	struct wire_event v;

	if (cap_unlikely(!buffers))
		return false;
	cap_read_lock(t);
	buffers = atomic_load_explicit(&op->buffers, memory_order_acquire);
	atomic_store_explicit(&f->buffers, buffers, memory_order_relaxed);
	if (cap_likely(buffers && !(buffers & (buffers - 1))))
		ring = cap_ring(t, buffers);
	else
		ring = buffers ? core_ring_many(t, f, false) : NULL;
	if (cap_unlikely(!ring)) {
		cap_read_unlock(t);
		return false;
	}
	memset(&v, 0, sizeof(v));
	f->plan = cap_plan_of(f);
	f->id = v.id = cap_unlikely(id != 0) ? id : take_id(t);
	f->start = v.start = start;
	f->end = v.end = end;
	f->scope = v.scope = scope;
	v.external = atomic_load_explicit(&t->external[ring - t->rings], memory_order_relaxed);
	v.op = op->wire;
	atomic_store_explicit(&f->op, op, memory_order_relaxed);
	atomic_store_explicit(&f->callbacks, NULL, memory_order_relaxed);
	f->submission = NULL;
	f->owns_submission = true; /* external ids are the thread's own */
	f->parent = 0;
	f->status = 0;
	f->has_status = false;
	f->site = f->stack = 0;
	cap_note_early(ring, op, start);
	wire_begin(e, ring, &v, fields);
	return true;
}

static inline __attribute__((always_inline)) void
marker_record_commit(struct cap_thread *t, struct cap_frame *f, struct wire_enc *e)
{
	cap_activity_put(f, e);
	cap_read_unlock(t);
}

static inline __attribute__((always_inline)) void
marker_put_fields(struct wire_enc *e, const struct range *r, enum marker_how how)
{
	const struct range_extra *x = r->extra;

	wire_unsigned(e, MARKER_SCOPE, (uint64_t)r->scope);
	wire_unsigned(e, MARKER_NAME, r->name);
	if (cap_unlikely(r->has_extra && x->text))
		wire_array(e, MARKER_TEXT, x->name, x->text, 1, KYMO_STRING_MAX);
	wire_unsigned(e, MARKER_DOMAIN, r->domain);
	wire_unsigned(e, MARKER_CATEGORY, r->category);
	wire_unsigned(e, MARKER_COLOR, r->color);
	if (cap_unlikely(r->has_extra && x->payload))
		wire_array(e, MARKER_PAYLOAD, x->data, x->payload, 1, MARKER_PAYLOAD_MAX);
	wire_unsigned(e, MARKER_HOW, how);
}

/*
 * The record of a marker that has nothing but a name and a domain, and that one buffer wants: that is nearly all of them, so it is
 * written without a look at anything else. False: it is not such a one, or there is no room.
 */
static inline __attribute__((always_inline)) bool
marker_write_plain(struct cap_thread *t, const struct cap_op *op, const struct range *r,
		   uint64_t end, enum marker_how how)
{
	uint32_t plan = atomic_load_explicit(&op->plan, memory_order_relaxed);
	unsigned buffer = plan & CAP_PLAN_BUFFER;
	struct wire_ring *ring = &t->rings[buffer];
	struct wire_event v = {
		.op = op->wire,
		.start = r->start,
		.end = end,
		.scope = r->parent,
		.external = atomic_load_explicit(&t->external[buffer], memory_order_relaxed)};
	struct wire_enc e;

	if (cap_unlikely((plan & (CAP_PLAN_STRAIGHT | CAP_PLAN_TALLY)) != CAP_PLAN_STRAIGHT ||
			 (r->category | r->color | r->has_extra) || r->callbacks))
		return false;
	kymo_assert(op->in_place);
	cap_read_lock(t);
	if (cap_unlikely(atomic_load_explicit(&op->plan, memory_order_acquire) != plan ||
			 !cap_room(ring))) {
		cap_read_unlock(t);
		return false;
	}
	v.id = take_id(t);
	wire_chunk_early(ring->chunk, r->start);
	wire_begin(&e, ring, &v, MARKER_FIELDS);
	wire_unsigned(&e, MARKER_SCOPE, (uint64_t)r->scope);
	wire_unsigned(&e, MARKER_NAME, r->name);
	if (r->domain)
		wire_unsigned(&e, MARKER_DOMAIN, r->domain);
	if (how)
		wire_unsigned(&e, MARKER_HOW, how);
	cap_commit_straight(t, &e);
	cap_read_unlock(t);
	return true;
}

/*
 * Where markers are counted, and that is all that is to be done about this one, its record is not
 * even written. False: it is not so, and nothing was done.
 */
static inline bool marker_count(struct cap_thread *t, const struct cap_op *op,
				const struct range *r, uint64_t end, enum marker_how how)
{
	return cap_unlikely(atomic_load_explicit(&cap_counted, memory_order_relaxed) != 0) &&
	       how == MARKER_ENDED &&
	       cap_count_range(t, op, end - r->start, (uint64_t)r->scope, (uint64_t)r->parent,
			       r->name | (uint64_t)r->domain << 32, r->category);
}
_Static_assert(WIRE_KEY_MARKER_NAME == 0 && WIRE_KEY_MARKER_DOMAIN == 1 &&
		       WIRE_KEY_MARKER_CATEGORY == 2,
	       "two keys a word");

/* ---- process ranges (process_range.c) ---- */

/* A range that somebody left open, by the thread `t`. */
void process_range_write(struct cap_thread *t, const struct range *r, uint64_t end,
			 enum marker_how how);
/* Takes out those that are open, at most `room`; returns how many. */
uint32_t process_ranges_take(struct range *out, uint32_t room);
void process_ranges_fork_child(void);

#endif
