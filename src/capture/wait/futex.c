/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall(): only futex() that waits is of interest. All else goes on untouched, by a jump: a child that has its parent's
 * memory, or a stack of its own, must find no frame of ours.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/wait/door.h"

#ifdef __x86_64__
typedef long call_fn(long number, long a, long b, long c, long d, long e, long f);

door_fn *wait_syscall_next(void) __attribute__((visibility("hidden"), used));
long wait_futex(long number, const void *object, long op, long value,
		const struct timespec *timeout, long e, long f)
	__attribute__((visibility("hidden"), used));

door_fn *wait_syscall_next(void)
{
	return door_next_of(FUNCTION_syscall);
}

static bool waits(long op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
		return true;
	default:
		return false;
	}
}

/* But for FUTEX_WAIT it is a time of the clock. The system has read it, unless it said that it cannot. */
static uint64_t limit_of(long op, const struct timespec *timeout, const struct timespec *now)
{
	if (!timeout)
		return WAIT_NO_LIMIT;
	return (op & FUTEX_CMD_MASK) == FUTEX_WAIT ? wait_ns(timeout) : wait_until(timeout, now);
}

long wait_futex(long number, const void *object, long op, long value,
		const struct timespec *timeout, long e, long f)
{
	struct wait_call c = {.base.op = WAIT_FUTEX, .object = object, .timeout = WAIT_NO_LIMIT};
	door_fn *plain = wait_syscall_next();
	struct timespec now;
	call_fn *next;
	long result;
	int error;

	memcpy(&next, &plain, sizeof(next));
	if (!waits(op) || !ENTER(c))
		return next(number, (long)object, op, value, (long)timeout, e, f);
	clock_gettime((op & FUTEX_CMD_MASK) == FUTEX_LOCK_PI || op & FUTEX_CLOCK_REALTIME
			      ? CLOCK_REALTIME
			      : CLOCK_MONOTONIC,
		      &now);
	result = next(number, (long)object, op, value, (long)timeout, e, f);
	error = result < 0 ? errno : 0;
	if (error != EFAULT && error != EINVAL)
		c.timeout = limit_of(op, timeout, &now);
	c.timed_out = error == ETIMEDOUT;
	door_leave(&c.base, c.timed_out ? 0 : error);
	return result;
}

/* 202: futex. */
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpq $202, %rdi\n"
	"	je wait_futex\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rdx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rcx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %r8\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %r9\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call wait_syscall_next\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r9\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r8\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rcx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size syscall, .-syscall\n");

_Static_assert(SYS_futex == 202, "the number above");
#endif
