/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collecting: looking at the events of pending work and writing the records of what is complete.
 * It runs on the program's threads where the program waits, polls, flushes or releases, and now and
 * then where it enqueues. It never waits for the device. A thread takes a queue's whole list, works
 * through it without a lock, and puts back what is still running.
 */
#include "capture/opencl/queue.h"
#include "core/activity/ordinary.h"
#include "core/tally/count.h"
#include "wire/fixed.h"

#include <stdlib.h>
#include <time.h>

#include "base/vec.h"

_Atomic bool ocl_ended;

static _Atomic uint64_t sweep_tick; /* when unattended queues are looked at next */

/* Work of queues that are gone; event callbacks say when to look. */
static struct ocl_queue orphans = {.lock = OCL_LOCK};

enum state { RUNNING, COMPLETE, FAILED, REFUSED };

struct times {
	cl_ulong queued, submitted, started, ended;
	cl_int status;
};

/* ---- records: a field that is left out is 0, and costs nothing ---- */

/* Of a kernel that is complete, with times and sizes as most have them. */
struct fit {
	uint64_t duration, queued_before, submitted_before;
	uint64_t wide; /* what is stored in four bytes */
};

static inline struct fit fit_of(const struct ocl_work *w, const struct times *t)
{
	struct fit f = {t->ended - t->started, t->started - t->queued, t->started - t->submitted,
			w->submission.call};

	f.wide |= f.duration | f.queued_before | f.submitted_before;
	for (unsigned i = 0; i < w->dims; i++)
		f.wide |= w->size[i].global | w->size[i].local;
	return f;
}

/* Ids of one byte, numbers of four, no offset. */
static inline bool fits(const struct ocl_work *w, const struct fit *f)
{
	size_t offset = 0;

	for (unsigned i = 0; i < w->dims; i++)
		offset |= w->size[i].offset;
	return ((f->wide >> 32) | offset | ((w->agent | w->queue | w->kernel) >> 8)) == 0;
}

/* As dispatch_fields(), which can write all, with no more than a store for each field. */
static inline __attribute__((always_inline)) void
dispatch_fields_fit(struct wire_enc *e, const struct ocl_work *w, const struct times *t,
		    const struct fit *f, unsigned dims)
{
	wire_unsigned_as(e, DISPATCH_CORRELATION, w->submission.call, WIRE_CLASS_U32);
	wire_unsigned_as(e, DISPATCH_AGENT, w->agent, WIRE_CLASS_U8);
	wire_unsigned_as(e, DISPATCH_QUEUE, w->queue, WIRE_CLASS_U8);
	wire_unsigned_as(e, DISPATCH_KERNEL, w->kernel, WIRE_CLASS_U8);
	wire_unsigned_as(e, DISPATCH_START, t->started, WIRE_CLASS_U64);
	wire_unsigned_as(e, DISPATCH_DURATION, f->duration, WIRE_CLASS_U32);
	wire_unsigned_as(e, DISPATCH_QUEUED_BEFORE, f->queued_before, WIRE_CLASS_U32);
	wire_unsigned_as(e, DISPATCH_SUBMITTED_BEFORE, f->submitted_before, WIRE_CLASS_U32);
	wire_unsigned_as(e, DISPATCH_DIMS, dims, WIRE_CLASS_U8);
	for (unsigned i = 0; i < dims; i++)
		wire_unsigned_as(e, DISPATCH_GLOBAL_X + i, w->size[i].global, WIRE_CLASS_U32);
	for (unsigned i = 0; i < dims; i++)
		wire_unsigned_as(e, DISPATCH_LOCAL_X + i, w->size[i].local, WIRE_CLASS_U32);
	wire_unsigned_as(e, DISPATCH_SUBMIT_TICK, w->submit, WIRE_CLASS_U64);
}

/* As many of the fields from `first` on as there are dimensions; the others are 0. */
static inline void sizes_write(struct wire_enc *e, unsigned first, unsigned dims, size_t x,
			       size_t y, size_t z)
{
	wire_unsigned(e, first, x);
	if (dims > 1) {
		wire_unsigned(e, first + 1, y);
		wire_unsigned(e, first + 2, dims > 2 ? z : 0);
	}
}

