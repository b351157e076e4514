/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of another process, stopped with PTRACE_SEIZE, which no signal tells it of. What it was doing in the
 * kernel goes on afterwards: the registers are put back while it is in a stop like the first one, from where the
 * kernel begins an interrupted call anew.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool tracee_stop(struct tracee *t, pid_t pid, pid_t tid)
{
	char path[64];

	*t = (struct tracee){.pid = pid, .tid = tid};
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 || !await_trap(t)) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory >= 0)
		return true;
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return false;
}

bool tracee_keep(struct tracee *t)
{
	struct iovec all = {t->extended, sizeof(t->extended)};
	/* Faults would end the program if they were held back; they are none of its own then. */
	const uint64_t most =
		~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
		  1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1));

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->registers) != 0 ||
	    ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &all) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask) != 0)
		return false;
	t->extended_bytes = all.iov_len;
	return ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(most), &most) == 0;
}

bool tracee_write(const struct tracee *t, uint64_t to, const void *data, size_t bytes)
{
	return pwrite(t->memory, data, bytes, (off_t)to) == (ssize_t)bytes;
}

/* To the next entry of a system call, or its end. A fault, or a signal that cannot be held back: false. */
static bool go_on(const struct tracee *t)
{
	int status;

	if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) != 0)
		return false;
	while (await(t, &status)) {
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return true;
		if (!is_trap(status) || ptrace(PTRACE_SYSCALL, t->tid, 0, 0) != 0)
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

int64_t tracee_call(struct tracee *t, uint64_t instruction, uint64_t number,
		    const uint64_t *arguments, unsigned count)
{
	struct user_regs_struct r = fresh(t);
	unsigned long long *const places[] = {&r.rdi, &r.rsi, &r.rdx, &r.r10, &r.r8, &r.r9};

	r.rip = instruction;
	r.rax = number;
	for (unsigned i = 0; i < count; i++)
		*places[i] = arguments[i];
	if (ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_TRACESYSGOOD) != 0 ||
	    ptrace(PTRACE_SETREGS, t->tid, 0, &r) != 0 || !go_on(t) || !go_on(t) ||
	    ptrace(PTRACE_GETREGS, t->tid, 0, &r) != 0)
		return -EFAULT;
	return (int64_t)r.rax;
}

bool tracee_run(struct tracee *t, uint64_t pc, uint64_t argument)
{
	struct user_regs_struct r = fresh(t);

	r.rip = pc;
	r.rbx = argument;
	r.rsp = (r.rsp - 256) & ~15ull; /* beyond what the function may use below its stack */
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &r) != 0)
		return false;
	for (int i = 0; i < STEPS; i++) {
		if (!go_on(t) || ptrace(PTRACE_GETREGS, t->tid, 0, &r) != 0)
			return false;
		if (r.orig_rax == STUB_CALL && r.rdi == STUB_SIGN)
			return go_on(t); /* to its end */
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

void tracee_go(struct tracee *t, bool kept)
{
	struct iovec all = {t->extended, t->extended_bytes};

	if (kept) {
		stop_again(t);
		ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &all);
		ptrace(PTRACE_SETREGS, t->tid, 0, &t->registers);
		ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(t->mask), &t->mask);
	}
	close(t->memory);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
}
