/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of subscribers: whom to call back of an op. They are made when something changes and only read by traced
 * calls; equal ones are one. What a call has captured must stay until the call is over, so here is
 * also how one finds out that nobody uses a list of subscribers or a buffer any more.
 */
#include "core/context/context.h"
#include "base/hash.h"
#include "base/locks.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct core_subscribers *lists GUARDED_BY(core_live->configure); /* under `configure` */
static uint32_t plan_count, updates = 1;

/* ---- making ---- */

static uint64_t hash_of(const struct core_subscriber *e, uint32_t count)
{
	return hash_bytes(e, count * sizeof(*e));
}

static struct core_subscribers *plan_new(const struct core_subscriber *entries, uint32_t count,
					 uint64_t hash) REQUIRES(core_live->configure)
{
	struct core_subscribers *p = calloc(1, sizeof(*p) + count * sizeof(*entries));

	if (!p)
		return NULL;
	p->count = count;
	p->hash = hash;
	memcpy(p->entries, entries, count * sizeof(*entries));
	for (uint32_t i = 0; i < count; i++) {
		p->requests |= entries[i].request != NULL;
		p->filters |= entries[i].filter != NULL;
		p->callbacks |= entries[i].callback != NULL;
		p->enters |= (entries[i].phases & KYMO_PHASE_ENTER) != 0;
	}
	p->update = updates;
	p->next = lists;
	lists = p;
	plan_count++;
	return p;
}

const struct core_subscribers *core_subscribers_get(const struct core_subscriber *entries,
						    uint32_t count)
{
	uint64_t hash = hash_of(entries, count);

	kymo_assert_held(&core_live->configure);
	if (count == 0)
		return NULL;
	for (struct core_subscribers *p = lists; p; p = p->next) {
		if (p->hash == hash && p->count == count &&
		    memcmp(p->entries, entries, count * sizeof(*entries)) == 0) {
			p->update = updates;
			return p;
		}
	}
	return plan_new(entries, count, hash);
}

/* ---- who uses what ---- */

struct use {
	const struct core_subscribers *subscribers;
	uint64_t buffers;
	bool used;
};

/*
 * Frames below `depth` say what they captured. A thread that is busy may use anything that it
 * loaded before the barrier; one that becomes busy after it loads what is there now.
 */
static void look_at(struct cap_thread *t, void *data)
{
	struct use *u = data;
	uint32_t depth;

	if (cap_reads(t)) {
		u->used = true;
		return;
	}
	depth = atomic_load_explicit(&t->depth, memory_order_acquire);
	for (uint32_t i = 0; i < depth && i < CAP_FRAMES && !u->used; i++) {
		const struct cap_frame *f = &t->frames[i];
		const struct core_subscribers *p =
			atomic_load_explicit(&f->callbacks, memory_order_relaxed);

		u->used = (u->subscribers && p == u->subscribers) ||
			  (atomic_load_explicit(&f->buffers, memory_order_relaxed) & u->buffers);
	}
}

bool core_grace_period_over(const struct core_subscribers *subscribers, uint64_t buffers)
{
	struct use u = {subscribers, buffers, false};

	if (subscribers && atomic_load_explicit(&subscribers->refs, memory_order_acquire))
		return false;
	core_barrier();
	core_threads_each(look_at, &u);
	return !u.used &&
	       !(subscribers && atomic_load_explicit(&subscribers->refs, memory_order_acquire));
}

struct open_calls {
	cap_open_call_fn fn;
	void *data;
};

static void tell_open(struct cap_thread *t, void *data)
{
	const uint32_t depth = atomic_load_explicit(&t->depth, memory_order_acquire);
	const struct open_calls *o = data;

	for (uint32_t i = 0; i < depth && i < CAP_FRAMES; i++)
		o->fn(atomic_load_explicit(&t->frames[i].op, memory_order_relaxed), o->data);
}

