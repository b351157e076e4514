/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on devices: what is not over yet, reading its times from its events, and the records of it.
 * Nothing here waits for a device.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/locks.h"
#include "capture/ze/ze.h"
#include "core/tally/count.h"

#define LOOK 8u /* events seen unsignalled before a look ends */

struct list {
	struct ze_work *head, **tail;
};

struct timestamps { /* ze_kernel_timestamp_result_t */
	uint64_t global[2], context[2];
};

static pthread_mutex_t collect = PTHREAD_MUTEX_INITIALIZER;
static struct ze_work *pending, **pending_tail = &pending; /* guarded by `objects` */
static _Atomic bool ended;

bool ze_ended(void)
{
	return atomic_load(&ended);
}

void ze_collect_lock(void) ACQUIRES(collect)
{
	pthread_mutex_lock(&collect);
}

void ze_collect_unlock(void) RELEASES(collect)
{
	pthread_mutex_unlock(&collect);
}

static void list_add(struct list *l, struct ze_work *w)
{
	if (!l->tail)
		l->tail = &l->head;
	w->next = NULL;
	*l->tail = w;
	l->tail = &w->next;
}

/* ---- records ---- */

static unsigned dimensions(const struct ze_command *c)
{
	if (c->groups[2] > 1 || c->group[2] > 1)
		return 3;
	return c->groups[1] > 1 || c->group[1] > 1 ? 2 : 1;
}

static bool count_dispatch(const struct ze_work *w)
{
	const struct cap_counted c =
		cap_counted_kernel(w->agent ? w->agent->id : 0, w->queue, w->command.kernel,
				   w->duration, 0, w->untimed != UNTIMED_NO || !w->start);

	return cap_count(&w->submission, &core_dispatch_ops[DISPATCH_OP_KERNEL], &c);
}

static void record_dispatch(const struct ze_work *w)
{
	const struct ze_command *c = &w->command;
	const uint64_t now = tick_now();
	struct cap_frame activity;
	struct wire_enc e;

	if (cap_counts(&w->submission) && count_dispatch(w))
		return;
	if (!cap_activity_begin(&activity, &e, &core_dispatch_ops[DISPATCH_OP_KERNEL],
				&w->submission, now, now, DISPATCH_FIELDS))
		return;
	wire_unsigned(&e, DISPATCH_CORRELATION, w->submission.call);
	wire_unsigned(&e, DISPATCH_AGENT, w->agent ? w->agent->id : 0);
	wire_unsigned(&e, DISPATCH_QUEUE, w->queue);
	wire_unsigned(&e, DISPATCH_KERNEL, c->kernel);
	wire_unsigned(&e, DISPATCH_START, w->start);
	wire_unsigned(&e, DISPATCH_DURATION, w->duration);
	wire_unsigned(&e, DISPATCH_QUEUED_BEFORE, 0);
	wire_unsigned(&e, DISPATCH_SUBMITTED_BEFORE, 0);
	wire_unsigned(&e, DISPATCH_DIMS, dimensions(c));
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(&e, DISPATCH_GLOBAL_X + i, (uint64_t)c->groups[i] * c->group[i]);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(&e, DISPATCH_LOCAL_X + i, c->group[i]);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(&e, DISPATCH_OFFSET_X + i, 0);
	wire_signed(&e, DISPATCH_STATUS, 0, 4);
	wire_unsigned(&e, DISPATCH_UNTIMED, w->untimed);
	wire_unsigned(&e, DISPATCH_SUBMIT_TICK, w->submit_tick);
	cap_activity_commit(&activity, &e);
}

static bool count_copy(const struct ze_work *w)
{
	const struct ze_command *c = &w->command;
	const struct cap_counted counted = {
		.kind = WIRE_TALLY_COPY,
		.untimed = w->untimed != UNTIMED_NO || !w->start,
		.key = {[WIRE_KEY_COPY_QUEUE] = w->queue,
			[WIRE_KEY_COPY_SOURCE_AGENT] = c->agents[0],
			[WIRE_KEY_COPY_DESTINATION_AGENT] = c->agents[1],
			[WIRE_KEY_COPY_KINDS] = cap_counted_kinds(c->kinds[0], c->kinds[1])},
		.bytes = c->bytes,
		.duration = w->duration};

	return cap_count(&w->submission, &core_copy_ops[c->op], &counted);
}

