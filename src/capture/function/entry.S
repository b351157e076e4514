/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions are entered and left without a hook of the compiler's: what is saved, and what unwinders are told. See returns.h.
 *
 * Compilers may count on any register that a function of the same file does not use, so all are kept: general ones on the
 * stack, all others where more is to be done than the fast functions do, which use none.
 */
#include "capture/function/returns.h"

#if defined(__x86_64__)
#define SAVED   80 /* bytes: ten registers */
#define VECTORS 2816 /* x87, SSE, AVX, AVX-512: 2,696 at most, and room to align it */
#define MASK    0xe7

	.text

/* ---- entering ---- */

	.macro save
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	pushq	%r11
	.cfi_adjust_cfa_offset 8
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	cld
	.endm

	.macro restore
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq	%r11
	.cfi_adjust_cfa_offset -8
	popq	%r10
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	.endm

/*
 * Calls the C function \fn with the stack aligned and, where it is one of the slow ones, all other registers saved: those that
 * the system lets programs use. rbx has the stack pointer meanwhile. Arguments are in rdi and rsi.
 */
	.macro fast fn
	movq	%rsp, %rbx
	.cfi_remember_state
	.cfi_def_cfa_register rbx
	andq	$-16, %rsp
	call	\fn
	movq	%rbx, %rsp
	.cfi_restore_state
	.endm

	.macro slow fn, then
	movq	%rsp, %rbx
	.cfi_remember_state
	.cfi_def_cfa_register rbx
	subq	$VECTORS, %rsp
	andq	$-64, %rsp
	/* The header has to be zero, or what is restored is refused. */
	xorl	%eax, %eax
	movq	%rax, 512(%rsp)
	movq	%rax, 520(%rsp)
	movq	%rax, 528(%rsp)
	movq	%rax, 536(%rsp)
	movq	%rax, 544(%rsp)
	movq	%rax, 552(%rsp)
	movq	%rax, 560(%rsp)
	movq	%rax, 568(%rsp)
	movl	$MASK, %eax
	xorl	%edx, %edx
	xsave64	(%rsp)
	call	\fn
	\then
	movl	$MASK, %eax
	xorl	%edx, %edx
	xrstor64 (%rsp)
	movq	%rbx, %rsp
	.cfi_restore_state
	.endm

/*
 * Called by the trampoline of a patched function, behind which its first instructions go on; 14 bytes before those is the op.
 * Unwinders are told of the function's caller alone.
 */
	.globl	function_entry_patched
	.hidden	function_entry_patched
	.type	function_entry_patched, @function
	.p2align 4
function_entry_patched:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	save
	movq	SAVED(%rsp), %rdi
	movq	-14(%rdi), %rdi
	leaq	SAVED+8(%rsp), %rsi
	fast	function_enter_fast
	testl	%eax, %eax
	jnz	1f
2:	.cfi_remember_state
	restore
	ret
	.cfi_restore_state
1:	movq	SAVED(%rsp), %rdi
	movq	-14(%rdi), %rdi
	leaq	SAVED+8(%rsp), %rsi
	slow	function_enter_slow
	jmp	2b
	.cfi_endproc
	.size	function_entry_patched, . - function_entry_patched

/* The same of a file that was instrumented (wire/plan.h): where the op is, the comparison before the call says. */
	.macro	slot_op
	movq	SAVED(%rsp), %rdi
	movslq	-13(%rdi), %rax
	movq	-8(%rdi,%rax), %rdi
	leaq	SAVED+8(%rsp), %rsi
	.endm

	.globl	function_entry_instrumented
	.hidden	function_entry_instrumented
	.type	function_entry_instrumented, @function
	.p2align 4
function_entry_instrumented:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	save
	slot_op
	fast	function_enter_fast
	testl	%eax, %eax
	jnz	1f
2:	.cfi_remember_state
	restore
	ret
	.cfi_restore_state
1:	slot_op
	slow	function_enter_slow
	jmp	2b
	.cfi_endproc
	.size	function_entry_instrumented, . - function_entry_instrumented

/* __fentry__(): called where the function begins, so that the return address lies above that of this call. */
	.globl	kymo_function_fentry
	.type	kymo_function_fentry, @function
	.p2align 4
