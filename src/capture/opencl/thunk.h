/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thunks: what the loader and the program hold instead of a function. A thunk jumps through its
 * slot and leaves stack, arguments and return address as they are, whatever the optimisation
 * level, so that the function behind it sees its real caller. Where the architecture is not known
 * here, the generator's C functions serve.
 */
#ifndef CAPTURE_OPENCL_THUNK_H
#define CAPTURE_OPENCL_THUNK_H

#include "core/capture.h"

/* The assembly below reads `target` at the start of each slot of 32 bytes. */
_Static_assert(offsetof(struct cap_slot, target) == 0, "slot layout");
_Static_assert(sizeof(struct cap_slot) == 32, "slot layout");

#if defined(__x86_64__)
#define OCL_THUNK_JUMP(index) "endbr64\n\tjmp *(ocl_slots + 32 * " #index ")(%rip)\n"
#elif defined(__aarch64__)
#define OCL_THUNK_JUMP(index)                                                                      \
	"hint #34\n\tadrp x16, ocl_slots + 32 * " #index                                           \
	"\n\tldr x16, [x16, #:lo12:ocl_slots + 32 * " #index "]\n\tbr x16\n"
#endif

/* What generated code fills in. */
static inline void ocl_slot_fill(struct cap_slot *s, void *wrapper, unsigned op)
{
	s->wrapper = wrapper;
	s->op = (uint16_t)op;
}

#ifdef OCL_THUNK_JUMP
#define OCL_THUNK_BYTES 16
#define OCL_THUNKS_BEGIN                                                                           \
	extern const char ocl_thunks[] __attribute__((visibility("hidden")));                      \
	__asm__(".pushsection .text.ocl_thunks,\"ax\",%progbits\n\t.balign 16\n"                   \
		"\t.globl ocl_thunks\n\t.hidden ocl_thunks\nocl_thunks:\n\t.popsection\n")

/* One lies behind the other: that of link n is at n * OCL_THUNK_BYTES. */
#define OCL_THUNK(name, index)                                                                     \
	extern const char name[] __attribute__((visibility("hidden")));                            \
	__asm__(".pushsection .text.ocl_thunks,\"ax\",%progbits\n"                                 \
		"\t.balign 16\n\t.globl " #name "\n\t.hidden " #name "\n\t.type " #name            \
		", %function\n" #name                                                              \
		":\n\t.cfi_startproc\n\t" OCL_THUNK_JUMP(index) "\t.cfi_endproc\n\t.size " #name   \
								", . - " #name                     \
								"\n\t.if . - " #name " > 16\n"     \
								"\t.error \"long thunk\"\n"        \
								"\t.endif\n\t.popsection\n")
#endif

#endif