static void dispatch_fields(struct wire_enc *e, const struct ocl_work *w, const struct times *t,
			    enum untimed_reason why)
{
	const struct ocl_size *s = w->size;

	wire_unsigned(e, DISPATCH_CORRELATION, w->submission.call);
	wire_unsigned(e, DISPATCH_AGENT, w->agent);
	wire_unsigned(e, DISPATCH_QUEUE, w->queue);
	wire_unsigned(e, DISPATCH_KERNEL, w->kernel);
	wire_unsigned(e, DISPATCH_START, t->started);
	wire_unsigned(e, DISPATCH_DURATION, t->ended - t->started);
	wire_unsigned(e, DISPATCH_QUEUED_BEFORE, t->started - t->queued);
	wire_unsigned(e, DISPATCH_SUBMITTED_BEFORE, t->started - t->submitted);
	wire_unsigned(e, DISPATCH_DIMS, w->dims);
	sizes_write(e, DISPATCH_GLOBAL_X, w->dims, s[0].global, s[1].global, s[2].global);
	sizes_write(e, DISPATCH_LOCAL_X, w->dims, s[0].local, s[1].local, s[2].local);
	sizes_write(e, DISPATCH_OFFSET_X, w->dims, s[0].offset, s[1].offset, s[2].offset);
	if (cap_unlikely(t->status))
		wire_signed(e, DISPATCH_STATUS, t->status, 4);
	if (cap_unlikely(why != UNTIMED_NO))
		wire_unsigned(e, DISPATCH_UNTIMED, why);
	wire_unsigned(e, DISPATCH_SUBMIT_TICK, w->submit);
}

static void dispatch_write(const struct ocl_work *w, const struct times *t, enum untimed_reason why,
			   uint64_t now)
{
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_dispatch_ops[0], &w->submission, now, now,
				DISPATCH_FIELDS))
		return;
	dispatch_fields(&e, w, t, why);
	cap_activity_commit(&f, &e);
}

/* Where kernels are counted. */
static bool count_complete(const struct ocl_work *w, const struct times *t, const struct fit *f)
{
	const struct cap_counted k = cap_counted_kernel(w->agent, w->queue, w->kernel, f->duration,
							f->queued_before, !t->started);

	return cap_count(&w->submission, &core_dispatch_ops[DISPATCH_OP_KERNEL], &k);
}

/* The same of a kernel that is complete. */
OCL_HOT static inline void dispatch_write_complete(const struct ocl_work *w, const struct times *t,
						   uint64_t now)
{
	const struct fit fit = fit_of(w, t);
	struct wire_enc e;

	if (cap_unlikely(!fits(w, &fit) ||
			 !cap_activity_ordinary(&e, &core_dispatch_ops[0], &w->submission, now, now,
						DISPATCH_FIELDS))) {
		if (!cap_counts(&w->submission) || !count_complete(w, t, &fit))
			dispatch_write(w, t, UNTIMED_NO, now);
		return;
	}
	if (cap_likely(w->dims == 1))
		dispatch_fields_fit(&e, w, t, &fit, 1);
	else
		dispatch_fields_fit(&e, w, t, &fit, w->dims);
	cap_activity_end(&e);
}

static bool count_copy(const struct ocl_work *w, const struct times *t, enum untimed_reason why)
{
	const struct cap_counted c = {.kind = WIRE_TALLY_COPY,
				      .error = t->status != 0,
				      .untimed = why != UNTIMED_NO || !t->started,
				      .key = {[WIRE_KEY_COPY_QUEUE] = w->queue,
					      [WIRE_KEY_COPY_SOURCE_AGENT] = w->source,
					      [WIRE_KEY_COPY_DESTINATION_AGENT] = w->destination,
					      [WIRE_KEY_COPY_KINDS] = cap_counted_kinds(
						      w->source_kind, w->destination_kind)},
				      .bytes = w->bytes,
				      .duration = t->ended - t->started,
				      .wait = t->started - t->queued};

	return cap_count(&w->submission, &core_copy_ops[w->op], &c);
}