void cap_open_calls(cap_open_call_fn fn, void *data)
{
	struct open_calls o = {fn, data};

	core_barrier();
	core_threads_each(tell_open, &o);
}

struct submitting {
	uint64_t buffers;
	bool yes;
};

/* As look_at(): a thread that is busy may be about to show a call. */
static void look_submitting(struct cap_thread *t, void *data)
{
	struct submitting *s = data;
	uint32_t depth;

	if (t == cap_thread_current)
		return;
	s->yes |= cap_reads(t);
	depth = atomic_load_explicit(&t->depth, memory_order_acquire);
	for (uint32_t i = 0; i < depth && i < CAP_FRAMES && !s->yes; i++) {
		const struct cap_op *op =
			atomic_load_explicit(&t->frames[i].op, memory_order_relaxed);

		s->yes = (core_domains[op->domain].desc->ops[op->number].flags & KYMO_OP_SUBMITS) &&
			 core_call_buffers(&t->frames[i], s->buffers);
	}
}

bool core_calls_submit(uint64_t buffers)
{
	struct submitting s = {buffers, false};

	core_barrier();
	core_threads_each(look_submitting, &s);
	return s.yes;
}

/* NULL: any may be in use. */
static void mark(const struct core_subscribers *used) REQUIRES(core_live->configure)
{
	for (struct core_subscribers *p = lists; p; p = p->next)
		if (!used || p == used)
			p->used = true;
}

static void mark_of(struct cap_thread *t, void *data) REQUIRES(core_live->configure)
{
	uint32_t depth;

	if (cap_reads(t)) {
		mark(NULL);
		return;
	}
	depth = atomic_load_explicit(&t->depth, memory_order_acquire);
	for (uint32_t i = 0; i < depth && i < CAP_FRAMES; i++) {
		const struct core_subscribers *p =
			atomic_load_explicit(&t->frames[i].callbacks, memory_order_relaxed);

		if (p)
			mark(p);
	}
}

void core_subscribers_update(void)
{
	kymo_assert_held(&core_live->configure);
	updates++;
}

/* Now and then, so that a list of subscribers costs a constant share of a sweep. */
void core_subscribers_sweep(void)
{
	static uint32_t left; /* in use at the last sweep */
	struct core_subscribers **link = &lists;

	kymo_assert_held(&core_live->configure);
	if (plan_count < 2 * left + 16)
		return;
	left = 0;
	for (struct core_subscribers *p = lists; p; p = p->next)
		left += p->used = p->update == updates || atomic_load(&p->refs);
	core_barrier();
	core_threads_each(mark_of, NULL);
	while (*link) {
		struct core_subscribers *p = *link;

		if (p->used || atomic_load_explicit(&p->refs, memory_order_acquire)) {
			link = &p->next;
		} else {
			kymo_assert(p->update != updates); /* no op names it */
			*link = p->next;
			free(p);
			plan_count--;
		}
	}
}

/* ---- callbacks that are running ---- */

struct running {
	const struct core_context *context;
	bool yes;
};

static void look_running(struct cap_thread *t, void *data)
{
	struct running *r = data;

	if (t == cap_thread_current)
		return;
	for (unsigned i = 0; i < CAP_CALLING; i++)
		r->yes |= atomic_load_explicit(&t->calling[i], memory_order_acquire) == r->context;
}

static bool is_running(struct running *r)
{
	r->yes = core_select_runs(r->context);
	core_threads_each(look_running, r);
	return r->yes;
}

/* In a callback of its own a thread waits for nobody: the other might wait for it. */
void core_callbacks_wait(const struct core_context *c, uint64_t timeout_ns)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	const struct timespec pause = {0, 50000};
	struct running r = {c, true};
	int saved = errno;

	if (core_inside_callback())
		return;
	core_barrier();
	for (unsigned i = 0; is_running(&r); i++) {
		if (timeout_ns && clock_ns(CLOCK_MONOTONIC) > end)
			break;
		if (i < 16)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	errno = saved;
}
