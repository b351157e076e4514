/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs and the calls they stand for: what is done at every call. Compiled for general registers alone (CMakeLists.txt);
 * what is out of the ordinary is in returns_slow.c.
 */
#include "capture/function/returns.h"
#include "core/tally/count.h"

/* ---- calls: function_begin() and function_end() where nothing is out of the ordinary ---- */

/* False: nothing was done. */
static inline bool begin(struct function_call *c, struct cap_op *op, const void *site,
			 const void *sp)
{
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *f;

	if (!function_straight(t, op, site, sp))
		return false;
	f = cap_enter_straight(op, site, sp);
	if (cap_unlikely(!f))
		return false;
	c->op = op;
	c->frame = f;
	c->id = f->id;
	c->start = 0;
	c->inside = 0;
	c->records = (uint32_t)atomic_load_explicit(&t->records, memory_order_relaxed);
	return true;
}

static inline void count(struct wire_tally *y, uint64_t duration, uint64_t inside)
{
	y->count++;
	y->self += duration - inside;
	cap_tally_time(y, duration);
}

static inline void record_straight(struct cap_thread *t, struct cap_frame *f)
{
	struct wire_enc e;

	if (cap_record_straight(t, f, &e, 0))
		cap_commit_straight(t, &e);
}

/*
 * A record has no room: the thread has written none, as where all calls are short. When it ended if it is counted all the same, which
 * then is its end; 0: it has to be recorded.
 */
static inline uint64_t ended_short(const struct cap_thread *t, const struct function_call *c)
{
	uint64_t now = tick_counter();

	return now - c->frame->start < function_least &&
			       (uint32_t)atomic_load_explicit(&t->records, memory_order_relaxed) ==
				       c->records
		       ? now
		       : 0;
}

/* Where its record or its count goes is there. */
static inline bool end(struct function_call *c, struct function_call *around)
{
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *f = c->frame;
	struct wire_tally *y;
	uint64_t duration, ended = 0;
	bool counted;

	if (cap_unlikely(!f || !t || !cap_frame_lives(t, f) || f->id != c->id || f->end ||
			 f->retire || !(f->plan & CAP_PLAN_STRAIGHT) || t->gate != CAP_GATE_OPEN ||
			 atomic_load_explicit(&t->depth, memory_order_relaxed) !=
				 (uint32_t)(f - t->frames) + 1))
		return false;
	y = t->tallies ? t->tallies[c->op->wire] : NULL;
	counted = f->plan & CAP_PLAN_TALLY || function_least;
	if (cap_unlikely((counted && (!y || cap_tally_over)) ||
			 t->paused >> (f->plan & CAP_PLAN_BUFFER) & 1))
		return false;
	if (cap_unlikely(!(f->plan & CAP_PLAN_TALLY) &&
			 !cap_room(&t->rings[f->plan & CAP_PLAN_BUFFER])) &&
	    !(ended = ended_short(t, c)))
		return false;
	cap_leave_straight(f);
	if (cap_unlikely(ended != 0))
		f->end = ended;
	duration = f->end - f->start;
	if (cap_unlikely(counted) &&
	    (f->plan & CAP_PLAN_TALLY ||
	     (duration < function_least &&
	      (uint32_t)atomic_load_explicit(&t->records, memory_order_relaxed) == c->records)))
		count(y, duration, c->inside);
	else
		record_straight(t, f);
	cap_done_straight(t, f);
	if (around)
		around->inside += duration;
	return true;
}

/* ---- stubs ---- */

enum function_todo function_enter_fast(struct cap_op *op, const void **slot)
{
	struct function_thread *s = &function_thread;
	const void *original = *slot;
	uint32_t at = s->free;

	if (cap_unlikely(s->busy || !at || function_is_return(original) ||
			 (s->open && function_return_table[s->open].slot <= slot)))
		return FUNCTION_SLOW;
	function_take(s, at);
	if (cap_unlikely(!begin(&function_return_table[at].call, op, original, slot + 1))) {
		function_give(s, at);
		return FUNCTION_SLOW;
	}
	function_open(s, at, slot, function_return_table[at].call.frame->start);
	return FUNCTION_DONE;
}

enum function_todo function_hook_fast(uintptr_t address, const void **slot)
{
	struct cap_op *op;

	if (cap_unlikely(!function_returns_on))
		return FUNCTION_DONE;
	if (cap_unlikely(!function_known(address, &op)))
		return FUNCTION_SLOW;
	return op ? function_enter_fast(op, slot) : FUNCTION_DONE;
}

const void *function_leave_fast(const void **slot)
{
	struct function_thread *s = &function_thread;
	uint32_t at = function_return_of(*slot);
	struct function_return *r = &function_return_table[at];
	const void *original = r->original;

	if (cap_unlikely(s->open != at || r->slot != slot) ||
	    cap_unlikely(!end(&r->call, function_around(r))))
		return NULL;
	function_close(s, at);
	return original;
}
