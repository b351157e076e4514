/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that leaves a call of write(), and what records it, by siglongjmp() from a signal's handler: after its first
 * instruction, after STRIDE more, and so on, until the call ends first. A process of its own stops it at each instruction
 * (ptrace) and sends the signal. After each jump pwrite() is called, with the number of instructions as its offset: from
 * where write() was called, or, with "deep", from a function below it. Prints the last number. With "mark" it is kymo_mark()
 * in the place of write(). program STRIDE [deep|mark]
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

enum { MOST = 20000, WARM = 50, ROOM = 6000 };

/* Between the two processes. */
static struct shared {
	_Atomic int steps;  /* instructions until the signal; 0: nothing is to be done */
	_Atomic int inside; /* the call is being made */
	_Atomic int missed; /* it ended before */
} * shared;

static sigjmp_buf back;
static int file;
static bool marks;

static void handler(int signal)
{
	(void)signal;
	if (atomic_load(&shared->inside))
		siglongjmp(back, 1);
}

/* Signals that are blocked come when they are not. */
static void step(pid_t pid)
{
	int status, signal = 0, steps = 0;

	while (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)signal) == 0 &&
	       waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (!atomic_load(&shared->inside)) {
			if (steps == 0)
				continue; /* on its way there */
			atomic_store(&shared->missed, 1);
			break;
		}
		if (++steps == atomic_load(&shared->steps)) {
			signal = SIGUSR1;
			break;
		}
	}
	atomic_store(&shared->steps, 0);
	ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal);
}

/* The program stops where it says so; other signals it gets. */
static int trace(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		return 1;
	atomic_store(&shared->inside, 0);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

		if (signal == 0 && atomic_load(&shared->steps) > 0)
			step(pid);
		else
			ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal);
	}
	return 0;
}

static __attribute__((noinline)) void call(void)
{
	atomic_store(&shared->inside, 1);
	if (marks)
		kymo_mark("step");
	else if (write(file, "", 1) != 1)
		abort();
	atomic_store(&shared->inside, 0);
}

static __attribute__((noinline)) void later(int jump)
{
	if (pwrite(file, "", 1, jump) != 1)
		abort();
}

static __attribute__((noinline)) void deeper(int jump)
{
	volatile char room[ROOM];

	room[0] = room[ROOM - 1] = 0;
	later(jump + room[0]);
}

static int jump_all(void (*after)(int jump), int stride)
{
	volatile int jump = 1;

	while (!atomic_load(&shared->missed) && jump < MOST) {
		if (sigsetjmp(back, 1) == 0) {
			atomic_store(&shared->steps, jump);
			raise(SIGTRAP);
			call();
			continue;
		}
		atomic_store(&shared->inside, 0);
		after(jump);
		jump += stride;
	}
	return jump - stride;
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = handler};
	const bool deep = argc > 2 && strcmp(argv[2], "deep") == 0;
	int status;
	pid_t tracer;

	marks = argc > 2 && strcmp(argv[2], "mark") == 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	file = open("/dev/null", O_RDWR);
	if (shared == MAP_FAILED || file < 0)
		return 1;
	sigaction(SIGUSR1, &action, NULL);
	atomic_store(&shared->inside, 1);
	tracer = fork();
	if (tracer == 0)
		_exit(trace(getppid()));
	prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
	while (atomic_load(&shared->inside) && waitpid(tracer, &status, WNOHANG) == 0)
		;
	if (atomic_load(&shared->inside))
		return 77;             /* the system forbids it */
	for (int i = 0; i < WARM; i++) /* what is done once is done */
		call();
	printf("%d\n", jump_all(deep ? deeper : later, argc > 1 ? atoi(argv[1]) : 1));
	return 0;
}
