/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of libocca's functions that an exception may leave. The frame from which they are called has a personality
 * of its own: whatever unwinds the stack (an exception, a cancelled thread) asks it when it takes the frame away, so
 * the call ends there and then. It wants nothing of the unwinder: no library of a compiler's is needed. longjmp()
 * asks nobody.
 */
#include <errno.h>
#include <unwind.h>

#include "capture/occa/occa.h"

/* 0x1b: where the personality is, as a signed distance of 32 bits. */
__asm__(".pushsection .text,\"ax\",%progbits\n"
	"\t.balign 16\n\t.globl occa_guarded\n\t.hidden occa_guarded\n"
	"\t.type occa_guarded, %function\nocca_guarded:\n"
	"\t.cfi_startproc\n\t.cfi_personality 0x1b, occa_personality\n"
	"\tsub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n"
	"\tmov %rdi, %rax\n\tmov %rsi, %r11\n"
	"\tmov (%rax), %rdi\n\tmov 8(%rax), %rsi\n\tmov 16(%rax), %rdx\n"
	"\tmov 24(%rax), %rcx\n\tmov 32(%rax), %r8\n\tmov 40(%rax), %r9\n"
	"\tcall *%r11\n"
	"\tadd $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n"
	"\t.cfi_endproc\n\t.size occa_guarded, . - occa_guarded\n"
	"\t.globl occa_guarded_end\n\t.hidden occa_guarded_end\nocca_guarded_end:\n"
	"\t.globl occa_guarded_double\n\t.hidden occa_guarded_double\n"
	"\t.set occa_guarded_double, occa_guarded\n\t.popsection\n");

_Unwind_Reason_Code
occa_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
		 struct _Unwind_Exception *exception, struct _Unwind_Context *context)
	__attribute__((visibility("hidden"), used));

_Unwind_Reason_Code occa_personality(int version, _Unwind_Action actions,
				     _Unwind_Exception_Class class,
				     struct _Unwind_Exception *exception,
				     struct _Unwind_Context *context)
{
	int saved = errno;

	if (actions & _UA_CLEANUP_PHASE)
		occa_left();
	errno = saved;
	return _URC_CONTINUE_UNWIND;
}
