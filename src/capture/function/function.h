/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the program: which are traced, by a plan (wire/plan.h) that the command line has made, and how a call of one
 * becomes a record. A function is an op of domain "function"; its call is an ordinary call, nested with those of other domains.
 *
 * Invariants. Which functions are chosen never changes while the program runs: what was not counted where it was entered is
 * not looked for where it returns. Nothing here changes errno, a signal mask, or a register that the program relies on:
 * what the assembly calls uses general registers alone, or all others are saved around it (entry.S).
 */
#ifndef CAPTURE_FUNCTION_FUNCTION_H
#define CAPTURE_FUNCTION_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/tool.h>

#include "core/capture.h"
#include "core/process/handler.h"
#include "wire/plan.h"

/* ---- for libkymo-function.so ---- */

/* Reads the plan and makes the domain known, once. False: there is nothing to trace. Any thread. Keeps errno, as all of these. */
KYMO_EXPORT bool kymo_function_start(void);
/*
 * The compiler's hooks, with the meaning of __cyg_profile_func_enter(): `function` begins or ends, `site` is where it returns to.
 * `sp` is cap_sp() of the hook, `by` where the hook returns to.
 */
KYMO_EXPORT void kymo_function_enter(const void *function, const void *site, const void *sp);
KYMO_EXPORT void kymo_function_leave(const void *function, const void *site, const void *sp,
				     const void *by);
/* The address is that of a stub which stands for a return address; see returns.h. */
KYMO_EXPORT bool kymo_function_stub(const void *address);
/* An object was unloaded: what its addresses were they are no longer. */
KYMO_EXPORT void kymo_function_unloaded(void);
/*
 * Around dlopen(), called for `caller`. False: nothing is awaited of it, or another one than the caller must not call it in its place; then
 * there is no end. `threads`: that the calling thread has started meanwhile.
 */
KYMO_EXPORT bool kymo_function_open_begin(const char *file, const void *caller);
KYMO_EXPORT void kymo_function_open_end(unsigned threads);

/* ---- the plan, and what is loaded of it (modules.c) ---- */

/* Maps the plan. False: there is none, or it is damaged (noted). */
bool function_plan_open(struct plan *out);
/* Adds the plans of files that were instrumented and are loaded (instrumented.c) to it, if it was opened. False: it is none. */
bool function_plan_join(struct plan *out, bool planned);
/*
 * The op of the chosen function that the address is in; NULL: it is in none. Any thread and any time; the first time
 * that an address is asked for it takes the loader's lock of the list of objects.
 */
struct cap_op *function_find(uintptr_t address);

/* Answers that were given, by address; read without a lock. */
struct function_answer {
	_Atomic uintptr_t address; /* 0: free; written last */
	struct cap_op *op;
};

struct function_answers {
	uint32_t bits, count;
	struct function_answer at[];
};

extern struct function_answers *_Atomic function_answers;

static inline uint32_t function_answer_place(const struct function_answers *a, uintptr_t address)
{
	return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> (64 - a->bits));
}

/* function_find() has been asked before: its answer. */
static inline bool function_known(uintptr_t address, struct cap_op **op)
{
	const struct function_answers *a =
		atomic_load_explicit(&function_answers, memory_order_acquire);
	uint32_t i = a ? function_answer_place(a, address) : 0;
	uintptr_t there;

	while (a && (there = atomic_load_explicit(&a->at[i].address, memory_order_acquire)) != 0) {
		if (there == address) {
			*op = a->at[i].op;
			return true;
		}
		i = (i + 1) & ((1u << a->bits) - 1);
	}
	return false;
}

/* Kept answers are thrown away. */
void function_forget(void);

/* Modules of the plan that are loaded now. */
void function_modules_each(void (*fn)(uintptr_t bias, const struct plan_module *m));
void function_modules_fork_child(void);
void function_start_fork_child(void);

/* ---- ops (describe.c) ---- */

extern struct plan function_plan;
extern struct cap_op *function_ops; /* as many as the plan has functions, in its order */
extern uint64_t function_least;     /* ticks; a shorter call is counted, not recorded */

bool function_describe(void);

/* ---- calls (call.c) ---- */

/* What functions leave are for calls of other domains inside of them. */
/* A call that a signal's handler made runs untraced, because it came while Kymo was at work on its thread. */
void function_passed(void);
void function_tell(uint64_t deadline); /* the domain's flush */

#define FUNCTION_FRAMES (CAP_FRAMES - 32u)

/* A call that is going on. */
struct function_call {
	struct cap_op *op;
	struct cap_frame *frame; /* NULL: it is counted, not recorded */
	uint64_t id;             /* of the frame; the place may be another call's by now */
	uint64_t start;          /* ticks, without a frame; 0: not even counted */
	uint64_t inside;         /* ticks in calls inside of it */
	uint32_t records;        /* of the thread, when it began */
	uint32_t next;           /* for whoever keeps them; see returns.h */
};

/* The call may go on, or take on, the straight path from here: nothing that is called uses other than general registers. */
static inline bool function_straight(const struct cap_thread *t, const struct cap_op *op,
				     const void *site, const void *sp)
{
	uint32_t depth;

	if (!t || t->gate != CAP_GATE_OPEN || t->next_id >= t->id_limit ||
	    !(atomic_load_explicit(&op->plan, memory_order_relaxed) & CAP_PLAN_STRAIGHT) ||
	    t->sites[cap_site_slot((uintptr_t)site)].address != (uintptr_t)site)
		return false;
	if (cap_is_recording(t, sp))
		return false;
	depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
	return !depth || (depth < FUNCTION_FRAMES &&
			  (const char *)t->frames[depth - 1].sp > (const char *)sp);
}

/* Begins a call that returns to `site`; `sp`: cap_sp() of what stands for it. */
void function_begin(struct function_call *c, struct cap_op *op, const void *site, const void *sp);
/* It returns. `around`: the call around it, or NULL. */
void function_end(struct function_call *c, struct function_call *around);

#endif
