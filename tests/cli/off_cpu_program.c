/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for known things and say how long each was away: a line "TID REASON NS" a wait, by
 * CLOCK_MONOTONIC_RAW around it; at the end the address of the lock that two have waited for. With an argument: two threads
 * that sleep for a short time, in a function each.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AWAY_MS 300 /* far longer than a busy machine keeps a thread from looking */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void away(const char *reason, unsigned long long since)
{
	unsigned long long ns = now() - since;

	printf("%ld\t%s\t%llu\n", syscall(SYS_gettid), reason, ns);
}

static void sleep_ms(long ms)
{
	struct timespec t = {0, ms * 1000000};

	while (nanosleep(&t, &t) != 0)
		;
}

static void *waiter(void *data)
{
	unsigned long long begun;

	pthread_barrier_wait(&ready);
	begun = now();
	pthread_mutex_lock(&held);
	away("wait_lock", begun);
	pthread_mutex_unlock(&held);
	return NULL;
}

static void *forever(void *data)
{
	for (;;)
		pause();
	return NULL;
}

/* A child writes into `to` after a while. */
static pid_t later(int to, long ms)
{
	pid_t child = fork();

	if (child == 0) {
		sleep_ms(ms);
		if (to >= 0 && write(to, "x", 1) != 1)
			_exit(1);
		_exit(0);
	}
	return child;
}

static void read_late(const char *reason, int in, int out)
{
	pid_t child = later(out, AWAY_MS);
	unsigned long long begun = now();
	char c;

	if (read(in, &c, 1) != 1)
		exit(1);
	away(reason, begun);
	waitpid(child, NULL, 0);
}

#define NAPS 20 /* of some 2 ms: over before anybody looks at most of them */

static __attribute__((noinline)) void nap_of_first(void)
{
	sleep_ms(2);
	__asm__ volatile("nop" ::: "memory"); /* no jump in place of the call; unlike the other */
}

static __attribute__((noinline)) void nap_of_second(void)
{
	sleep_ms(2);
	__asm__ volatile("" ::: "memory");
}

static void *naps(void *data)
{
	for (int i = 0; i < NAPS; i++)
		nap_of_second();
	return NULL;
}

static int take_naps(void)
{
	pthread_t t;

	pthread_create(&t, NULL, naps, NULL);
	for (int i = 0; i < NAPS; i++)
		nap_of_first();
	return pthread_join(t, NULL);
}

/* Two stacks that look alike: of one function, which waits at two places. */
static __attribute__((noinline)) int wait_at_two_places(void)
{
	sleep_ms(AWAY_MS);
	__asm__ volatile("" ::: "memory");
	sleep_ms(AWAY_MS);
	return 0;
}

int main(int argc, char **argv)
{
	int pipes[2], sockets[2];
	pthread_t a, b, f;
	struct pollfd p;
	unsigned long long begun;
	pid_t child;

	if (argc > 1)
		return strcmp(argv[1], "two") == 0 ? wait_at_two_places() : take_naps();
	pthread_barrier_init(&ready, NULL, 3);
	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	pthread_mutex_lock(&held);
	pthread_create(&f, NULL, forever, NULL);
	pthread_create(&a, NULL, waiter, NULL);
	pthread_create(&b, NULL, waiter, NULL);
	pthread_barrier_wait(&ready);
	begun = now();
	sleep_ms(AWAY_MS);
	away("sleep", begun);
	pthread_mutex_unlock(&held);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	p = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	begun = now();
	poll(&p, 1, AWAY_MS);
	away("wait_descriptors", begun);
	read_late("wait_file", pipes[0], pipes[1]);
	read_late("wait_socket", sockets[0], sockets[1]);
	child = later(-1, AWAY_MS);
	begun = now();
	waitpid(child, NULL, 0);
	away("wait_process", begun);
	printf("lock\t%p\n", (void *)&held);
	return 0;
}
