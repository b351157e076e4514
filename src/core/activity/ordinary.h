/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions and records of activities once more, inlined and for the ordinary case alone: for work
 * of which there is as much as there are calls. All that is out of the ordinary (several buffers,
 * callbacks, filters, external ids, counting, full chunks) goes the way of core/capture.h.
 */
#ifndef CORE_ACTIVITY_ORDINARY_H
#define CORE_ACTIVITY_ORDINARY_H

#include "core/capture.h"

/* Bit n: buffer n takes records. Rises and falls with buffers, not with contexts. */
extern _Atomic uint64_t core_buffers_open;
/* Counts buffers made; a buffer's own count is `born`. */
extern _Atomic uint32_t core_epoch;

/*
 * As cap_submission_take() where that has nothing to ask and nothing to keep; it follows no pointer
 * of a context, so nothing has to be held. False: nothing was done.
 */
static inline __attribute__((always_inline)) bool cap_submission_ordinary(struct cap_submission *o,
									  const struct cap_frame *f,
									  const struct cap_op *op)
{
	struct cap_thread *t = cap_thread_current;
	uint32_t epoch = atomic_load_explicit(&core_epoch, memory_order_acquire);
	uint64_t buffers = atomic_load_explicit(&op->buffers, memory_order_acquire);

	/* The call began with those who record now, and with nobody else. */
	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC || !buffers ||
			 atomic_load_explicit(&f->buffers, memory_order_relaxed) != buffers ||
			 atomic_load_explicit(&op->resting, memory_order_relaxed) || f->retire ||
			 atomic_load_explicit(&f->callbacks, memory_order_relaxed) ||
			 atomic_load_explicit(&op->callbacks, memory_order_relaxed) ||
			 atomic_load_explicit(&t->externals, memory_order_relaxed) ||
			 atomic_load_explicit(&t->paused, memory_order_relaxed)))
		return false;
	o->call = f->id;
	o->scope = f->scope;
	o->buffers = buffers;
	o->epoch = epoch;
	o->more = NULL;
	return true;
}

/* All buffers that were to have the work's record are gone: recordings that are over. */
static inline bool cap_submission_over(const struct cap_submission *o)
{
	if (cap_likely(
		    (o->buffers & atomic_load_explicit(&core_buffers_open, memory_order_acquire)) &&
		    o->epoch == atomic_load_explicit(&core_epoch, memory_order_acquire)))
		return false;
	return o->buffers && cap_submission_over_slow(o);
}

/*
 * Where the ordinary record of op goes, begun at tick `start`: its submission has nothing but a
 * buffer, which is there as it was then, counts nothing, and has room. The thread reads then (see
 * cap_read_lock()), and may take an id. NULL: nothing was done.
 */
static inline __attribute__((always_inline)) struct wire_ring *
cap_activity_ring(struct cap_thread *t, const struct cap_op *op,
		  const struct cap_submission *submission, uint64_t start)
{
	uint64_t bit = submission->buffers, open;
	struct wire_ring *r;

	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC || submission->more || !bit ||
			 (bit & (bit - 1)) || t->next_id >= t->id_limit))
		return NULL;
	cap_read_lock(t);
	r = &t->rings[__builtin_ctzll(bit)];
	open = atomic_load_explicit(&core_buffers_open, memory_order_acquire) &
	       ~atomic_load_explicit(&cap_counted, memory_order_relaxed);
	if (cap_unlikely(!(open & bit) || !cap_room(r) ||
			 submission->epoch !=
				 atomic_load_explicit(&core_epoch, memory_order_acquire))) {
		cap_read_unlock(t);
		return NULL;
	}
	cap_note_early(r, op, start);
	return r;
}

/* Begins it. False: nothing was done, cap_activity_begin() has to see to it. */
static inline __attribute__((always_inline)) bool
cap_activity_ordinary(struct wire_enc *e, const struct cap_op *op,
		      const struct cap_submission *submission, uint64_t start, uint64_t end,
		      unsigned fields)
{
	struct cap_thread *t = cap_thread_current;
	struct wire_ring *r = cap_activity_ring(t, op, submission, start);
	struct wire_event v = {0};

	if (cap_unlikely(!r))
		return false;
	v.id = cap_take_id(t);
	v.start = start;
	v.end = end;
	v.scope = submission->scope;
	v.op = op->wire;
	wire_begin(e, r, &v, fields);
	return true;
}

/* Completes it. */
static inline __attribute__((always_inline)) void cap_activity_end(struct wire_enc *e)
{
	struct cap_thread *t = cap_thread_current;

	wire_end(e, e->ring);
	cap_count_record(t);
	cap_read_unlock(t);
}

#endif