OCL_HOT static void copy_write(const struct ocl_work *w, const struct times *t,
			       enum untimed_reason why, uint64_t now)
{
	struct cap_frame f;
	struct wire_enc e;

	if (cap_counts(&w->submission) && count_copy(w, t, why))
		return;
	if (!cap_activity_begin(&f, &e, &core_copy_ops[w->op], &w->submission, now, now,
				COPY_FIELDS))
		return;
	wire_unsigned(&e, COPY_CORRELATION, w->submission.call);
	wire_unsigned(&e, COPY_QUEUE, w->queue);
	wire_unsigned(&e, COPY_SOURCE_AGENT, w->source);
	wire_unsigned(&e, COPY_DESTINATION_AGENT, w->destination);
	wire_unsigned(&e, COPY_BYTES, w->bytes);
	wire_unsigned(&e, COPY_SOURCE_KIND, w->source_kind);
	wire_unsigned(&e, COPY_DESTINATION_KIND, w->destination_kind);
	wire_unsigned(&e, COPY_START, t->started);
	wire_unsigned(&e, COPY_DURATION, t->ended - t->started);
	wire_unsigned(&e, COPY_QUEUED_BEFORE, t->started - t->queued);
	wire_unsigned(&e, COPY_SUBMITTED_BEFORE, t->started - t->submitted);
	if (w->blocking)
		wire_unsigned(&e, COPY_BLOCKING, true);
	if (cap_unlikely(t->status))
		wire_signed(&e, COPY_STATUS, t->status, 4);
	if (cap_unlikely(why != UNTIMED_NO))
		wire_unsigned(&e, COPY_UNTIMED, why);
	wire_unsigned(&e, COPY_SUBMIT_TICK, w->submit);
	cap_activity_commit(&f, &e);
}

OCL_HOT static void work_write(struct ocl_work *w, const struct times *t, enum untimed_reason why,
			       uint64_t now)
{
	if (w->what == OCL_WORK_COPY)
		copy_write(w, t, why, now);
	else
		dispatch_write(w, t, why, now);
	cap_submission_end(&w->submission);
	if (why != UNTIMED_NO)
		cap_count_untimed();
}

/* The one event of a command buffer tells nothing of when its commands ran. */
static void buffer_write(struct ocl_work *w, const struct times *t, enum untimed_reason why,
			 uint64_t now)
{
	const struct times none = {.status = t->status};

	if (w->kernel)
		work_write(w, t, why, now);
	for (uint64_t i = 0; i < w->inside_count; i++)
		work_write(&w->inside[i], &none, why == UNTIMED_NO ? UNTIMED_IN_BUFFER : why, now);
	free(w->inside);
}

OCL_HOT static void write_all(struct ocl_work *w, const struct times *t, enum untimed_reason why,
			      uint64_t now)
{
	if (cap_unlikely(w->what == OCL_WORK_BUFFER))
		buffer_write(w, t, why, now);
	else
		work_write(w, t, why, now);
}

void ocl_work_untimed(struct ocl_work *w, enum untimed_reason why, int32_t status)
{
	const struct times none = {.status = status};

	write_all(w, &none, why, tick_now());
}

/* ---- one command ---- */

static cl_int profile(cl_event event, cl_profiling_info what, cl_ulong *out)
{
	return ocl_next.clGetEventProfilingInfo(event, what, sizeof(*out), out, NULL);
}

static cl_int execution_status(cl_event event)
{
	cl_int status = CL_QUEUED;

	if (ocl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				    &status, NULL) != CL_SUCCESS)
		return CL_QUEUED;
	return status;
}

static bool times_read(cl_event event, struct times *t)
{
	return profile(event, CL_PROFILING_COMMAND_END, &t->ended) == CL_SUCCESS &&
	       profile(event, CL_PROFILING_COMMAND_START, &t->started) == CL_SUCCESS &&
	       profile(event, CL_PROFILING_COMMAND_QUEUED, &t->queued) == CL_SUCCESS &&
	       profile(event, CL_PROFILING_COMMAND_SUBMIT, &t->submitted) == CL_SUCCESS;
}

