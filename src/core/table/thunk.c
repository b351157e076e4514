/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thunks and the wrapper behind them, in assembly: they run with the arguments of a function whose
 * type no compiler knows. Offsets are checked below against the structures.
 */
/* clang-format off */
#include "core/table/table.h"

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)

#define SLOT_NEXT  8
#define SLOT_CALLS 16
#define SLOT_STACK 24
_Static_assert(offsetof(struct table_slot, target) == 0, "slot layout");
_Static_assert(offsetof(struct table_slot, next) == SLOT_NEXT, "slot layout");
_Static_assert(offsetof(struct table_slot, calls) == SLOT_CALLS, "slot layout");
_Static_assert(offsetof(struct table_slot, stack_words) == SLOT_STACK, "slot layout");
#define SLOT_SIZE 64
_Static_assert(sizeof(struct table_slot) == SLOT_SIZE, "slot layout");
#define SLOTS 8192
_Static_assert(TABLE_SLOTS == SLOTS, "as many thunks as slots");

_Alignas(64) struct table_slot table_slots[TABLE_SLOTS];

#define FUNCTION(name)                                                                             \
	"\t.balign 32\n\t.globl " #name "\n\t.hidden " #name "\n\t.type " #name                    \
	", %function\n" #name ":\n\t.cfi_startproc\n"
#define FUNCTION_END(name) "\t.cfi_endproc\n\t.size " #name ", . - " #name "\n"

#if defined(__x86_64__)

_Static_assert(offsetof(struct table_call, fp) == 48, "call layout");
_Static_assert(offsetof(struct table_call, scratch) == 176, "call layout");
_Static_assert(offsetof(struct table_call, stack) == 192, "call layout");
_Static_assert(offsetof(struct table_call, caller) == 200, "call layout");
_Static_assert(offsetof(struct table_call, result) == 208, "call layout");
_Static_assert(offsetof(struct table_call, fp_result) == 224, "call layout");
_Static_assert(offsetof(struct table_call, slot) == 296, "call layout");
_Static_assert(sizeof(struct table_call) == 304, "call layout");

