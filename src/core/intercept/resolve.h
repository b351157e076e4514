/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow way of doors that export a library's functions as thunks: a thunk whose slot is empty
 * jumps to NAME with its number in a scratch register. NAME keeps every register in which an argument
 * may be, asks RESOLVE, a function from number and return address to an address, and goes
 * on there.
 */
#ifndef CORE_INTERCEPT_RESOLVE_H
#define CORE_INTERCEPT_RESOLVE_H

#if defined(__x86_64__) /* the number is in r11d */
#define RESOLVE_AND_JUMP(name, resolve)                                                            \
	__asm__(".pushsection .text,\"ax\",%progbits\n"                                            \
		"\t.globl " name "\n\t.hidden " name "\n\t.type " name ", %function\n" name        \
		":\n\t.cfi_startproc\n"                                                            \
		"\tpush %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n"                 \
		"\tmov %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n"                                 \
		"\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n"     \
		"\tpush %rax\n\tpush %rax\n\tsub $128, %rsp\n"                                     \
		"\tmovups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n\tmovups %xmm2, 32(%rsp)\n"     \
		"\tmovups %xmm3, 48(%rsp)\n\tmovups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n"   \
		"\tmovups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n"                            \
		"\tmov %r11d, %edi\n\tmov 8(%rbp), %rsi\n\tcall " resolve "\n\tmov %rax, %r11\n"   \
		"\tmovups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n\tmovups 32(%rsp), %xmm2\n"     \
		"\tmovups 48(%rsp), %xmm3\n\tmovups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n"   \
		"\tmovups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n"                            \
		"\tadd $128, %rsp\n\tpop %rax\n\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n"     \
		"\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\tpop %rbp\n\t.cfi_def_cfa %rsp, 8\n"         \
		"\tjmp *%r11\n\t.cfi_endproc\n\t.size " name ", . - " name "\n\t.popsection\n")
#elif defined(__aarch64__) /* the number is in w17 */
#define RESOLVE_AND_JUMP(name, resolve)                                                            \
	__asm__(".pushsection .text,\"ax\",%progbits\n"                                            \
		"\t.globl " name "\n\t.hidden " name "\n\t.type " name ", %function\n" name        \
		":\n\t.cfi_startproc\n"                                                            \
		"\tstp x29, x30, [sp, #-208]!\n\t.cfi_def_cfa_offset 208\n\tmov x29, sp\n"         \
		"\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n"      \
		"\tstp x6, x7, [sp, #64]\n\tstp q0, q1, [sp, #80]\n\tstp q2, q3, [sp, #112]\n"     \
		"\tstp q4, q5, [sp, #144]\n\tstp q6, q7, [sp, #176]\n"                             \
		"\tmov w0, w17\n\tldr x1, [sp, #8]\n\tbl " resolve "\n\tmov x16, x0\n"             \
		"\tldp q6, q7, [sp, #176]\n\tldp q4, q5, [sp, #144]\n\tldp q2, q3, [sp, #112]\n"   \
		"\tldp q0, q1, [sp, #80]\n\tldp x6, x7, [sp, #64]\n\tldp x4, x5, [sp, #48]\n"      \
		"\tldp x2, x3, [sp, #32]\n\tldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #208\n"   \
		"\t.cfi_def_cfa_offset 0\n\tbr x16\n\t.cfi_endproc\n"                              \
		"\t.size " name ", . - " name "\n\t.popsection\n")
#endif

#endif
