/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work keeps of the moment it was submitted, and the retirement of correlation ids: an id is
 * retired when its call has returned and all submissions taken in it have ended.
 */
#include "base/assert.h"
#include "core/activity/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"
#include "core/activity/ordinary.h"
#include "core/activity/submission.h"
#include "core/define/define.h"

_Atomic uint64_t core_buffers_open;
_Atomic uint32_t core_epoch;

struct core_retire {
	_Atomic uint32_t refs;
	uint64_t id;
};

/* ---- retirement ---- */

static void retired(uint64_t id)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_retirement_ops[0], NULL, now, now, RETIREMENT_FIELDS))
		return;
	wire_unsigned(&e, RETIREMENT_CORRELATION, id);
	cap_activity_commit(&f, &e);
}

static void retire_let_go(struct core_retire *r)
{
	uint64_t id = r->id;

	kymo_assert(atomic_load(&r->refs)); /* retired once */
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(r);
	retired(id);
}

void cap_retire(struct cap_frame *f)
{
	struct core_retire *r = f->retire;
	int saved = errno;

	f->retire = NULL;
	if (r == CORE_RETIRE_SAMPLED)
		core_overhead_sampled(f);
	else if (r == CORE_RETIRE_WANTED)
		retired(f->id);
	else
		retire_let_go(r);
	errno = saved;
}

/* The call's own, made when the first work wants it. */
static struct core_retire *retire_get(struct cap_frame *f)
{
	struct core_retire *r = f ? f->retire : NULL;

	if (!r || r == CORE_RETIRE_SAMPLED)
		return NULL;
	if (r == CORE_RETIRE_WANTED) {
		r = malloc(sizeof(*r));
		if (!r)
			return NULL; /* retired with the call, then: too early, but once */
		atomic_init(&r->refs, 1);
		r->id = f->id;
		f->retire = r;
	}
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

/* ---- filters ---- */

static bool accepted(struct core_calling *k, const struct core_subscriber *e,
		     const kymo_work_t *work)
{
	if (!core_calling_goes_on(k) || !core_calling_one(k, e->context, e->generation))
		return false;
	return !e->filter || (uint8_t)core_contained(CORE_FUNCTION(e->filter), CORE_ARGUMENT(work),
						     CORE_ARGUMENT(e->filter_data), 0);
}

/* Asks the filters; buffers that none of their services wants are taken out of the mask. */
static void ask_filters(struct cap_thread *t, const struct core_subscribers *subscribers,
			const struct cap_op *op, const struct cap_subject *s,
			struct cap_submission *o, bool *skip)
{
	kymo_work_t work = {.size = sizeof(work),
			    .domain = core_domains[op->domain].desc,
			    .op = op->number,
			    .correlation = o->call};
	uint64_t filtered = 0, wanted = 0;
	struct core_calling k;
	bool may = core_calling_begin(&k, t);