static void record_copy(const struct ze_work *w)
{
	const struct ze_command *c = &w->command;
	const uint64_t now = tick_now();
	struct cap_frame activity;
	struct wire_enc e;

	if (cap_counts(&w->submission) && count_copy(w))
		return;
	if (!cap_activity_begin(&activity, &e, &core_copy_ops[c->op], &w->submission, now, now,
				COPY_FIELDS))
		return;
	wire_unsigned(&e, COPY_CORRELATION, w->submission.call);
	wire_unsigned(&e, COPY_QUEUE, w->queue);
	wire_unsigned(&e, COPY_SOURCE_AGENT, c->agents[0]);
	wire_unsigned(&e, COPY_DESTINATION_AGENT, c->agents[1]);
	wire_unsigned(&e, COPY_BYTES, c->bytes);
	wire_unsigned(&e, COPY_SOURCE_KIND, c->kinds[0]);
	wire_unsigned(&e, COPY_DESTINATION_KIND, c->kinds[1]);
	wire_unsigned(&e, COPY_START, w->start);
	wire_unsigned(&e, COPY_DURATION, w->duration);
	wire_unsigned(&e, COPY_QUEUED_BEFORE, 0);
	wire_unsigned(&e, COPY_SUBMITTED_BEFORE, 0);
	wire_unsigned(&e, COPY_BLOCKING, w->blocking);
	wire_signed(&e, COPY_STATUS, 0, 4);
	wire_unsigned(&e, COPY_UNTIMED, w->untimed);
	wire_unsigned(&e, COPY_SUBMIT_TICK, w->submit_tick);
	wire_unsigned(&e, COPY_GRAPH, 0);
	wire_unsigned(&e, COPY_GRAPH_NODE, 0);
	wire_pointer(&e, COPY_ADDRESS, NULL);
	wire_unsigned(&e, COPY_CAUSE, c->op == COPY_OP_MIGRATE ? MIGRATION_PREFETCH : 0);
	wire_unsigned(&e, COPY_COUNT, 0);
	cap_activity_commit(&activity, &e);
}

/* Records what is over and frees it; without locks. */
static void record_all(struct list *l)
{
	struct ze_work *w, *next;

	for (w = l->head; w; w = next) {
		next = w->next;
		cap_flight_free(&w->place);
		if (w->untimed)
			cap_count_untimed();
		if (w->command.dispatch)
			record_dispatch(w);
		else
			record_copy(w);
		cap_submission_end(&w->submission);
		free(w);
	}
}

/* ---- submission ---- */

/* With `objects` locked: links the work to its event. */
static void attach(struct ze_work *w)
{
	struct ze_event *e = w->command.own;

	if (!e && w->command.event)
		e = ze_find(ZE_EVENT, w->command.event);
	w->untimed = UNTIMED_MODE;
	if (!e || !(e->timed || e->own) || !w->agent || !w->agent->frequency)
		return;
	w->untimed = UNTIMED_NO;
	w->event = e;
	e->work = w; /* the one before, if not over, will find that out */
	*pending_tail = w;
	pending_tail = &w->next;
}

void ze_submit(const struct cap_frame *f, struct ze_agent *agent, uint32_t queue, bool blocking,
	       const struct ze_command *c)
{
	struct cap_op *op =
		c->dispatch ? &core_dispatch_ops[DISPATCH_OP_KERNEL] : &core_copy_ops[c->op];
	const struct cap_subject subject = {.agent = agent ? agent->id : 0,
					    .queue = queue,
					    .kernel = c->kernel,
					    .memory = {c->memory[0], c->memory[1]},
					    .bytes = c->bytes};
	struct list now = {NULL, NULL};
	struct cap_submission submission;
	struct ze_work *w;

	if (!c->dispatch && !c->copy) {
		cap_sync_record(f, 0, c->op, queue, 0, c->event);
		return;
	}
	if (!cap_submission_take(&submission, f, op, &subject))
		return;
	w = calloc(1, sizeof(*w));
	if (!w) {
		cap_submission_end(&submission);
		return;
	}
	w->agent = agent;
	w->queue = queue;
	w->blocking = blocking;
	w->command = *c;
	w->submission = submission;
	w->submit_tick = f->start;
	w->place = cap_flight_new();
	cap_flight_begin(&w->place, op, &submission, f->start, &subject);
	ze_objects_lock();
	attach(w);
	if (w->untimed)
		list_add(&now, w);
	ze_objects_unlock(); /* what is pending may be another thread's, and gone, from here on */
	record_all(&now);
}

