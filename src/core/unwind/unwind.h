/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of the process's own threads, by call frame information where code has it and by frame pointers where it has
 * none. Rules that were needed once are kept by address.
 *
 * Invariants: unwind_stack() may be called in a signal handler: it takes no lock, allocates nothing, and reads nothing that may
 * be gone but with care (base/careful.h). The list of objects is made by unwind_look() and published by its number; who
 * reads a list that is being replaced notices, and finds nothing.
 */
#ifndef CORE_UNWIND_H
#define CORE_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cfi.h"
#include "wire/defs.h"

/* Why a stack ends where it does; the numbers are those of definitions (wire/defs.h). */
enum unwind_end {
	UNWIND_OUTERMOST = STACK_OUTERMOST, /* the first function of the process or thread */
	UNWIND_DEPTH = STACK_DEPTH,         /* there was room for no more */
	UNWIND_CUT = STACK_CUT,             /* it goes on behind what was copied of it */
	UNWIND_NO_RULE =
		STACK_NO_RULE, /* code that describes no frame, and none by frame pointers */
	UNWIND_NO_OBJECT = STACK_NO_OBJECT, /* code of no object: generated, or no code */
	UNWIND_MEMORY = STACK_MEMORY        /* a frame that cannot be one */
};

struct unwind_registers {
	uint64_t pc, sp, fp, bx;
};

/* A stack as it was; `size` bytes from the stack pointer on. */
struct unwind_copy {
	const void *bytes;
	uint64_t size;
	bool more; /* there was more of it than was copied */
};

/* Looks at what is loaded; by any thread that holds no lock of Kymo's, but in no signal handler. */
void unwind_look(void);
void unwind_fork_child(void);

/*
 * Addresses of the stack from `from` on into `out`: the program counter, then return addresses. `known_end`: the stack up to
 * there is memory that stays while this runs; 0: it is not known how far it reaches. How many there are, at most `most`.
 */
uint32_t unwind_stack(const struct unwind_registers *from, uint64_t known_end, uint64_t *out,
		      uint32_t most, enum unwind_end *end);
/* The same of a stack that was copied; nothing else of the thread's memory is read. */
uint32_t unwind_copied(const struct unwind_registers *from, const struct unwind_copy *stack,
		       uint64_t *out, uint32_t most, enum unwind_end *end);

/* ---- between the files of the room ---- */

/* Tables of the object whose code `pc` is. False: of none. */
bool unwind_object(uint64_t pc, struct cfi_tables *out);
/* Changes when an address may have become another object's. */
uint32_t unwind_generation(void);

#endif
