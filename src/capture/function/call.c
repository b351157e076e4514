/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a function, from where it is entered to where it returns: a record, or a count where it is shorter than is
 * wanted or nested too deep. The same where nothing is out of the ordinary: returns.c.
 */
#include "capture/function/function.h"
#include "core/tally/job.h"

static _Atomic uint64_t passed;

void function_passed(void)
{
	atomic_fetch_add_explicit(&passed, 1, memory_order_relaxed);
}

void function_tell(uint64_t deadline)
{
	const uint64_t n = atomic_exchange(&passed, 0);

	if (n)
		cap_count_untraced_slow(
			"function", "calls in signal handlers that came while Kymo recorded", n);
}

static bool too_deep(struct cap_thread *t, const void *sp)
{
	uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

	if (depth < FUNCTION_FRAMES)
		return false;
	if ((const char *)t->frames[depth - 1].sp <= (const char *)sp)
		cap_unwind(t, sp);
	return atomic_load_explicit(&t->depth, memory_order_relaxed) >= FUNCTION_FRAMES;
}

void function_begin(struct function_call *c, struct cap_op *op, const void *site, const void *sp)
{
	struct cap_thread *t = cap_thread_current;

	c->op = op;
	c->id = 0;
	c->start = 0;
	c->inside = 0;
	c->frame = NULL;
	if (cap_unlikely(t && t->magic == CAP_THREAD_MAGIC && cap_is_recording(t, sp))) {
		function_passed();
		return;
	}
	if (cap_unlikely(t && t->magic == CAP_THREAD_MAGIC && !t->guard && too_deep(t, sp))) {
		c->start = tick_now();
		return;
	}
	c->frame = cap_enter_at(op, site, sp);
	if (!c->frame) {
		if (t && t->magic == CAP_THREAD_MAGIC && t->guard && cap_in_handler(sp))
			function_passed();
		return;
	}
	c->id = c->frame->id;
	t = cap_thread_current;
	c->records = (uint32_t)atomic_load_explicit(&t->records, memory_order_relaxed);
	if (cap_unlikely(atomic_load_explicit(&c->frame->callbacks, memory_order_relaxed) != NULL))
		cap_callbacks(c->frame, NULL, CAP_ENTER);
}

static void record(struct cap_thread *t, struct function_call *c, uint64_t duration)
{
	struct cap_frame *f = c->frame;
	struct wire_enc e;

	if (duration < function_least &&
	    (uint32_t)atomic_load_explicit(&t->records, memory_order_relaxed) == c->records) {
		cap_count_call(c->op, duration, duration - c->inside);
		return;
	}
	if (f->plan & CAP_PLAN_TALLY)
		cap_count_call(c->op, duration, duration - c->inside);
	else if (cap_args(f) == 0)
		cap_record_bare(f);
	else if (cap_record(f, &e, 0))
		cap_commit(f, &e);
}

/* The frames that it left behind are closed before; its own may be among those that somebody else has closed. */
static uint64_t leave(struct function_call *c)
{
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *f = c->frame;
	uint64_t duration;

	if (cap_unlikely(!t || !cap_frame_lives(t, f) || f->id != c->id || f->end ||
			 atomic_load_explicit(&t->depth, memory_order_relaxed) <=
				 (uint32_t)(f - t->frames)))
		return 0;
	cap_left_inside(t, f);
	cap_leave(f);
	duration = f->end - f->start;
	if (cap_unlikely(atomic_load_explicit(&f->callbacks, memory_order_relaxed) != NULL))
		cap_callbacks(f, NULL, CAP_EXIT);
	if (atomic_load_explicit(&f->buffers, memory_order_relaxed))
		record(t, c, duration);
	cap_done(f);
	return duration;
}

void function_end(struct function_call *c, struct function_call *around)
{
	uint64_t duration = 0;

	if (cap_likely(c->frame != NULL)) {
		duration = leave(c);
	} else if (c->start) {
		duration = tick_now() - c->start;
		cap_count_call(c->op, duration, duration - c->inside);
	}
	if (around)
		around->inside += duration;
}