/* ---- reading ---- */

static bool signalled(const void *event)
{
	uint32_t (*query)(const void *);

	memcpy(&query, &ze_next[ZE_OP_zeEventQueryStatus], sizeof(query));
	return query && query(event) == 0;
}

/* False: it is not over. What was read before is what an event shows that was not reset. */
static bool read_times(struct ze_work *w)
{
	struct ze_event *e = w->event;
	uint32_t (*query)(const void *, struct timestamps *);
	struct timestamps t;

	memcpy(&query, &ze_next[ZE_OP_zeEventQueryKernelTimestamp], sizeof(query));
	if (!query || query(e->object.handle, &t) != 0) {
		w->untimed = UNTIMED_QUERY;
		return true;
	}
	if (e->read && e->last[0] == t.global[0] && e->last[1] == t.global[1])
		return false;
	e->read = true;
	e->last[0] = t.global[0];
	e->last[1] = t.global[1];
	ze_clock_sample(w->agent, false);
	w->start = ze_clock_time(w->agent, t.global[0]);
	w->duration = ze_clock_length(w->agent, t.global[0], t.global[1]);
	if (w->start == 0)
		w->untimed = UNTIMED_NOT_REPORTED;
	return true;
}

/* Kymo's own events can be used again once their work is over. With `collect` locked. */
static void reset_own(struct ze_event *e)
{
	uint32_t (*reset)(void *);

	memcpy(&reset, &ze_next[ZE_OP_zeEventHostReset], sizeof(reset));
	if (reset)
		reset(e->object.handle);
	ze_objects_lock();
	if (!e->keep)
		ze_own_free(e);
	ze_objects_unlock();
}

/* With `collect` locked. True: the work is over, and its event knows no more of it. */
static bool is_over(struct ze_work *w)
{
	struct ze_event *e = w->event;
	bool latest;

	ze_objects_lock();
	latest = e->work == w;
	ze_objects_unlock();
	if (!latest) /* the event was given to other work before this was seen to end */
		w->untimed = UNTIMED_LOST;
	else if (!signalled(e->object.handle) || !read_times(w))
		return false;
	ze_objects_lock();
	if (e->work == w)
		e->work = NULL;
	ze_objects_unlock();
	w->event = NULL;
	if (latest && e->own)
		reset_own(e);
	return true;
}

static struct ze_work *take_pending(void)
{
	struct ze_work *w;

	ze_objects_lock();
	w = pending;
	pending = NULL;
	pending_tail = &pending;
	ze_objects_unlock();
	return w;
}

/* What is left comes before what was submitted meanwhile. */
static void give_back(struct list *rest)
{
	if (!rest->head)
		return;
	ze_objects_lock();
	*rest->tail = pending;
	if (!pending)
		pending_tail = rest->tail;
	pending = rest->head;
	ze_objects_unlock();
}

/* With `collect` locked. */
static void look(struct list *over, unsigned most)
{
	struct ze_work *w = take_pending(), *next;
	struct list rest = {NULL, NULL};
	unsigned missed = 0;

	for (; w; w = next) {
		next = w->next;
		if (missed < most && is_over(w)) {
			list_add(over, w);
		} else {
			missed++;
			list_add(&rest, w);
		}
	}
	give_back(&rest);
}

void ze_collect(bool all)
{
	struct list over = {NULL, NULL};
	struct cap_timed timed;

	if (ze_ended() || !__atomic_load_n(&pending, __ATOMIC_RELAXED))
		return;
	if (all)
		pthread_mutex_lock(&collect);
	else if (pthread_mutex_trylock(&collect) != 0)
		return; /* another thread is at it */
	cap_timed_begin(&timed);
	cap_guard_enter();
	look(&over, all ? UINT32_MAX : LOOK);
	cap_guard_leave();
	pthread_mutex_unlock(&collect);
	record_all(&over);
	cap_timed_end(&timed, UINT64_MAX);
}