/*
 * A complete command answers all four queries. If we have reason to think that it is complete, the
 * question whether it is can be saved: the answer to the first query tells.
 */
OCL_HOT static enum state work_look(const struct ocl_work *w, enum ocl_collect_hint hint,
				    struct times *t)
{
	t->status = 0;
	if (hint == OCL_COMPLETE && times_read(w->event, t) && t->ended && t->started)
		return COMPLETE;
	t->status = execution_status(w->event);
	if (t->status > CL_COMPLETE)
		return RUNNING;
	if (t->status < 0)
		return FAILED;
	return times_read(w->event, t) ? COMPLETE : REFUSED;
}

/*
 * What commands tell of their device's clock: the tightest bound of each quarter of a second, so
 * that one look at many asks for the clock once.
 */
struct bound {
	struct ocl_clock *clock; /* NULL: none yet */
	uint64_t before, after, value;
	uint64_t width; /* UINT64_MAX: `value` is not known */
	uint64_t last, until;
};

static void bound_tell(const struct bound *b, uint64_t now)
{
	if (b->clock)
		ocl_clock_bound(b->clock, b->before, b->after, b->value, b->last, now);
}

static inline void bound_add(struct bound *b, const struct ocl_work *w, uint64_t queued,
			     uint64_t now)
{
	uint64_t width = queued ? w->end - w->submit : UINT64_MAX;

	if (cap_unlikely(w->clock != b->clock || w->end >= b->until)) {
		bound_tell(b, now);
		b->until = w->end + OCL_BOUND_TICKS;
	} else if (cap_likely(width >= b->width)) {
		b->last = w->end;
		return;
	}
	b->clock = w->clock;
	b->before = w->submit;
	b->after = b->last = w->end;
	b->value = queued;
	b->width = width;
}

/* Writes the record; the event is let go later, outside Kymo's guard. */
static inline void work_record(struct ocl_work *w, enum state state, struct times *t, uint64_t now,
			       struct bound *bound)
{
	const struct times none = {.status = t->status};

	cap_flight_end(&w->place);
	if (cap_unlikely(state != COMPLETE)) {
		write_all(w, &none, state == FAILED ? UNTIMED_FAILED : UNTIMED_QUERY, now);
		return;
	}
	if (cap_likely(w->what == OCL_WORK_DISPATCH)) {
		dispatch_write_complete(w, t, now);
		cap_submission_end(&w->submission);
	} else {
		write_all(w, t, UNTIMED_NO, now);
	}
	bound_add(bound, w, t->queued, now);
}

/* ---- lists ---- */

struct list {
	struct ocl_work *head, *tail;
	uint32_t count;
};

static void list_add(struct list *l, struct ocl_work *w)
{
	w->next = NULL;
	if (l->tail)
		l->tail->next = w;
	else
		l->head = w;
	l->tail = w;
	l->count++;
}

static void list_join(struct list *l, const struct list *more)
{
	if (!more->head)
		return;
	if (l->tail)
		l->tail->next = more->head;
	else
		l->head = more->head;
	l->tail = more->tail;
	l->count += more->count;
}

/*
 * Works through `l`: what is done goes to `done`, the rest stays; those looked at in vain come
 * after the others, so that none is starved.
 */
OCL_HOT static void list_collect(struct list *l, bool in_order, enum ocl_collect_hint hint,
				 uint32_t most, uint64_t now, struct list *done)
{
	struct list running = {NULL, NULL, 0};
	struct bound bound = {.clock = NULL};
	struct cap_timed timed;
	uint32_t looked;

	cap_timed_begin_at(&timed, now);
	for (looked = 0; l->head && looked < most; looked++) {
		struct ocl_work *w = l->head;
		struct times t;
		enum state state = work_look(w, hint, &t);

		if (state == RUNNING && in_order)
			break;
		l->head = w->next;
		l->count--;
		if (state != RUNNING)
			work_record(w, state, &t, now, &bound);
		list_add(state == RUNNING ? &running : done, w);
	}
	l->tail = l->head ? l->tail : NULL;
	list_join(l, &running);
	bound_tell(&bound, now);
	cap_timed_end(&timed, (2 + looked / 10) * ocl_ticks_10ms / 1000);
}