	if (may) /* which asks others */
		work.framework_device = core_framework_device();
	if (s) {
		work.agent = s->agent;
		work.queue = s->queue;
		work.kernel = s->kernel;
		work.memory[0] = s->memory[0];
		work.memory[1] = s->memory[1];
		work.bytes = s->bytes;
	}
	for (uint32_t i = 0; i < subscribers->count; i++) {
		const struct core_subscriber *e = &subscribers->entries[i];
		uint64_t bit = e->buffer >= 0 ? 1ull << e->buffer : 0;
		bool yes = may && accepted(&k, e, &work);

		skip[i] = !yes;
		if (!e->records)
			continue;
		filtered |= bit;
		wanted |= yes ? bit : 0;
	}
	if (may)
		core_calling_end(&k);
	o->buffers &= ~filtered | wanted;
}

/* ---- submissions ---- */

static uint64_t external_of(struct cap_thread *t, const struct cap_frame *f, unsigned buffer)
{
	if (f && atomic_load_explicit(&f->callbacks, memory_order_relaxed))
		return cap_external_asked(t, f, buffer);
	return atomic_load_explicit(&t->external[buffer], memory_order_relaxed);
}

/* Whether any is not 0. */
static bool externals_of(struct cap_thread *t, const struct cap_frame *f, uint64_t buffers,
			 uint64_t values[CAP_BUFFERS])
{
	uint64_t any = 0;

	for (uint64_t left = buffers; left; left &= left - 1) {
		unsigned b = (unsigned)__builtin_ctzll(left);

		any |= values[b] = external_of(t, f, b);
	}
	return any != 0;
}

/* External id of an entry's context: asked for at the call, or pushed. */
static uint64_t entry_external(struct cap_thread *t, const struct cap_frame *f,
			       const struct core_subscriber *e)
{
	const struct core_subscribers *asked =
		f ? atomic_load_explicit(&f->callbacks, memory_order_relaxed) : NULL;
	size_t at = f ? (size_t)(f - t->frames) : 0;

	for (uint32_t i = 0; asked && asked->requests && i < asked->count; i++)
		if (asked->entries[i].request && asked->entries[i].context == e->context &&
		    t->words && t->words[at].room > i)
			return t->words[at].words[i];
	return core_external_top(t, e->context);
}

/* Of contexts that were stopped since the call began; what they skip nobody looks at. */
static void ask_resting(struct cap_thread *t, const struct cap_op *op, const struct cap_subject *s,
			struct cap_submission *o)
{
	const struct core_subscribers *filters =
		atomic_load_explicit(&op->resting_filters, memory_order_acquire);
	bool skip[filters ? filters->count + 1 : 1];

	if (filters)
		ask_filters(t, filters, op, s, o, skip);
}

/* All in one piece of memory: it is kept whole or not at all. NULL: there is none. */
static struct core_submission *more_new(struct cap_thread *t, struct cap_frame *f,
					const struct cap_op *op, const struct cap_subject *subject,
					const struct core_subscribers *subscribers,
					struct cap_submission *o)
{
	uint32_t count = subscribers ? subscribers->count : 0;
	uint64_t externals[CAP_BUFFERS] = {0};
	bool any = externals_of(t, f, o->buffers, externals), skip[count + 1];
	struct core_submission *m;
	size_t bytes = sizeof(*m) + count * sizeof(m->entries[0]);

	m = calloc(1, bytes + (any ? sizeof(externals) : 0));
	if (!m)
		return NULL;
	if (any) {
		m->buffer_external = (uint64_t *)((uint8_t *)m + bytes);
		memcpy(m->buffer_external, externals, sizeof(externals));
	}
	atomic_init(&m->holders, 1);
	memset(skip, 0, sizeof(skip));
	if (subscribers && subscribers->filters)
		ask_filters(t, subscribers, op, subject, o, skip);
	ask_resting(t, op, subject, o);
	for (uint32_t i = 0; i < count; i++) {
		m->entries[i].skip = skip[i];
		m->entries[i].external = entry_external(t, f, &subscribers->entries[i]);
	}
	if (subscribers && subscribers->callbacks) {
		m->subscribers = subscribers;
		core_subscribers_hold(subscribers);
	}
	m->retire = retire_get(f);
	return m;
}

struct core_submission *core_submission_of(const struct core_subscribers *subscribers)
{
	struct core_submission *m =
		subscribers ? calloc(1, sizeof(*m) + subscribers->count * sizeof(m->entries[0]))
			    : NULL;