/* Takes the work of an event out of what is pending. With `objects` locked. */
static bool take_out(struct ze_work *w)
{
	struct ze_work **at = &pending;

	while (*at && *at != w)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = w->next;
	if (!w->next)
		pending_tail = at;
	return true;
}

/*
 * Works of an event that is gone, or of all of Kymo's own of a device context, know it no more.
 * With `objects` locked.
 */
static void abandon(const struct ze_event *e, const void *context, struct list *over)
{
	struct ze_work **at = &pending, *w;

	while ((w = *at) != NULL) {
		if (e ? w->event != e : !w->event->own || w->event->context != context) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		w->event = NULL;
		w->untimed = UNTIMED_LOST;
		list_add(over, w);
	}
	pending_tail = at;
}

void ze_event_last(void *event, bool gone)
{
	struct list over = {NULL, NULL};
	struct ze_event *e;
	struct ze_work *w;

	pthread_mutex_lock(&collect);
	ze_objects_lock();
	e = gone ? ze_forget(ZE_EVENT, event) : ze_find(ZE_EVENT, event);
	w = e && e->work && take_out(e->work) ? e->work : NULL;
	ze_objects_unlock();
	cap_guard_enter();
	if (w && !ze_ended() && is_over(w))
		list_add(&over, w);
	else if (w) {
		w->untimed = UNTIMED_LOST;
		w->event = NULL;
		e->work = NULL;
		list_add(&over, w);
	}
	cap_guard_leave();
	if (e && gone) {
		ze_objects_lock();
		abandon(e, NULL, &over);
		ze_objects_unlock();
		free(e);
	} else if (e) {
		e->read = false;
	}
	pthread_mutex_unlock(&collect);
	record_all(&over);
}

void ze_context_last(void *context)
{
	struct list over = {NULL, NULL};

	ze_collect(true);
	pthread_mutex_lock(&collect);
	ze_objects_lock();
	abandon(NULL, context, &over);
	ze_objects_unlock();
	ze_own_release(context);
	pthread_mutex_unlock(&collect);
	record_all(&over);
}

/* ---- the end, and children ---- */

static void lose_all(void)
{
	struct ze_work *w = take_pending(), *next;
	struct list over = {NULL, NULL};

	for (; w; w = next) {
		next = w->next;
		w->place = 0; /* what never finished is still to be seen */
		w->untimed = UNTIMED_LOST;
		list_add(&over, w);
	}
	record_all(&over);
}

void ze_flush(uint64_t deadline)
{
	const struct timespec pause = {0, 100000};

	if (ze_ended()) {
		lose_all();
		return;
	}
	ze_collect(true);
	while (__atomic_load_n(&pending, __ATOMIC_RELAXED) && tick_now() < deadline) {
		nanosleep(&pause, NULL);
		ze_collect(true);
	}
}

static void at_exit(void)
{
	ze_collect(true);
	atomic_store(&ended, true);
}

static void before_fork(void) ACQUIRES(collect)
{
	pthread_mutex_lock(&collect);
	ze_objects_lock();
	ze_memory_lock();
}

static void unlock(void) RELEASES(collect)
{
	ze_objects_unlock();
	pthread_mutex_unlock(&collect);
}

static void after_fork(void) RELEASES(collect)
{
	ze_memory_unlock();
	unlock();
}

/* Device work is the parent's: its submissions and events are not touched here. */
static void after_fork_in_child(void) UNCHECKED_LOCKS
{
	for (struct ze_work *w = pending; w; w = w->next)
		w->event->work = NULL;
	pending = NULL;
	pending_tail = &pending;
	ze_memory_fork_child();
	unlock();
}

/* Registered after the driver was loaded, so it runs before the driver's own handlers. */
static void once(void)
{
	atexit(at_exit);
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void ze_at_exit(void)
{
	static pthread_once_t done = PTHREAD_ONCE_INIT;

	pthread_once(&done, once);
}