/* r11 is free at the entry of a function; it carries the slot. */
__asm__(".pushsection .text.kymo_tables,\"ax\",%progbits\n"
	FUNCTION(table_thunks)
	"\t.set .Lkymo_thunk, 0\n"
	"\t.rept " VALUE(SLOTS) "\n"
	"\t.balign 16\n"
	"\tendbr64\n"
	"\tleaq table_slots + " VALUE(SLOT_SIZE) " * .Lkymo_thunk(%rip), %r11\n"
	"\tjmp *(%r11)\n"
	"\t.set .Lkymo_thunk, .Lkymo_thunk + 1\n"
	"\t.endr\n"
	"\t.balign 16\n"
	FUNCTION_END(table_thunks)

	FUNCTION(table_counted)
	"\tendbr64\n"
	"\tlock incq " VALUE(SLOT_CALLS) "(%r11)\n"
	"\tjmp *" VALUE(SLOT_NEXT) "(%r11)\n"
	FUNCTION_END(table_counted)

	FUNCTION(table_traced)
	"\tendbr64\n"
	"\tpushq %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n"
	"\tmovq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n"
	"\tpushq %rbx\n\t.cfi_offset %rbx, -24\n"
	"\tsubq $312, %rsp\n"
	"\tmovq %rsp, %rbx\n"
	"\tmovq %rdi, 0(%rbx)\n\tmovq %rsi, 8(%rbx)\n\tmovq %rdx, 16(%rbx)\n"
	"\tmovq %rcx, 24(%rbx)\n\tmovq %r8, 32(%rbx)\n\tmovq %r9, 40(%rbx)\n"
	"\tmovups %xmm0, 48(%rbx)\n\tmovups %xmm1, 64(%rbx)\n"
	"\tmovups %xmm2, 80(%rbx)\n\tmovups %xmm3, 96(%rbx)\n"
	"\tmovups %xmm4, 112(%rbx)\n\tmovups %xmm5, 128(%rbx)\n"
	"\tmovups %xmm6, 144(%rbx)\n\tmovups %xmm7, 160(%rbx)\n"
	"\tmovq %rax, 176(%rbx)\n\tmovq %r10, 184(%rbx)\n"
	"\tleaq 16(%rbp), %rax\n\tmovq %rax, 192(%rbx)\n"
	"\tmovq 8(%rbp), %rax\n\tmovq %rax, 200(%rbx)\n"
	"\tmovq %r11, 296(%rbx)\n"
	"\tmovq %rbx, %rdi\n"
	"\tcall table_enter\n"
	/* The arguments on the stack, below an aligned stack pointer. */
	"\tmovq 296(%rbx), %r11\n"
	"\tmovl " VALUE(SLOT_STACK) "(%r11), %ecx\n"
	"\tleaq 1(%rcx), %rax\n\tandq $-2, %rax\n\tshlq $3, %rax\n\tsubq %rax, %rsp\n"
	"1:\tdecl %ecx\n\tjs 2f\n"
	"\tmovq 16(%rbp,%rcx,8), %rax\n\tmovq %rax, (%rsp,%rcx,8)\n\tjmp 1b\n"
	"2:\tmovq 0(%rbx), %rdi\n\tmovq 8(%rbx), %rsi\n\tmovq 16(%rbx), %rdx\n"
	"\tmovq 24(%rbx), %rcx\n\tmovq 32(%rbx), %r8\n\tmovq 40(%rbx), %r9\n"
	"\tmovups 48(%rbx), %xmm0\n\tmovups 64(%rbx), %xmm1\n"
	"\tmovups 80(%rbx), %xmm2\n\tmovups 96(%rbx), %xmm3\n"
	"\tmovups 112(%rbx), %xmm4\n\tmovups 128(%rbx), %xmm5\n"
	"\tmovups 144(%rbx), %xmm6\n\tmovups 160(%rbx), %xmm7\n"
	"\tmovq 176(%rbx), %rax\n\tmovq 184(%rbx), %r10\n"
	"\tcall *" VALUE(SLOT_NEXT) "(%r11)\n"
	"\tmovq %rax, 208(%rbx)\n\tmovq %rdx, 216(%rbx)\n"
	"\tmovups %xmm0, 224(%rbx)\n\tmovups %xmm1, 240(%rbx)\n"
	"\tmovq %rbx, %rdi\n"
	"\tcall table_leave\n"
	"\tmovq 208(%rbx), %rax\n\tmovq 216(%rbx), %rdx\n"
	"\tmovups 224(%rbx), %xmm0\n\tmovups 240(%rbx), %xmm1\n"
	"\tmovq -8(%rbp), %rbx\n"
	"\tleave\n\t.cfi_def_cfa %rsp, 8\n"
	"\tret\n"
	FUNCTION_END(table_traced)
	".popsection\n");

#elif defined(__aarch64__)

_Static_assert(offsetof(struct table_call, fp) == 64, "call layout");
_Static_assert(offsetof(struct table_call, scratch) == 192, "call layout");
_Static_assert(offsetof(struct table_call, stack) == 208, "call layout");
_Static_assert(offsetof(struct table_call, caller) == 216, "call layout");
_Static_assert(offsetof(struct table_call, result) == 224, "call layout");
_Static_assert(offsetof(struct table_call, fp_result) == 240, "call layout");
_Static_assert(offsetof(struct table_call, slot) == 312, "call layout");
_Static_assert(sizeof(struct table_call) == 320, "call layout");

