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
#include "record/fields.h"

struct unwind_registers {
	uint64_t pc, sp, fp, bx;
};

#if defined(__x86_64__)
/* Of the function that it stands in. */
#define UNWIND_HERE(r)                                                                             \
	__asm__ volatile("lea 0(%%rip), %0\n mov %%rsp, %1\n mov %%rbp, %2\n mov %%rbx, %3"        \
			 : "=r"((r).pc), "=r"((r).sp), "=r"((r).fp), "=r"((r).bx))
#endif

/* A stack as it was; `size` bytes from the stack pointer on. */
struct unwind_copy {
	const void *bytes;
	uint64_t size;
	bool more;     /* there was more of it than was copied */
	uint64_t tick; /* when it was copied */
};

/* Once, before Kymo has a thread: takes the loader's lock, which the thread that makes them may have. */
void unwind_prepare(void);
/* Looks at what is loaded; by any thread that holds no lock of Kymo's, but in no signal handler. */
void unwind_look(void);
void unwind_fork_child(void);

/*
 * Addresses of the stack from `from` on into `out`: the program counter, then return addresses; *end: why it has no more (model/enums.rec). `known_end`: the stack up to
 * there is memory that stays while this runs; 0: it is not known how far it reaches. How many there are, at most `most`.
 */
uint32_t unwind_stack(const struct unwind_registers *from, uint64_t known_end, uint64_t *out,
		      uint32_t most, enum stack_end *end);
/* The same of a stack that was copied; nothing else of the thread's memory is read. */
uint32_t unwind_copied(const struct unwind_registers *from, const struct unwind_copy *stack,
		       uint64_t *out, uint32_t most, enum stack_end *end);

/*
 * Return addresses from `start` on, `bytes` of them, stand for others: that at start + 8 * n for the one that lies `stride` * n bytes
 * behind `originals` since since[n], in ticks, which is written before it. Once, before any of them is on a stack.
 */
struct unwind_stubs {
	uint64_t start, bytes, stride;
	const void *originals;
	const uint64_t *since;
};

void unwind_stubs(const struct unwind_stubs *s);

/* There are such: a stack can be told at the moment alone, as they stand for others later. */
bool unwind_has_stubs(void);

/* What the return address stands for: itself, if it is none of those. */
uint64_t unwind_original(uint64_t pc);

/*
 * Who has copied instructions puts the place where a thread would stand among the original ones in place of that in the copy;
 * others stay as they are. Called in signal handlers: it takes no lock. Once.
 */
void unwind_copies(void (*original)(struct unwind_registers *r));

/* Tables of the object whose code `pc` is. False: of none. */
bool unwind_object(uint64_t pc, struct cfi_tables *out);

/* ---- between the files of the room ---- */

/* Changes when an address may have become another object's. */
uint32_t unwind_generation(void);

#endif
