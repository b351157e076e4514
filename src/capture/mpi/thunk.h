/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thunks of MPI: what a program that was linked to any MPI finds under the name of a function. A
 * thunk jumps where its slot says and leaves registers, stack and return address as they are; so it
 * needs to know nothing of an implementation's types. An empty slot leads to mpi_unbound, which has
 * the door opened and goes on.
 */
#ifndef CAPTURE_MPI_THUNK_H
#define CAPTURE_MPI_THUNK_H

#include "capture/mpi/contract.h"
#include "core/capture.h"

/* The assembly below reads `target` at the start of each slot of 32 bytes. */
_Static_assert(offsetof(struct cap_slot, target) == 0, "slot layout");
_Static_assert(sizeof(struct cap_slot) == 32, "slot layout");

#if defined(__x86_64__)
#define MPI_THUNK_JUMP(index)                                                                      \
	"endbr64\n\tmov (mpi_slots + 32 * " #index ")(%rip), %r11\n\ttest %r11, %r11\n\t"          \
	"jz 1f\n\tjmp *%r11\n1:\tmov $" #index ", %r11d\n\tjmp mpi_unbound\n"
#elif defined(__aarch64__)
#define MPI_THUNK_JUMP(index)                                                                      \
	"hint #34\n\tadrp x16, mpi_slots + 32 * " #index                                           \
	"\n\tldr x16, [x16, #:lo12:mpi_slots + 32 * " #index "]\n\tcbz x16, 1f\n\tbr x16\n"        \
	"1:\tmov x17, #" #index "\n\tb mpi_unbound\n"
#else
#error "no thunks for this architecture: configure with KYMO_WITH_MPI=off"
#endif

/*
 * Thunks of the Fortran bindings leave a note of who called, for the traced function below to find:
 * its own caller is the binding. They lead to the binding, whatever it is.
 */
#define MPI_FORTRAN_NAMES 6u         /* ways to spell a function; gen_mpi.py has the list */
#define MPI_FORTRAN       0x40000000 /* tells their numbers from those of slots */

#if defined(__x86_64__)
#define MPI_FORTRAN_JUMP(index)                                                                    \
	"endbr64\n\tmov mpi_fortran_caller@gottpoff(%rip), %r11\n\tpop %fs:(%r11)\n\t"             \
	"push %fs:(%r11)\n\tmov (mpi_fortran_targets + 8 * " #index ")(%rip), %r11\n\t"            \
	"test %r11, %r11\n\tjz 1f\n\tjmp *%r11\n1:\tmov $(0x40000000 + " #index "), %r11d\n\t"     \
	"jmp mpi_unbound\n"
#else
#define MPI_FORTRAN_JUMP(index)                                                                    \
	"hint #34\n\tmrs x16, tpidr_el0\n\tadrp x17, :gottprel:mpi_fortran_caller\n\t"             \
	"ldr x17, [x17, #:gottprel_lo12:mpi_fortran_caller]\n\tstr x30, [x16, x17]\n\t"            \
	"adrp x16, mpi_fortran_targets + 8 * " #index                                              \
	"\n\tldr x16, [x16, #:lo12:mpi_fortran_targets + 8 * " #index "]\n\tcbz x16, 1f\n\t"       \
	"br x16\n1:\tmov w17, #0x4000, lsl #16\n\tmov w16, #" #index                               \
	"\n\torr w17, w17, w16\n\tb mpi_unbound\n"
#endif

#define MPI_FORTRAN_THUNK(name, index)                                                             \
	__asm__(".pushsection .text.mpi_thunks,\"ax\",%progbits\n"                                 \
		"\t.balign 16\n\t.globl " #name "\n\t.type " #name ", %function\n" #name           \
		":\n\t.cfi_startproc\n\t" MPI_FORTRAN_JUMP(index) "\t.cfi_endproc\n\t.size " #name \
								  ", . - " #name                   \
								  "\n\t.popsection\n")

#define MPI_THUNK(name, index)                                                                     \
	__asm__(".pushsection .text.mpi_thunks,\"ax\",%progbits\n"                                 \
		"\t.balign 32\n\t.globl " #name "\n\t.type " #name ", %function\n" #name           \
		":\n\t.cfi_startproc\n\t" MPI_THUNK_JUMP(index) "\t.cfi_endproc\n\t.size " #name   \
								", . - " #name                     \
								"\n\t.popsection\n")

#endif
