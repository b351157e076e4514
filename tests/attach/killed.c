/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who attaches is killed after its first request to the kernel about the thread that it has stopped, the second, and so
 * on, until one attach is left alone. The program goes on each time: its threads compute with all kinds of registers, wait in
 * system calls that must not fail, and get signals. killed LIBRARY
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach.h"

enum { WORKERS = 3, MOST = 2000, LEAST = 20, WAIT_MS = 60000 };

/* ---- the program ---- */

static struct shared {
	_Atomic uint32_t rounds[WORKERS];
	_Atomic uint32_t wrong, signals, begun;
	_Atomic bool over;
} * shared;

static void on_alarm(int signal)
{
	atomic_fetch_add(&shared->signals, 1);
}

/* A sum in registers of all kinds, which nothing else may change. */
static bool computes(unsigned seed)
{
	double sums[8] = {0};
	uint64_t words = seed;

	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < 8; k++)
			sums[k] += (double)(i % 7 + k);
		words = words * 6364136223846793005ull + 1;
	}
	for (unsigned k = 1; k < 8; k++)
		if (sums[k] - sums[0] != 20000.0 * k)
			return false;
	for (unsigned i = 0; i < 20000; i++) /* back again */
		words = (words - 1) * 0xc097ef87329e28a5ull;
	return words == seed;
}

static void *work(void *number)
{
	const struct timespec nap = {0, 3000000};
	const unsigned n = (unsigned)(uintptr_t)number;
	sigset_t none, all;

	/* Signals come to the one that computes. */
	sigfillset(&all);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, n == 0 ? &none : &all, NULL);
	while (!atomic_load(&shared->over)) {
		sigset_t now;
		bool ok = n == 0   ? computes(atomic_load(&shared->rounds[0]))
			  : n == 1 ? nanosleep(&nap, NULL) == 0
				   : poll(NULL, 0, 3) == 0;

		pthread_sigmask(SIG_SETMASK, NULL, &now);
		ok = ok && sigismember(&now, SIGUSR1) == (n != 0);
		if (!ok)
			atomic_fetch_add(&shared->wrong, 1);
		atomic_fetch_add(&shared->rounds[n], 1);
	}
	return NULL;
}

static int program(void)
{
	const struct itimerval often = {{0, 7000}, {0, 7000}};
	pthread_t threads[WORKERS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, on_alarm);
	for (uintptr_t i = 1; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	setitimer(ITIMER_REAL, &often, NULL);
	work(NULL);
	for (unsigned i = 1; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&shared->wrong) != 0;
}

/* ---- who attaches ---- */

static unsigned requests, last;

/* Stands before the C library's. */
long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(enum __ptrace_request, ...);
	void *address, *data;
	va_list args;
	long result;
	int pid;

	va_start(args, request);
	pid = va_arg(args, int);
	address = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (!next) {
		void *found = dlsym(RTLD_NEXT, "ptrace");

		memcpy(&next, &found, sizeof(next));
	}
	result = next(request, pid, address, data);
	if (last && ++requests == last)
		kill(getpid(), SIGKILL);
	return result;
}

static int attach(int pid, const char *library, unsigned most)
{
	static struct attach_target target;
	struct attach_request r = {"libc.so.6", library, "\0", 1};
	struct attach_report report;
	struct text why = {0};
	bool ok;

	last = most;
	ok = attach_look(pid, &target, &why) && attach_put(&target, &r, &report, &why);
	if (!ok)
		fprintf(stderr, "%s\n", why.s ? why.s : "no memory");
	return ok ? 0 : 1;
}

/* All its threads have gone on since. */
static bool goes_on(void)
{
	uint32_t before[WORKERS];
	const struct timespec nap = {0, 1000000};

	for (unsigned i = 0; i < WORKERS; i++)
		before[i] = atomic_load(&shared->rounds[i]);
	for (unsigned ms = 0; ms < WAIT_MS; ms++) {
		bool all = true;

		for (unsigned i = 0; i < WORKERS; i++)
			all &= atomic_load(&shared->rounds[i]) - before[i] >= 2;
		if (all)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

int main(int argc, char **argv)
{
	unsigned n = 0, killed = 0;
	int status, pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (argc != 2 || shared == MAP_FAILED)
		return 2;
	pid = fork();
	if (pid == 0)
		_exit(program());
	do {
		int launcher;

		if (!goes_on() || atomic_load(&shared->wrong)) {
			fprintf(stderr, "after %u requests: rounds %u %u %u, wrong %u\n", n,
				shared->rounds[0], shared->rounds[1], shared->rounds[2],
				shared->wrong);
			kill(pid, SIGKILL);
			return 1;
		}
		launcher = fork();
		if (launcher == 0)
			_exit(attach(pid, argv[1], ++n));
		n++;
		waitpid(launcher, &status, 0);
		killed += WIFSIGNALED(status);
	} while (WIFSIGNALED(status) && n < MOST);
	printf("killed %u times; then status %d; signals %u\n", killed, WEXITSTATUS(status),
	       shared->signals);
	/* One more, to the end. */
	if (!goes_on() || killed < LEAST || WEXITSTATUS(status) != 0 || !shared->signals ||
	    attach(pid, argv[1], 0) != 0)
		return 1;
	atomic_store(&shared->over, true);
	waitpid(pid, &status, 0);
	printf("program: status %d, wrong %u\n", status, shared->wrong);
	return status != 0;
}
