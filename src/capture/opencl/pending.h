/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting work into a queue's list, inlined: for kernels, of which there may be as many as calls.
 * submit.c has the same for everything.
 */
#ifndef CAPTURE_OPENCL_PENDING_H
#define CAPTURE_OPENCL_PENDING_H

#include "capture/opencl/queue.h"
#include "core/activity/ordinary.h"

/* More nodes for `q`, which the caller has locked, and has locked again when this returns. */
void ocl_work_more(struct ocl_queue *q);

/* Caller holds the queue's lock, which may be let go for a moment. NULL: no memory. */
static inline struct ocl_work *ocl_work_new(struct ocl_queue *q)
{
	struct ocl_work *w;

	if (cap_unlikely(!q->free))
		ocl_work_more(q);
	w = q->free;
	if (cap_likely(w != NULL))
		q->free = w->next;
	return w;
}

/* Returns whether it is time to look at the list. Caller holds the queue's lock. */
static inline bool ocl_pending_add(struct ocl_queue *q, struct ocl_work *w)
{
	w->next = NULL;
	if (q->tail)
		q->tail->next = w;
	else
		q->head = w;
	q->tail = w;
	if (q->pending++ == 0) {
		q->look_count = OCL_COLLECT_FEW;
		q->look_tick = w->end + 5 * ocl_ticks_10ms;
	}
	return q->pending >= q->look_count || w->end >= q->look_tick;
}

/*
 * A node for the work of the call just made by `f`, of kind `op`, where it has an event and nobody
 * is to be asked about it; its queue is locked then. NULL: ocl_submit_take() and what follows it.
 */
static inline __attribute__((always_inline)) struct ocl_work *
ocl_submit_ordinary(const struct cap_frame *f, const struct cap_op *op)
{
	struct ocl_queue *q = ocl_submission.queue;
	struct cap_submission o;
	struct ocl_work *w;

	if (cap_unlikely(!ocl_submission.event || !cap_submission_ordinary(&o, f, op)))
		return NULL;
	ocl_lock(&q->lock);
	w = ocl_work_new(q);
	if (cap_unlikely(!w)) {
		ocl_unlock(&q->lock);
		return NULL;
	}
	w->event = ocl_submission.event;
	w->submission = o;
	w->submit = f->start;
	w->end = f->end;
	w->clock = q->clock;
	w->queue = q->object.id;
	w->agent = q->agent;
	w->blocking = false;
	return w;
}

/* It says all there is to say: it belongs to the queue, which is unlocked. */
static inline __attribute__((always_inline)) void
ocl_submit_end(struct ocl_work *w, const struct cap_op *op, const struct cap_subject *subject)
{
	struct ocl_queue *q = ocl_submission.queue;
	bool look;

	cap_flight_begin(&w->place, op, &w->submission, w->submit, subject);
	look = ocl_pending_add(q, w);
	ocl_unlock(&q->lock);
	if (cap_unlikely(look))
		ocl_collect(q, OCL_LOOK, OCL_COLLECT_FEW);
}

#endif
