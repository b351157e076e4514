/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting calls and threads. A thread opens its sessions at its first selected call; each selected
 * call is read at enter and exit. What a thread counted altogether is the sum of its records of op
 * "thread", each of which says what was added since the one before: they are written when records
 * are flushed and when the thread ends.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/locks.h"
#include "core/context/context.h"
#include "core/counter/counter.h"
#include "core/process/process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Snapshots of the calls that are open, innermost last. */
struct snapshot {
	uint64_t correlation, time;
};

/* A service on a thread. */
struct counted {
	uint32_t number; /* of the service it was made for */
	bool failed;
	struct counter_set *set;
	struct sessions sessions;
	uint32_t depth;
	struct snapshot open[CAP_FRAMES];
	double *snapshots;           /* CAP_FRAMES times inputs */
	double *now, *scratch, *out; /* the thread's own */
	bool closing;                /* its context is stopped; the last open call closes it */
	_Atomic uintptr_t lock;      /* of the whole: flushes and stops come from other threads */
	double *said, *seen, *difference; /* at the last record; at the last reading */
	uint64_t said_time, seen_time;
	bool fresh;    /* something was read since the last record */
	uint32_t pass; /* of flushes, under the list's lock */
};

struct thread_counts {
	struct thread_counts *next, **link;
	uint32_t generation;
	uint32_t thread; /* index in the process */
	struct counted *by_service[COUNTER_SERVICES];
};

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread_counts *threads;
static _Thread_local struct thread_counts *mine __attribute__((tls_model("initial-exec")));

/* ---- the lock ----
 *
 * 0, OTHERS, or where on its stack the thread itself has taken it. A handler may interrupt the thread there, and make calls
 * of its own, which are not counted; it may as well jump out, and the lock is the next call's. Nobody waits for ever.
 */
#define OTHERS  ((uintptr_t)1)
#define WAIT_NS 1000000000ull

/* Whether the thread, which is `here`, is to return to where it has the lock. Below it, it may be. */
static bool may_return(uintptr_t holder, uintptr_t here)
{
	stack_t s;

	return here < holder || (sigaltstack(NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK));
}

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){0, 20000}, NULL);
}

/* By the thread itself. False: it has it further up. */
static bool take_own(struct counted *c)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t holder = 0;
	uint64_t since = 0;

	while (!atomic_compare_exchange_strong(&c->lock, &holder, here)) {
		if (holder != OTHERS && holder && may_return(holder, here))
			return false;
		if (holder != OTHERS)
			continue;
		since = since ? since : clock_ns(CLOCK_MONOTONIC);
		if (clock_ns(CLOCK_MONOTONIC) - since < WAIT_NS) {
			holder = 0;
			wait_a_moment();
		} /* else whoever had it has left it so */
	}
	return true;
}

/* By others. False: the thread has it, or has left it so. */
static bool take_of_other(struct counted *c)
{
	const uint64_t since = clock_ns(CLOCK_MONOTONIC);
	uintptr_t holder = 0;

	while (!atomic_compare_exchange_strong(&c->lock, &holder, OTHERS)) {
		if (clock_ns(CLOCK_MONOTONIC) - since >= WAIT_NS)
			return false;
		holder = 0;
		wait_a_moment();
	}
	return true;
}

static void let_go(struct counted *c)
{
	atomic_store(&c->lock, 0);
}

static bool take(struct counted *c, const struct thread_counts *of)
{
	return of == mine ? take_own(c) : take_of_other(c);
}

/* ---- making and freeing ---- */

static struct counted *counted_new(struct core_counter_service *s)
{
	struct counted *c = calloc(1, sizeof(*c));
	struct counter_set *set = s->set;
	double *d;

	if (!c)
		return NULL;
	d = calloc((size_t)set->inputs * (CAP_FRAMES + 5) + set->outputs, sizeof(*d));
	if (!d) {
		free(c);
		return NULL;
	}
	pthread_mutex_lock(&counters_lock);
	set->references++;
	pthread_mutex_unlock(&counters_lock);
	c->set = set;
	c->number = s->number;
	c->snapshots = d;
	c->now = d + (size_t)set->inputs * CAP_FRAMES;
	c->scratch = c->now + set->inputs;
	c->said = c->scratch + set->inputs;
	c->seen = c->said + set->inputs;
	c->difference = c->seen + set->inputs;
	c->out = c->difference + set->inputs;
	return c;
}

static void counted_free(struct counted *c)
{
	if (!c)
		return;
	sessions_close(&c->sessions, c->set);
	counter_set_put(c->set);
	free(c->snapshots);
	free(c);
}

/* ---- totals ---- */

