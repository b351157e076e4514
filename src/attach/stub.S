/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that is put into a process (parts.h). The thread that was stopped makes another, says that it is
 * done by a system call that does nothing, and goes back by itself if nobody is there to have it go on; the other loads two
 * libraries and calls a function of the second. It lies among data here, as it is copied.
 */
#include "attach/stub.h"

	.section .rodata, "a", %progbits
	.globl	stub_code, stub_thread, stub_end
	.hidden	stub_code, stub_thread, stub_end

	/* rbx: the page */
stub_code:
	lea	STUB_THREAD(%rbx), %rdi
	xor	%esi, %esi
	mov	STUB_STUB(%rbx), %rdx
	mov	%rbx, %rcx
	call	*STUB_CREATE(%rbx)
	mov	%eax, STUB_CREATED(%rbx)
	mov	$0x4b594d4f, %edi /* STUB_SIGN */
	mov	$39, %eax /* STUB_CALL: getpid() */
	syscall
	mov	STUB_BACK(%rbx), %rsp
	ret

	/* void *(*)(void *page) */
stub_thread:
	push	%rbx
	mov	%rdi, %rbx
	movl	$1, STUB_STATE(%rbx) /* ATTACH_RUNS */
	lea	STUB_KYMO(%rbx), %rdi
	mov	$2, %esi /* RTLD_NOW */
	call	*STUB_OPEN(%rbx)
	test	%rax, %rax
	jz	1f
	lea	STUB_LIBRARY(%rbx), %rdi
	mov	$2, %esi
	call	*STUB_OPEN(%rbx)
	test	%rax, %rax
	jz	1f
	mov	%rax, %rdi
	lea	STUB_BEGIN(%rbx), %rsi
	call	*STUB_SYMBOL(%rbx)
	test	%rax, %rax
	jz	1f
	mov	%rbx, %rdi
	call	*%rax
	mov	%eax, STUB_STATUS(%rbx)
	movl	$2, STUB_STATE(%rbx) /* ATTACH_BEGUN */
	jmp	3f
1:	call	*STUB_WHY(%rbx)
	test	%rax, %rax
	jz	2f
	mov	%rax, %rsi
	lea	STUB_ERROR(%rbx), %rdi
	lea	STUB_LAST(%rbx), %rdx
4:	movb	(%rsi), %al
	movb	%al, (%rdi)
	inc	%rsi
	inc	%rdi
	test	%al, %al
	jz	2f
	cmp	%rdx, %rdi
	jb	4b
2:	movl	$3, STUB_STATE(%rbx) /* ATTACH_FAILED */
3:	xor	%eax, %eax
	pop	%rbx
	ret
stub_end:

	.section .note.GNU-stack, "", %progbits