	if (!m)
		return NULL;
	atomic_init(&m->holders, 1);
	m->subscribers = subscribers;
	core_subscribers_hold(subscribers);
	return m;
}

/* Nothing that the rest of the work would need. */
static bool more_empty(const struct core_submission *m, const struct cap_submission *o)
{
	return !o->buffers && !m->subscribers;
}

void cap_submission_end_slow(struct cap_submission *o)
{
	struct core_submission *m = o->more;
	int saved = errno;

	o->more = NULL;
	kymo_assert(atomic_load(&m->holders));
	if (atomic_fetch_sub_explicit(&m->holders, 1, memory_order_acq_rel) != 1)
		return;
	if (m->subscribers)
		core_subscribers_release(m->subscribers);
	if (m->retire)
		retire_let_go(m->retire);
	free(m);
	errno = saved;
}

void cap_submission_share_slow(const struct cap_submission *o)
{
	kymo_assert(atomic_load(&o->more->holders)); /* by one of its holders */
	atomic_fetch_add_explicit(&o->more->holders, 1, memory_order_relaxed);
}

/* One record of each buffer, for want of memory. */
static void lose(struct cap_thread *t, uint64_t buffers)
{
	for (uint64_t left = buffers; left; left &= left - 1) {
		struct core_buffer *b = &core_buffers[__builtin_ctzll(left)];

		if (!b->ready ||
		    atomic_load_explicit(&t->paused, memory_order_relaxed) >> b->index & 1)
			continue;
		atomic_fetch_add_explicit(&t->rings[b->index].lost, 1, memory_order_relaxed);
		core_pool_lose(b->pool, 1, true);
	}
}

/* Without what is to be kept of it work is not recorded: filters and external ids count. */
static __attribute__((noinline, cold)) bool take_more(struct cap_thread *t, struct cap_frame *f,
						      const struct cap_op *op,
						      const struct cap_subject *subject,
						      const struct core_subscribers *subscribers,
						      struct cap_submission *o)
{
	int saved = errno;

	o->more = more_new(t, f, op, subject, subscribers, o);
	if (!o->more) {
		lose(t, o->buffers);
		o->buffers = 0;
	} else if (more_empty(o->more, o)) {
		cap_submission_end_slow(o);
	}
	errno = saved;
	return o->more || o->buffers;
}

/* Buffers that the work goes into. A child finds the frame of a call that its parent was in wiped: it has begun nowhere. */
static uint64_t buffers_of(const struct cap_thread *t, const struct cap_frame *f,
			   const struct cap_op *op)
{
	uint64_t buffers = atomic_load_explicit(&op->buffers, memory_order_acquire);

	if (f && f->id)
		buffers = core_call_buffers(f, core_op_wanted(op));
	return buffers & ~atomic_load_explicit(&t->paused, memory_order_relaxed);
}

bool cap_submission_take(struct cap_submission *o, const struct cap_frame *call,
			 const struct cap_op *op, const struct cap_subject *subject)
{
	struct cap_frame *f = (struct cap_frame *)(uintptr_t)call;
	struct cap_thread *t = cap_thread_current;
	const struct core_subscribers *subscribers;
	bool wanted = true;

	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC)) {
		t = cap_thread_attach();
		if (!t)
			return false;
	}
	cap_read_lock(t);
	o->epoch = atomic_load_explicit(&core_epoch, memory_order_acquire);
	o->buffers = buffers_of(t, f, op);
	subscribers = atomic_load_explicit(&op->callbacks, memory_order_acquire);
	o->more = NULL;
	o->call = f && (atomic_load_explicit(&f->callbacks, memory_order_relaxed) ||
			atomic_load_explicit(&f->buffers, memory_order_relaxed))
			  ? f->id
			  : 0;
	o->scope = f ? f->scope : t->scope;
	if (!o->buffers && !subscribers)
		wanted = false;
	else if (cap_unlikely(subscribers ||
			      atomic_load_explicit(&op->resting_filters, memory_order_relaxed) ||
			      (f && f->retire > CORE_RETIRE_SAMPLED) ||
			      atomic_load_explicit(&t->externals, memory_order_relaxed) ||
			      (f && atomic_load_explicit(&f->callbacks, memory_order_relaxed))))
		wanted = take_more(t, f, op, subject, subscribers, o);
	cap_read_unlock(t);
	return wanted;
}

/* ---- records of activities ---- */

/* The buffers of the mask that were there when the submission was taken, and still are. */
static uint64_t still_open(uint64_t buffers, uint32_t epoch)
{
	buffers &= atomic_load_explicit(&core_buffers_open, memory_order_acquire);
	if (cap_likely(epoch == atomic_load_explicit(&core_epoch, memory_order_acquire)))
		return buffers;
	for (uint64_t left = buffers; left; left &= left - 1) {
		unsigned b = (unsigned)__builtin_ctzll(left);

		if (core_buffers[b].born > epoch)
			buffers &= ~(1ull << b);
	}
	return buffers;
}