/* What the thread counted since its last such record into `out`. False: nothing. Any thread. */
static bool take_total(const struct thread_counts *t, struct counted *c, struct counter_event *e,
		       double *out)
{
	bool fresh;

	if (!take(c, t))
		return false;
	fresh = c->fresh;
	if (fresh) {
		counter_set_difference(c->set, c->said, c->seen, c->difference, out);
		memcpy(c->said, c->seen, c->set->inputs * sizeof(*c->said));
		e->start = c->said_time;
		e->end = c->said_time = c->seen_time;
		c->fresh = false;
	}
	let_go(c);
	return fresh;
}

/* Caller holds the lock. */
static void note_reading(struct counted *c, uint64_t time, bool first)
{
	size_t bytes = c->set->inputs * sizeof(*c->seen);

	kymo_assert(atomic_load(&c->lock));
	if (first) {
		memcpy(c->said, c->now, bytes);
		c->said_time = time;
	}
	memcpy(c->seen, c->now, bytes);
	c->seen_time = time;
	c->fresh = !first;
}

static bool service_lives(uint32_t i, const struct counted *c)
{
	return c && core_counter_services[i].used && core_counter_services[i].number == c->number;
}

/* The next total that the pass has not seen; the list is locked so that no thread ends meanwhile. */
static bool next_total(uint32_t pass, struct counter_event *e, double *out,
		       struct core_counter_service **s)
{
	bool found = false;

	pthread_mutex_lock(&threads_lock);
	for (struct thread_counts *t = threads; t && !found; t = t->next) {
		for (uint32_t i = 0; i < COUNTER_SERVICES && !found; i++) {
			struct counted *c = t->by_service[i];

			if (!service_lives(i, c) || c->pass == pass)
				continue;
			c->pass = pass;
			e->thread = t->thread;
			*s = &core_counter_services[i];
			found = take_total(t, c, e, out);
		}
	}
	pthread_mutex_unlock(&threads_lock);
	return found;
}

/* A reading of now, if the thread is counted and its context is started. */
static void read_last(struct thread_counts *t, uint32_t i)
{
	struct counted *c = t->by_service[i];

	if (!service_lives(i, c) || !take_own(c))
		return;
	if (c->sessions.generation && !c->failed && sessions_read(&c->sessions, c->set, c->now))
		note_reading(c, clock_ns(CLOCK_MONOTONIC_RAW), false);
	let_go(c);
}

void counter_threads_flush(void)
{
	static _Atomic uint32_t passes;
	uint32_t pass = atomic_fetch_add(&passes, 1) + 1;
	double *out = malloc(KYMO_COUNTER_INSTANCES * sizeof(*out));
	struct counter_event e = {.op = KYMO_COUNTER_OP_THREAD};
	struct core_counter_service *s;

	while (out && next_total(pass, &e, out, &s))
		counter_deliver(s, &e, out);
	free(out);
}

/* ---- threads ---- */

static void unlink_thread(struct thread_counts *t)
{
	pthread_mutex_lock(&threads_lock);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	pthread_mutex_unlock(&threads_lock);
}

static void end_one(struct thread_counts *t, uint32_t i, struct counted *c)
{
	struct counter_event e = {.op = KYMO_COUNTER_OP_THREAD, .thread = t->thread};

	read_last(t, i);
	if (service_lives(i, c) && take_total(t, c, &e, c->out))
		counter_deliver(&core_counter_services[i], &e, c->out);
	counted_free(c);
}

void counter_thread_end(void)
{
	struct thread_counts *t = mine;
	int saved = errno;

	if (!t || t->generation != core_generation)
		return; /* a child's copy of what its parent counted */
	unlink_thread(t);
	for (uint32_t i = 0; i < COUNTER_SERVICES; i++)
		end_one(t, i, t->by_service[i]);
	mine = NULL;
	free(t);
	errno = saved;
}

static struct thread_counts *thread_make(uint32_t thread)
{
	struct thread_counts *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->generation = core_generation;
	t->thread = thread;
	pthread_mutex_lock(&threads_lock);
	t->next = threads;
	t->link = &threads;
	if (threads)
		threads->link = &t->next;
	threads = t;
	pthread_mutex_unlock(&threads_lock);
	mine = t;
	return t;
}

void counter_threads_fork_child(void)
{
	pthread_mutex_init(&threads_lock, NULL);
	threads = NULL; /* what the parent's threads counted is the parent's */
	mine = NULL;
}

/* ---- calls ---- */

static struct counted *counted_make(struct thread_counts *t, uint32_t i)
{
	struct counted *c = counted_new(&core_counter_services[i]), *old;

