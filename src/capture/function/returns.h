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
	const void **slot;    /* where it was; NULL: another thread has seen it return */
	struct function_call
		call; /* its `next`: the one before it, or the next free one; 0: none */
};
_Static_assert(sizeof(struct function_return) == 64, "entry.S reckons with it");

/* What the assembly leaves to be done where all registers are saved. */
enum function_todo { FUNCTION_DONE, FUNCTION_SLOW };

extern const char function_returns[], function_returns_end[]; /* the stubs */
extern struct function_return function_return_table[FUNCTION_RETURNS];

/* Called by entry.S: `slot` has the return address. The fast ones use general registers alone. */
enum function_todo function_enter_fast(struct cap_op *op, const void **slot);
enum function_todo function_leave_fast(const void **slot);
void function_enter_slow(struct cap_op *op, const void **slot);
/* Puts the original return address into the slot, as function_leave_fast() does when it is done. */
void function_leave_slow(const void **slot);
/* The same of a function that has called a hook of the compiler's, which returns to `address`. */
enum function_todo function_hook_fast(uintptr_t address, const void **slot);
void function_hook_slow(uintptr_t address, const void **slot);

/* Where programs enter: patched functions, and compilers' calls of mcount() and __fentry__(). */
extern const char function_entry_patched[];

/* Whether return addresses may be replaced here: no shadow stack. `why` otherwise. */
bool function_returns_usable(const char **why);
extern bool function_returns_on; /* it was asked, and they may */

/* The address that `address` stands for: itself, if it is no stub's. */
const void *function_original(const void *address);
#endif
#endif
