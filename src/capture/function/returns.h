/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose return is seen by replacing the return address on the stack: with that of a stub, one for each call that is
 * open. The stub's call frame information says where the original one is, so that whoever unwinds the stack (exceptions,
 * cancellation, backtrace(), debuggers) finds what was there.
 *
 * Invariants:
 *  - A stub is used again only when its call has returned, or when the place on the stack has something else in it:
 *    a call that seems to have been left by longjmp may be one of a coroutine.
 *  - The calls that a thread has open are linked from the last to the first; all other stubs of the thread are free, or in
 *    doubt. Only the thread itself changes them, a signal's handler on it included, which leaves them as it found them.
 *  - When a thread ends all of its stubs are free, but for those of calls on other stacks, which whoever returns through
 *    them frees.
 */
#ifndef CAPTURE_FUNCTION_RETURNS_H
#define CAPTURE_FUNCTION_RETURNS_H

/* Also read by entry.S. Stubs are 8 bytes, places 64. */
#define FUNCTION_RETURNS 4096

#ifndef __ASSEMBLER__
#include <stddef.h>

#include "capture/function/function.h"

/* What a stub stands for. */
struct function_return {
	const void *original; /* return address; first: the unwind information reads it */
	const void *
		*slot; /* where it was; NULL: another thread has seen it return; FUNCTION_NOBODYS */
	struct function_call
		call; /* its `next`: the one before it, or the next free one; 0: none */
};
_Static_assert(sizeof(struct function_return) == 64, "entry.S reckons with it");

/* The `slot` of a call whose thread has ended, and which another one may still return from: it gives the stub back. */
#define FUNCTION_NOBODYS ((const void **)1)

/* What the assembly leaves to be done where all registers are saved. */
enum function_todo { FUNCTION_DONE, FUNCTION_SLOW };

extern const char function_returns[], function_returns_end[]; /* the stubs */
extern struct function_return function_return_table[FUNCTION_RETURNS];
/*
 * Ticks since when each has this `original`, written before it: stacks that the kernel copied are read later. Calls from one place
 * change neither.
 */
extern uint64_t function_return_since[FUNCTION_RETURNS];

/* Called by entry.S: `slot` has the return address. The fast ones use general registers alone. */
enum function_todo function_enter_fast(struct cap_op *op, const void **slot);
void function_enter_slow(struct cap_op *op, const void **slot);
/* The original return address, for the slot; not written there by them, for unwinders who find them on the stack. NULL: FUNCTION_SLOW. */
const void *function_leave_fast(const void **slot);
const void *function_leave_slow(const void **slot);
/* The same of a function that has called a hook of the compiler's, which returns to `address`. */
enum function_todo function_hook_fast(uintptr_t address, const void **slot);
void function_hook_slow(uintptr_t address, const void **slot);

/* Where programs enter: functions that are patched in memory, and in their file. */
extern const char function_entry_patched[], function_entry_instrumented[];

/* Whether return addresses may be replaced here: no shadow stack. `why` otherwise. */
bool function_returns_usable(const char **why);
extern bool function_returns_on; /* it was asked, and they may */

/* ---- what a thread has of stubs; for returns.c and returns_slow.c ---- */

/* Numbers of stubs, 0: none. */
struct function_thread {
	uint32_t open;  /* the last call that was entered and has not returned */
	uint32_t free;  /* the first of those that are free */
	uint32_t doubt; /* of those that seem to have been left, but lie on the stack */
	uint32_t busy;  /* nothing is traced: the slow path is at work, or the thread ends */
	uint32_t count; /* of all of these */
	const void **busy_slot; /* of the call that made it so: handlers' are below */
};

extern _Thread_local struct function_thread function_thread
	__attribute__((tls_model("initial-exec")));

static inline bool function_is_return(const void *address)
{
	return (uintptr_t)address - (uintptr_t)function_returns <
	       (uintptr_t)function_returns_end - (uintptr_t)function_returns;
}

static inline uint32_t function_return_of(const void *address)
{
	return (uint32_t)(((uintptr_t)address - (uintptr_t)function_returns) / 8);
}

static inline const void *function_return_stub(uint32_t at)
{
	return function_returns + (size_t)at * 8;
}

static inline struct function_call *function_around(const struct function_return *r)
{
	return r->call.next ? &function_return_table[r->call.next].call : NULL;
}

/*
 * The first free one, `at`, is somebody's. What a signal's handler does in between is undone when it goes on: it takes and
 * gives back the same.
 */
static inline void function_take(struct function_thread *s, uint32_t at)
{
	s->free = function_return_table[at].call.next;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void function_give(struct function_thread *s, uint32_t at)
{
	function_return_table[at].slot = NULL;
	function_return_table[at].call.next = s->free;
	atomic_signal_fence(memory_order_seq_cst);
	s->free = at;
}

/* The call of `at`, which was taken, has begun at `tick`. */
static inline void function_open(struct function_thread *s, uint32_t at, const void **slot,
				 uint64_t tick)
{
	struct function_return *r = &function_return_table[at];

	if (r->original != *slot) {
		__atomic_store_n(&function_return_since[at], tick, __ATOMIC_RELAXED);
		__atomic_store_n(&r->original, *slot, __ATOMIC_RELEASE);
	}
	r->slot = slot;
	r->call.next = s->open;
	atomic_signal_fence(memory_order_seq_cst);
	s->open = at;
	*slot = function_return_stub(at);
}

/* The last call has ended. */
static inline void function_close(struct function_thread *s, uint32_t at)
{
	s->open = function_return_table[at].call.next;
	atomic_signal_fence(memory_order_seq_cst);
	function_give(s, at);
}

/* The address that `address` stands for: itself, if it is no stub's. */
const void *function_original(const void *address);
#endif
#endif