bool cap_submission_over_slow(const struct cap_submission *o)
{
	return !still_open(o->buffers, o->epoch);
}

static void lost(const struct cap_op *op, uint64_t count, bool sometime)
{
	struct cap_thread *t = cap_thread_current;
	uint64_t left, paused;

	if (!t || t->magic != CAP_THREAD_MAGIC)
		t = cap_thread_attach();
	if (!t || count == 0)
		return;
	cap_read_lock(t);
	paused = atomic_load_explicit(&t->paused, memory_order_relaxed);
	left = atomic_load_explicit(&op->buffers, memory_order_acquire);
	if (sometime)
		left |= atomic_load_explicit(&op->paused, memory_order_acquire);
	else
		left &= ~paused;
	for (; left; left &= left - 1) {
		struct core_buffer *b = &core_buffers[__builtin_ctzll(left)];
		struct wire_ring *r = &t->rings[b->index];

		if (!b->ready)
			continue;
		atomic_fetch_add_explicit(&b->pool->shm->lost_records, count, memory_order_release);
		atomic_fetch_add_explicit(&b->pool->shm->dropped_records, count,
					  memory_order_release);
		/* Said at the head of a chunk. Without one to be had, at that of the next. */
		core_ring_close(b, r);
		atomic_fetch_add_explicit(&r->lost, count, memory_order_relaxed);
		core_ring_open(t, b, r, WIRE_CHUNK_RECORDS);
		if (paused >> b->index & 1)
			core_ring_hide(r);
	}
	cap_read_unlock(t);
}

void cap_lost(const struct cap_op *op, uint64_t count)
{
	lost(op, count, false);
}

void cap_lost_sometime(const struct cap_op *op, uint64_t count)
{
	lost(op, count, true);
}

/* A place for a record that goes into no buffer. */
static struct wire_ring *scratch_ring(struct cap_thread *t)
{
	struct wire_ring *r = t->scratch;

	if (!r) {
		r = calloc(1, sizeof(*r) + WIRE_RECORD_MAX + WIRE_SLACK);
		if (!r)
			return NULL;
		t->scratch = r;
	}
	r->cur = (uint8_t *)(r + 1);
	return r;
}

static struct wire_ring *ring_for(struct cap_thread *t, struct cap_frame *f)
{
	uint64_t buffers = atomic_load_explicit(&f->buffers, memory_order_relaxed);
	struct wire_ring *r = NULL;

	if (cap_likely(buffers && !(buffers & (buffers - 1))))
		r = cap_ring(t, buffers);
	else if (buffers)
		r = core_ring_many(t, f, false);
	if (cap_likely(r != NULL))
		return r;
	atomic_store_explicit(&f->buffers, 0, memory_order_relaxed);
	return atomic_load_explicit(&f->callbacks, memory_order_relaxed) ? scratch_ring(t) : NULL;
}

/* What was submitted before the thread paused is recorded all the same: it is not done now. */
static void late_begin(struct cap_thread *t, uint64_t buffers)
{
	t->late = atomic_load_explicit(&t->paused, memory_order_relaxed) & buffers;
	if (cap_unlikely(t->late != 0))
		atomic_fetch_and_explicit(&t->paused, ~t->late, memory_order_relaxed);
}

static void late_end(struct cap_thread *t)
{
	if (cap_likely(!t->late))
		return;
	atomic_fetch_or_explicit(&t->paused, t->late, memory_order_relaxed);
	for (; t->late; t->late &= t->late - 1)
		core_ring_hide(&t->rings[__builtin_ctzll(t->late)]);
}

/*
 * Where cap_activity_ring() knows none: what tools and other buffers want is noted in the frame. `owned`:
 * the submission ends with the record. The thread reads already, and does not any more where there is none.
 */