kymo_function_fentry:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	save
	movq	SAVED(%rsp), %rdi
	leaq	SAVED+8(%rsp), %rsi
	fast	function_hook_fast
	testl	%eax, %eax
	jnz	1f
2:	.cfi_remember_state
	restore
	ret
	.cfi_restore_state
1:	movq	SAVED(%rsp), %rdi
	leaq	SAVED+8(%rsp), %rsi
	slow	function_hook_slow
	jmp	2b
	.cfi_endproc
	.size	kymo_function_fentry, . - kymo_function_fentry

/* mcount(): called when the function has made its frame, which rbp shows. */
	.globl	kymo_function_mcount
	.type	kymo_function_mcount, @function
	.p2align 4
kymo_function_mcount:
	.cfi_startproc
	save
	movq	SAVED(%rsp), %rdi
	leaq	8(%rbp), %rsi
	fast	function_hook_fast
	testl	%eax, %eax
	jnz	1f
2:	.cfi_remember_state
	restore
	ret
	.cfi_restore_state
1:	movq	SAVED(%rsp), %rdi
	leaq	8(%rbp), %rsi
	slow	function_hook_slow
	jmp	2b
	.cfi_endproc
	.size	kymo_function_mcount, . - kymo_function_mcount

/* ---- leaving ---- */

/*
 * Stubs, then where all of them lead. Where the return address was the stub's address still stands, below the stack pointer, where nobody
 * writes. From that, unwinders find the original one: the stub says how far it is to function_left, before which it says where the
 * table and the first stub are.
 *
 *	stub = *slot & ~7
 *	left = stub + 5 + *(uint32_t *)(stub + 1)
 *	table = left - 16 + *(left - 16), first = left - 8 + *(left - 8)
 *	return address = *(table + (stub - first) * 8)
 *
 * The slot is *(CFA - 8) of function_left. Of a stub CFA is 4 more, and the stack pointer is told apart from it: libgcc knows the frame that
 * handles an exception by the CFA before it, and would take the stub for that. CFA lies twice on the expression's stack, because libgcc refuses
 * to pick the lowest element.
 */
	.macro original back
	.cfi_escape 0x16, 16, 36, 0x12, 0x30 + \back, 0x1c, 0x06, 0x09, 0xf8, 0x1a, 0x12, 0x23, 0x01, 0x94, 0x04, 0x14, 0x22, 0x23, 0x05, \
		0x12, 0x40, 0x1c, 0x12, 0x06, 0x22, 0x16, 0x38, 0x1c, 0x12, 0x06, 0x22, 0x15, 0x02, 0x16, 0x1c, 0x33, 0x24, 0x22, 0x06
	.endm

	.globl	function_returns, function_returns_end
	.hidden	function_returns, function_returns_end
	.type	function_returns, @function
	.p2align 4
function_returns:
	.cfi_startproc
	.cfi_def_cfa rsp, 4
	.cfi_escape 0x16, 7, 2, 0x34, 0x1c
	original 12
	.rept	FUNCTION_RETURNS
	.byte	0xe9
	.long	function_left - (. + 4)
	.byte	0xcc, 0xcc, 0xcc
	.endr
	.cfi_endproc
	.size	function_returns, . - function_returns
function_returns_end:

	.quad	function_return_table - .
	.quad	function_returns - .
	/* Into the slot, where unwinders look for it from then on. */
	.macro returned
	movq	%rax, SAVED(%rbx)
	.cfi_offset rip, -8
	.endm

	.type	function_left, @function
function_left:
	.cfi_startproc
	.cfi_def_cfa rsp, 0
	original 8
	leaq	-8(%rsp), %rsp
	.cfi_def_cfa_offset 8
	save
	leaq	SAVED(%rsp), %rdi
	fast	function_leave_fast
	testq	%rax, %rax
	jz	1f
	movq	%rax, SAVED(%rsp)
	/* Processors reckon with returns to where calls were, so this is none. */
2:	.cfi_remember_state
	.cfi_offset rip, -8
	restore
	leaq	8(%rsp), %rsp
	.cfi_def_cfa_offset 0
	jmp	*-8(%rsp)
	.cfi_restore_state
1:	leaq	SAVED(%rsp), %rdi
	slow	function_leave_slow, returned
	.cfi_offset rip, -8
	jmp	2b
	.cfi_endproc
	.size	function_left, . - function_left
#endif

	.section .note.GNU-stack, "", @progbits
