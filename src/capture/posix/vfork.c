/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child of vfork() has its parent's memory, that of its thread too: what it does would be recorded as its parent's.
 * So while it is there, nothing is. vfork() returns twice out of one frame, which no function of C can do.
 */
#include "capture/posix/door.h"

#ifdef __x86_64__
/* Where vfork() returns to: the child overwrites the stack that it was on. */
_Thread_local void *posix_vfork_back
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
door_fn *posix_vfork_next(void) __attribute__((visibility("hidden"), used));

door_fn *posix_vfork_next(void)
{
	return door_next_of(FUNCTION_vfork);
}

__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call posix_vfork_next\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	movq posix_vfork_back@gottpoff(%rip), %rcx\n"
	"	popq %fs:(%rcx)\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	call *%rax\n"
	"	movq posix_vfork_back@gottpoff(%rip), %rcx\n"
	"	pushq %fs:(%rcx)\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	movq door_inside@gottpoff(%rip), %rcx\n"
	"	xorl %edx, %edx\n"
	"	testl %eax, %eax\n"
	"	jne 1f\n"
	"	movl $2, %edx\n" /* DOOR_VFORKED */
	"1:	movl %edx, %fs:(%rcx)\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vfork, .-vfork\n");
#endif