static __attribute__((noinline)) struct wire_ring *
ring_for_any(struct cap_thread *t, struct cap_frame *f, struct cap_op *op,
	     const struct cap_submission *submission, bool owned, uint64_t start)
{
	const struct core_subscribers *subscribers = NULL;
	struct wire_ring *r;

	f->submission = submission->more;
	f->owns_submission = owned;
	if (cap_unlikely(submission->more != NULL))
		subscribers = submission->more->subscribers;
	atomic_store_explicit(&f->callbacks, subscribers, memory_order_relaxed);
	atomic_store_explicit(&f->buffers, still_open(submission->buffers, submission->epoch),
			      memory_order_relaxed);
	atomic_store_explicit(&f->op, op, memory_order_relaxed);
	f->parent = 0;
	f->status = 0;
	f->has_status = false;
	f->site = f->stack = 0;
	f->caller = NULL;
	if (!owned)
		late_begin(t, atomic_load_explicit(&f->buffers, memory_order_relaxed));
	r = ring_for(t, f);
	f->plan = cap_plan_of(f);
	if (cap_unlikely(!r)) {
		late_end(t);
		cap_read_unlock(t);
		return NULL;
	}
	if (cap_unlikely(t->next_id >= t->id_limit))
		cap_ids_refill(t);
	if (cap_likely(r->chunk != NULL))
		cap_note_early(r, op, start);
	return r;
}

bool cap_activity_start(struct cap_frame *f, struct wire_enc *e, struct cap_op *op,
			const struct cap_submission *submission, uint64_t start, uint64_t end,
			unsigned fields)
{
	struct cap_thread *t;
	struct wire_event v = {0};
	struct cap_submission own = {.more = NULL};
	const struct cap_submission *s = submission ? submission : &own;
	struct wire_ring *r;

	if (!submission && !cap_submission_take(&own, NULL, op, NULL))
		return false;
	t = cap_thread_current;
	r = cap_activity_ring(t, op, s, start);
	f->ordinary = r != NULL;
	if (cap_unlikely(!r)) {
		t = t && t->magic == CAP_THREAD_MAGIC ? t : cap_thread_attach();
		if (t) { /* from a function that the caller has called, and not one inside: see is_left() */
			cap_read_lock(t);
			r = ring_for_any(t, f, op, s, !submission, start);
		}
	}
	if (cap_unlikely(!r)) {
		cap_submission_end(&own);
		return false;
	}
	v.id = f->id = cap_take_id(t);
	v.start = f->start = start;
	v.end = f->end = end;
	v.scope = f->scope = s->scope;
	if (cap_unlikely(s->more && s->more->buffer_external && r != t->scratch))
		v.external = s->more->buffer_external[r - t->rings];
	v.op = op->wire;
	wire_begin(e, r, &v, fields);
	if (cap_unlikely(own.more && !f->submission->subscribers)) {
		cap_submission_end(&own);
		f->submission = NULL;
	}
	return true;
}

/* False: this is a child, forked by a tool; nothing of the thread's state is left. */
static bool call_back(struct cap_frame *f, struct wire_enc *e)
{
	const struct core_subscribers *subscribers =
		atomic_load_explicit(&f->callbacks, memory_order_relaxed);
	struct cap_submission own = {.more = f->submission};
	struct wire_record w = {0};
	uint64_t words[subscribers->count];
	bool goes_on;

	wire_peek(e, &w);
	f->id = core_activity_correlation(&core_domains[f->op->domain].desc->ops[f->op->number],
					  &w);
	goes_on = core_callbacks(f, NULL, CAP_COMPLETE, words, &w, f->submission);
	if (f->owns_submission && own.more)
		cap_submission_end_slow(&own);
	return goes_on;
}

void cap_activity_commit_any(struct cap_frame *f, struct wire_enc *e)
{
	if (cap_likely(atomic_load_explicit(&f->buffers, memory_order_relaxed) != 0))
		cap_activity_put(f, e);
	late_end(cap_thread_current);
	if (cap_unlikely(atomic_load_explicit(&f->callbacks, memory_order_relaxed) != NULL) &&
	    !call_back(f, e))
		return;
	cap_read_unlock(cap_thread_current);
}
