/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for samples: two threads, "alpha" and "beta", and "gamma" in a process of its own, each meet a known number of
 * page faults and spend processor time, as main does. With "wait": "sleeper" sleeps 800 ms, "spinner" spends processor time. With "fork": it and two
 * children spend some and wait, of which one ends by _exit(). With "ends": four children meet 400 page faults and end at once, by exit(),
 * _exit(), _Exit() and quick_exit(). With "signals" ("signal") it handles all real-time signals (the last
 * one) and gets each once; with "blocked" two threads let none come; with "short" two threads end at once.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SPEND_MS = 200, LAST = 400 };

/* One fault a page: the kernel may not make larger ones of them. */
#define TOUCH(name)                                                                                \
	__attribute__((noinline, noclone)) void touch_##name(volatile char *at, unsigned pages);   \
	void touch_##name(volatile char *at, unsigned pages)                                       \
	{                                                                                          \
		for (unsigned i = 0; i < pages; i++)                                               \
			at[(size_t)i * PAGE] = 1;                                                  \
	}

TOUCH(alpha)
TOUCH(beta)
TOUCH(gamma)

static void spend_ms(long ms)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static void spend(void)
{
	spend_ms(SPEND_MS);
}

static void work(const char *name, void (*touch)(volatile char *, unsigned), unsigned pages)
{
	char *at = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	madvise(at, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
	prctl(PR_SET_NAME, name);
	spend();
	touch(at, pages);
}

static void *alpha(void *data)
{
	work("alpha", touch_alpha, 6000);
	return NULL;
}

static void *beta(void *data)
{
	work("beta", touch_beta, 2000);
	return NULL;
}

static void *gamma_thread(void *data)
{
	work("gamma", touch_gamma, 4000);
	return NULL;
}

/* As long as it takes, whoever interrupts it. */
static void *sleeper(void *data)
{
	struct timespec t = {0, 800000000};

	prctl(PR_SET_NAME, "sleeper");
	while (nanosleep(&t, &t) != 0)
		;
	return NULL;
}

static void *spinner(void *data)
{
	prctl(PR_SET_NAME, "spinner");
	spend();
	return NULL;
}

static void run_two(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, first, NULL);
	pthread_create(&threads[1], NULL, second, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void *blocked(void *name)
{
	sigset_t all;

	prctl(PR_SET_NAME, name);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	spend();
	return NULL;
}

static void *blocked_one(void *data)
{
	return blocked("shy");
}

static void *blocked_two(void *data)
{
	return blocked("deaf");
}

static void *nothing(void *data)
{
	return NULL;
}

static volatile sig_atomic_t came[65];

static void handle(int number)
{
	came[number]++;
}

/* By sigaction(), the last one by signal(), which is that of another library's. */
static void handle_signals(int first)
{
	const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	struct sigaction before;

	for (int s = first; s <= SIGRTMAX; s++) {
		sigaction(s, NULL, &before);
		if (before.sa_handler != SIG_DFL)
			puts("somebody handles it");
		if (s < SIGRTMAX)
			sigaction(s, &action, NULL);
		else
			signal(s, handle);
	}
	for (int s = first; s <= SIGRTMAX; s++)
		raise(s);
	spend();
	for (int s = first; s <= SIGRTMAX; s++)
		if (came[s] != 1)
			printf("%d came %d times\n", s, (int)came[s]);
}

static void fork_two(void)
{
	pid_t children[2];

	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			spend();
			usleep(20000);
			if (i)
				_exit(0);
			exit(0);
		}
	}
	spend();
	for (int i = 0; i < 2; i++)
		waitpid(children[i], NULL, 0);
}

static void end_four(void)
{
	static void (*const ends[])(int) = {exit, _exit, _Exit, quick_exit};

	for (unsigned i = 0; i < 4; i++) {
		char *at = mmap(NULL, (size_t)LAST * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			abort();
		madvise(at, (size_t)LAST * PAGE, MADV_NOHUGEPAGE);
		if (fork() == 0) {
			touch_gamma(at, LAST);
			ends[i](0);
		}
		wait(NULL);
	}
}

static bool act(const char *scene)
{
	if (strcmp(scene, "wait") == 0) {
		run_two(sleeper, spinner);
	} else if (strcmp(scene, "fork") == 0) {
		fork_two();
	} else if (strcmp(scene, "ends") == 0) {
		end_four();
	} else if (strcmp(scene, "signals") == 0) {
		handle_signals(SIGRTMIN);
	} else if (strcmp(scene, "signal") == 0) {
		handle_signals(SIGRTMAX);
	} else if (strcmp(scene, "blocked") == 0) {
		run_two(blocked_one, blocked_two);
	} else if (strcmp(scene, "short") == 0) {
		run_two(nothing, nothing);
		spend_ms(600);
	} else {
		return false;
	}
	puts("done");
	return true;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	if (argc > 1 && act(argv[1]))
		return 0;

	if (argc > 1) {
		pthread_create(&thread, NULL, gamma_thread, NULL);
		pthread_join(thread, NULL);
		return 0;
	}
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", argv[0], "gamma", (char *)NULL);
		_exit(127);
	}
	run_two(alpha, beta);
	spend();
	waitpid(child, NULL, 0);
	puts("done");
	return 0;
}