	pthread_mutex_lock(&threads_lock); /* flushes look at it */
	old = t->by_service[i];
	t->by_service[i] = c;
	pthread_mutex_unlock(&threads_lock);
	counted_free(old);
	return c;
}

static struct counted *counted_of(uint32_t i, uint32_t thread)
{
	struct thread_counts *t = mine;
	struct counted *c;

	if (!t || t->generation != core_generation)
		t = thread_make(thread);
	if (!t)
		return NULL;
	c = t->by_service[i];
	if (!c || c->number != core_counter_services[i].number)
		c = counted_make(t, i);
	return c && !c->failed ? c : NULL;
}

/* Caller holds the lock. */
static bool read_now(struct counted *c)
{
	kymo_assert(atomic_load(&c->lock));
	if (sessions_read(&c->sessions, c->set, c->now))
		return true;
	c->failed = true;
	cap_note(2, "counter",
		 "a thread is not counted any further: its counters of the set \"%s\" "
		 "cannot be read",
		 c->set->name);
	return false;
}

static bool open_now(struct core_counter_service *s, struct counted *c)
{
	if (c->sessions.generation)
		return true;
	if (sessions_open(&c->sessions, c->set, KYMO_COUNTER_THREAD, NULL) != KYMO_OK) {
		c->failed = true;
		cap_note(2, "counter", "a thread is not counted: %s", kymo_counter_error());
		return false;
	}
	if (!read_now(c))
		return false;
	note_reading(c, clock_ns(CLOCK_MONOTONIC_RAW), true);
	return true;
}

static void close_when_idle(struct counted *c)
{
	if (!c->closing || c->depth)
		return;
	sessions_close(&c->sessions, c->set);
	c->closing = false;
}

static void call_enter(struct core_counter_service *s, struct counted *c,
		       const kymo_callback_record_t *r)
{
	c->closing = false;
	if (c->depth == CAP_FRAMES || !open_now(s, c) || !read_now(c))
		return;
	memcpy(c->snapshots + (size_t)c->depth * c->set->inputs, c->now,
	       c->set->inputs * sizeof(*c->now));
	c->open[c->depth].time = clock_ns(CLOCK_MONOTONIC_RAW);
	c->open[c->depth++].correlation = r->correlation;
}

static uint16_t wire_op(const kymo_callback_record_t *r)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].desc == r->domain)
			return (uint16_t)(core_domains[i].base + r->op);
	return 0;
}

/* Calls that longjmp() left behind are passed over. False: it was entered before the service came. */
static bool call_exit(struct counted *c, const kymo_callback_record_t *r, struct counter_event *e)
{
	uint32_t at = c->depth;
	bool ok;

	while (at && c->open[at - 1].correlation != r->correlation)
		at--;
	if (!at)
		return false;
	c->depth = at - 1;
	ok = read_now(c);
	if (ok) {
		e->start = c->open[at - 1].time;
		e->end = clock_ns(CLOCK_MONOTONIC_RAW);
		note_reading(c, e->end, false);
		counter_set_difference(c->set, c->snapshots + (size_t)c->depth * c->set->inputs,
				       c->now, c->scratch, c->out);
	}
	close_when_idle(c);
	return ok;
}

void counter_thread_call(kymo_context_t context, const kymo_callback_record_t *r, void *service)
{
	struct core_counter_service *s = service;
	struct counter_event e = {.op = KYMO_COUNTER_OP_CALL,
				  .thread = r->thread,
				  .correlation = r->correlation,
				  .scope = r->scope};
	bool counted = false;
	struct counted *c;

	if (!s->used || s->context.handle != context.handle)
		return;
	c = counted_of((uint32_t)(s - core_counter_services), r->thread);
	if (!c)
		return;
	if (!take_own(c))
		return; /* of a handler that interrupts another call here */
	if (r->phase == KYMO_PHASE_ENTER)
		call_enter(s, c, r);
	else
		counted = call_exit(c, r, &e);
	let_go(c);
	if (!counted)
		return;
	e.call_op = wire_op(r);
	counter_deliver(s, &e, c->out); /* `out` is the thread's own */
}

/* The context of the service is stopped or gone: nothing stays open for it. */
void counter_threads_stop(struct core_counter_service *s)
{
	uint32_t i = (uint32_t)(s - core_counter_services);

	if (mine && mine->generation == core_generation)
		read_last(mine, i);
	counter_threads_flush();
	pthread_mutex_lock(&threads_lock);
	for (struct thread_counts *t = threads; t; t = t->next) {
		struct counted *c = t->by_service[i];

		if (!service_lives(i, c))
			continue;
		c->closing = true;
		if (!take(c, t))
			continue;
		close_when_idle(c);
		let_go(c);
	}
	pthread_mutex_unlock(&threads_lock);
}