/* Letting go of an event may end a context and run the program's callbacks: they are traced. */
static void list_release(const struct list *done)
{
	for (const struct ocl_work *w = done->head; w; w = w->next)
		ocl_next.clReleaseEvent(w->event);
}

/* Takes the list, if there is one and nobody else has taken it. */
OCL_HOT static bool queue_take(struct ocl_queue *q, struct list *out)
{
	bool taken = false;

	ocl_lock(&q->lock);
	if (q->collecting) {
		q->again = true;
	} else if (q->head) {
		*out = (struct list){q->head, q->tail, q->pending};
		q->head = q->tail = NULL;
		q->pending = 0;
		q->collecting = taken = true;
	}
	ocl_unlock(&q->lock);
	return taken;
}

/*
 * Puts back what is still running, before what was added meanwhile; of a closed queue it stays
 * with the caller. Returns whether another thread wanted to look meanwhile.
 */
OCL_HOT static bool queue_put_back(struct ocl_queue *q, struct list *done, struct list *rest)
{
	struct list added, all = *rest;
	bool again;

	ocl_lock(&q->lock);
	added = (struct list){q->head, q->tail, q->pending};
	list_join(&all, &added);
	*rest = (struct list){NULL, NULL, 0};
	if (q->closed) {
		*rest = all;
		all = (struct list){NULL, NULL, 0};
	}
	q->head = all.head;
	q->tail = all.tail;
	q->pending = all.count;
	if (done->head) {
		done->tail->next = q->free;
		q->free = done->head;
	}
	q->look_count = q->pending + OCL_COLLECT_FEW;
	/* A long-running head is looked at every 10 ms at most. */
	q->look_tick = q->pending ? tick_now() + ocl_ticks_10ms : 0;
	q->collecting = false;
	again = q->again;
	q->again = false;
	ocl_unlock(&q->lock);
	return again;
}

static void orphans_add(struct list *l);

/* One round; returns whether another is asked for. */
OCL_HOT static bool collect_once(struct ocl_queue *q, enum ocl_collect_hint hint, uint32_t most,
				 uint64_t now)
{
	struct list l, done = {NULL, NULL, 0};
	bool again;

	if (!queue_take(q, &l))
		return false;
	cap_guard_enter();
	list_collect(&l, q->in_order, hint, most, now, &done);
	cap_guard_leave();
	list_release(&done);
	again = queue_put_back(q, &done, &l);
	if (l.head)
		orphans_add(&l);
	return again;
}

OCL_HOT void ocl_collect_at(struct ocl_queue *q, enum ocl_collect_hint hint, uint32_t most,
			    uint64_t now)
{
	if (cap_unlikely(collect_once(q, hint, most, now)))
		collect_once(q, OCL_LOOK, most, tick_now());
}

void ocl_collect(struct ocl_queue *q, enum ocl_collect_hint hint, uint32_t most)
{
	ocl_collect_at(q, hint, most, tick_now());
}

/* ---- queues that end while work is running ---- */

static void orphans_collect(void)
{
	while (collect_once(&orphans, OCL_LOOK, UINT32_MAX, tick_now()))
		;
}

static void CL_CALLBACK orphan_complete(cl_event event, cl_int status, void *data)
{
	if (!atomic_load(&ocl_ended))
		orphans_collect();
}

/*
 * The runtime tells us when the work of a released queue is complete, so that our references do
 * not outlive it. What completes before it is in the list is found by the look at the end.
 */