/* x16 and x17 are free at the entry of a function; x16 carries the slot. hint #34 is bti c. */
__asm__(".pushsection .text.kymo_tables,\"ax\",%progbits\n"
	FUNCTION(table_thunks)
	"\t.set .Lkymo_thunk, 0\n"
	"\t.rept " VALUE(SLOTS) "\n"
	"\t.balign 32\n"
	"\thint #34\n"
	"\tadrp x16, table_slots + " VALUE(SLOT_SIZE) " * .Lkymo_thunk\n"
	"\tadd x16, x16, :lo12:table_slots + " VALUE(SLOT_SIZE) " * .Lkymo_thunk\n"
	"\tldr x17, [x16]\n"
	"\tbr x17\n"
	"\t.set .Lkymo_thunk, .Lkymo_thunk + 1\n"
	"\t.endr\n"
	"\t.balign 32\n"
	FUNCTION_END(table_thunks)

	/* x9 and x10 are free too. */
	FUNCTION(table_counted)
	"\thint #36\n" /* bti j: the thunk jumps here */
	"\tadd x17, x16, #" VALUE(SLOT_CALLS) "\n"
	"1:\tldxr x9, [x17]\n\tadd x9, x9, #1\n\tstxr w10, x9, [x17]\n\tcbnz w10, 1b\n"
	"\tldr x16, [x16, #" VALUE(SLOT_NEXT) "]\n"
	"\tbr x16\n"
	FUNCTION_END(table_counted)

	FUNCTION(table_traced)
	"\thint #36\n"
	"\tstp x29, x30, [sp, #-32]!\n\t.cfi_def_cfa_offset 32\n"
	"\t.cfi_offset 29, -32\n\t.cfi_offset 30, -24\n"
	"\tmov x29, sp\n\t.cfi_def_cfa_register 29\n"
	"\tstr x19, [sp, #16]\n\t.cfi_offset 19, -16\n"
	"\tsub sp, sp, #320\n"
	"\tmov x19, sp\n"
	"\tstp x0, x1, [x19]\n\tstp x2, x3, [x19, #16]\n"
	"\tstp x4, x5, [x19, #32]\n\tstp x6, x7, [x19, #48]\n"
	"\tstp q0, q1, [x19, #64]\n\tstp q2, q3, [x19, #96]\n"
	"\tstp q4, q5, [x19, #128]\n\tstp q6, q7, [x19, #160]\n"
	"\tstr x8, [x19, #192]\n"
	"\tadd x9, x29, #32\n\tstp x9, x30, [x19, #208]\n"
	"\tstr x16, [x19, #312]\n"
	"\tmov x0, x19\n"
	"\tbl table_enter\n"
	"\tldr x16, [x19, #312]\n"
	"\tldr w9, [x16, #" VALUE(SLOT_STACK) "]\n"
	"\tadd x10, x9, #1\n\tlsr x10, x10, #1\n\tsub sp, sp, x10, lsl #4\n"
	"\tadd x11, x29, #32\n\tmov x12, sp\n"
	"1:\tcbz x9, 2f\n\tsub x9, x9, #1\n"
	"\tldr x10, [x11, x9, lsl #3]\n\tstr x10, [x12, x9, lsl #3]\n\tb 1b\n"
	"2:\tldp x0, x1, [x19]\n\tldp x2, x3, [x19, #16]\n"
	"\tldp x4, x5, [x19, #32]\n\tldp x6, x7, [x19, #48]\n"
	"\tldp q0, q1, [x19, #64]\n\tldp q2, q3, [x19, #96]\n"
	"\tldp q4, q5, [x19, #128]\n\tldp q6, q7, [x19, #160]\n"
	"\tldr x8, [x19, #192]\n"
	"\tldr x16, [x16, #" VALUE(SLOT_NEXT) "]\n"
	"\tblr x16\n"
	"\tstp x0, x1, [x19, #224]\n"
	"\tstp q0, q1, [x19, #240]\n\tstp q2, q3, [x19, #272]\n"
	"\tmov x0, x19\n"
	"\tbl table_leave\n"
	"\tldp x0, x1, [x19, #224]\n"
	"\tldp q0, q1, [x19, #240]\n\tldp q2, q3, [x19, #272]\n"
	"\tmov sp, x29\n"
	"\tldr x19, [sp, #16]\n"
	"\tldp x29, x30, [sp], #32\n\t.cfi_def_cfa 31, 0\n"
	"\tret\n"
	FUNCTION_END(table_traced)
	".popsection\n");

#else

const char table_thunks[1], table_counted[1], table_traced[1];

#endif
