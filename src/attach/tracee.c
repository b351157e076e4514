/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of another process, stopped with PTRACE_SEIZE, which no signal tells it of. What it was doing in the
 * kernel goes on afterwards: the registers are put back while it is in a stop like the first one, from where the
 * kernel begins an interrupted call anew. Without us it comes back by the frame that back.c builds.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "attach/parts.h"

enum { STEPS = 100000 }; /* system calls that pthread_create() makes, at most */

static bool await(const struct tracee *t, int *status)
{
	pid_t got;

	do {
		got = waitpid(t->tid, status, __WALL);
	} while (got < 0 && errno == EINTR);
	if (got == t->tid && WIFSTOPPED(*status))
		return true;
	errno = ESRCH;
	return false;
}

static bool is_trap(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Until it is stopped by us: signals that come before are the program's. */
static bool await_trap(const struct tracee *t)
{
	int status;

	while (await(t, &status)) {
		if (is_trap(status))
			return true;
		if (ptrace(PTRACE_CONT, t->tid, 0, WSTOPSIG(status)) != 0)
			return false;
	}
	return false;
}

bool tracee_stop(struct tracee *t, const struct attach_target *target, pid_t tid)
{
	*t = (struct tracee){.pid = target->pid, .tid = tid, .target = target};
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && await_trap(t))
		return true;
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return false;
}

/* Not where the thread itself may not write, such as the pages that guard a stack. */
bool tracee_write(const struct tracee *t, uint64_t to, const void *data, size_t bytes)
{
	struct iovec here = {(void *)(uintptr_t)data, bytes},
		     there = {(void *)(uintptr_t)to, bytes};

	return process_vm_writev(t->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* To the next entry of a system call, or its end. False: a signal, *signal, or it is gone. */
static bool go_on(const struct tracee *t, int *signal)
{
	int status;

	*signal = 0;
	if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) != 0)
		return false;
	while (await(t, &status)) {
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return true;
		if (!is_trap(status)) {
			*signal = WSTOPSIG(status);
			return false;
		}
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) != 0)
			return false;
	}
	return false;
}

/* What it was in the middle of is not begun anew from here. */
static struct user_regs_struct fresh(const struct tracee *t)
{
	struct user_regs_struct r = t->registers;

	r.orig_rax = (unsigned long long)-1;
	r.eflags &= ~0x400ull; /* the direction of strings is forward in functions */
	return r;
}

/* When the call returns, so does the thread: to its way back. */
static int64_t call(const struct tracee *t, uint64_t number, const uint64_t *arguments,
		    unsigned count, int *signal)
{
	struct user_regs_struct r = fresh(t);
	unsigned long long *const places[] = {&r.rdi, &r.rsi, &r.rdx, &r.r10, &r.r8, &r.r9};

	r.rip = t->target->system_call;
	r.rsp = t->back;
	r.rax = number;
	for (unsigned i = 0; i < count; i++)
		*places[i] = arguments[i];
	*signal = 0;
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &r) != 0 || !go_on(t, signal) || !go_on(t, signal) ||
	    ptrace(PTRACE_GETREGS, t->tid, 0, &r) != 0)
		return -EFAULT;
	return (int64_t)r.rax;
}

static bool keep(struct tracee *t)
{
	struct iovec all = {t->extended, sizeof(t->extended)};

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->registers) != 0 ||
	    ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &all) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask) != 0)
		return false;
	t->extended_bytes = all.iov_len;
	return true;
}

bool tracee_lead(struct tracee *t, int *signal)
{
	/* Faults would end the program if they were held back; they are none of its own then. */
	const uint64_t most =
		~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
		  1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1));
	static struct back b;
	uint64_t at, arguments[] = {SIG_SETMASK, 0, 0, sizeof(most)};

	*signal = 0;
	if (!keep(t))
		return false;
	at = back_build(t, t->target->sigreturn, most, &b);
	if (!at || !tracee_write(t, at, b.data, b.bytes))
		return false;
	t->back = at;
	arguments[1] = back_blocked(at);
	return call(t, SYS_rt_sigprocmask, arguments, 4, signal) == 0;
}

int64_t tracee_call(struct tracee *t, uint64_t number, const uint64_t *arguments, unsigned count)
{
	int signal;

	return call(t, number, arguments, count, &signal);
}

bool tracee_run(struct tracee *t, uint64_t pc, uint64_t stack, uint64_t argument)
{
	struct user_regs_struct r = fresh(t);
	int signal;

	r.rip = pc;
	r.rbx = argument;
	r.rsp = stack;
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &r) != 0)
		return false;
	for (int i = 0; i < STEPS; i++) {
		if (!go_on(t, &signal) || ptrace(PTRACE_GETREGS, t->tid, 0, &r) != 0)
			return false;
		if (r.orig_rax == STUB_CALL && r.rdi == STUB_SIGN)
			return go_on(t, &signal); /* to its end */
	}
	return false;
}

/* Back into a stop like the first one. */
static void stop_again(const struct tracee *t)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) != 0)
		return;
	do {
		if (ptrace(PTRACE_CONT, t->tid, 0, 0) != 0)
			return;
	} while (await(t, &status) && !is_trap(status));
}

void tracee_go(struct tracee *t, int signal)
{
	struct iovec all = {t->extended, t->extended_bytes};

	if (t->back) {
		if (!signal) /* else the kernel begins an interrupted call anew when that is delivered */
			stop_again(t);
		ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(t->mask), &t->mask);
		ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &all);
		ptrace(PTRACE_SETREGS, t->tid, 0, &t->registers); /* at last */
	}
	ptrace(PTRACE_DETACH, t->tid, 0, signal);
}