static void orphans_add(struct list *l)
{
	for (struct ocl_work *w = l->head; w && ocl_next.clSetEventCallback; w = w->next)
		ocl_next.clSetEventCallback(w->event, CL_COMPLETE, orphan_complete, NULL);
	ocl_lock(&orphans.lock);
	list_join(l, &(struct list){orphans.head, orphans.tail, orphans.pending});
	orphans.head = l->head;
	orphans.tail = l->tail;
	orphans.pending = l->count;
	ocl_unlock(&orphans.lock);
	orphans_collect();
}

void ocl_collect_close(struct ocl_queue *q)
{
	ocl_lock(&q->lock);
	q->closed = true;
	ocl_unlock(&q->lock);
	ocl_collect(q, OCL_LOOK, UINT32_MAX);
}

/* ---- many queues ---- */

struct collected {
	const void *context; /* NULL: any */
	uint64_t before;     /* only queues not looked at since this tick */
	struct ocl_queue **queues;
	size_t count, room;
};

static void collect(struct ocl_object *object, void *data)
{
	struct ocl_queue *q = (struct ocl_queue *)object;
	struct collected *c = data;
	bool wanted;

	ocl_lock(&q->lock);
	wanted = q->head && (!c->before || q->look_tick <= c->before);
	ocl_unlock(&q->lock);
	if (!wanted || (c->context && q->context_handle != c->context))
		return;
	if (vec_reserve(&c->queues, &c->room, c->count, 1))
		c->queues[c->count++] = q;
}

/* Returns how many queues had pending work. */
static size_t collect_many(const void *context, uint64_t before, uint32_t most)
{
	struct collected c = {.context = context, .before = before};

	ocl_each(OCL_QUEUE, collect, &c);
	for (size_t i = 0; i < c.count; i++)
		ocl_collect(c.queues[i], OCL_LOOK, most);
	free(c.queues);
	return c.count;
}

void ocl_collect_all(const void *context)
{
	collect_many(context, 0, UINT32_MAX);
}

OCL_HOT void ocl_collect_old(uint64_t now)
{
	uint64_t due = atomic_load_explicit(&sweep_tick, memory_order_relaxed);

	if (now < due ||
	    !atomic_compare_exchange_strong(&sweep_tick, &due, now + 5 * ocl_ticks_10ms))
		return;
	if (due)
		collect_many(NULL, now, OCL_COLLECT_FEW);
}

struct ocl_queue *ocl_queue_of_event(cl_event event)
{
	cl_command_queue queue = NULL;

	if (ocl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) !=
	    CL_SUCCESS)
		return NULL;
	return (struct ocl_queue *)ocl_find(OCL_QUEUE, queue);
}

/* ---- the end, and children ---- */

static void queue_lose(struct ocl_queue *q)
{
	struct list l;

	if (!queue_take(q, &l))
		return;
	for (struct ocl_work *w = l.head; w; w = w->next)
		ocl_work_untimed(w, UNTIMED_LOST, 0);
	/* The nodes are as good as free; the events go with the process. */
	queue_put_back(q, &l, &(struct list){NULL, NULL, 0});
}

static void lose(struct ocl_object *object, void *data)
{
	queue_lose((struct ocl_queue *)object);
}

void ocl_collect_flush(uint64_t deadline)
{
	const struct timespec pause = {0, 100000};

	if (atomic_load(&ocl_ended)) {
		ocl_each(OCL_QUEUE, lose, NULL);
		queue_lose(&orphans);
		return;
	}
	while (collect_many(NULL, 0, UINT32_MAX) && tick_now() < deadline)
		nanosleep(&pause, NULL);
	orphans_collect();
}

void ocl_collect_end(void)
{
	if (atomic_load(&ocl_ended))
		return;
	collect_many(NULL, 0, UINT32_MAX);
	orphans_collect();
	ocl_clocks_flush(true);
	atomic_store(&ocl_ended, true);
}

/* Registered after the runtime was loaded, so it runs before the runtime's own handlers. */
void ocl_collect_at_exit(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&done))
		atexit(ocl_collect_end);
}

void ocl_collect_fork_child(void)
{
	orphans = (struct ocl_queue){.lock = OCL_LOCK};
	ocl_submission = (struct ocl_submission){NULL, NULL};
}
