/* SPDX-License-Identifier: Apache-2.0 */
/* See waiter.h. */
#include "base/futex.h"
#include "drain/waiter.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOOK_MS = 2, THREAD_STACK = 64 << 10 };

#ifdef SYS_futex_waitv

enum { WORDS_MAX = FUTEX_WAITV_MAX };

static int wait_words(struct futex_waitv *words, unsigned n, uint64_t deadline)
{
	struct timespec t = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};

	return (int)syscall(SYS_futex_waitv, words, n, 0, &t, CLOCK_MONOTONIC);
}

static struct futex_waitv word(const _Atomic uint32_t *address, uint32_t value)
{
	return (struct futex_waitv){.val = value, .uaddr = (uintptr_t)address, .flags = FUTEX_32};
}

/* Descriptors ready: wakes the drain, then waits until it has looked. */
static void *watch_descriptors(void *data)
{
	struct waiter *s = data;
	struct pollfd p = {s->epoll, POLLIN, 0};

	for (;;) {
		if (poll(&p, 1, -1) < 0)
			continue;
		atomic_store(&s->ready, 1);
		futex_wake(&s->ready, 1);
		while (atomic_load(&s->ready))
			futex_wait(&s->ready, 1, FUTEX_FOREVER);
	}
	return NULL;
}

static bool start_watch(struct waiter *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	ok = pthread_create(&thread, &attr, watch_descriptors, s) == 0;
	pthread_attr_destroy(&attr);
	return ok;
}

void waiter_init(struct waiter *s, int epoll)
{
	struct futex_waitv probe = word(&s->ready, 0);

	s->epoll = epoll;
	atomic_init(&s->ready, 0);
	/* Time is up at once if the call exists. */
	s->vector = wait_words(&probe, 1, 1) < 0 && errno == ETIMEDOUT && start_watch(s);
}

static bool wait_vector(struct waiter *s, const struct producer *producers, int ms)
{
	struct futex_waitv words[WORDS_MAX];
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000u;
	unsigned n = 0;

	if (atomic_exchange(&s->ready, 0))
		futex_wake(&s->ready, 1);
	words[n++] = word(&s->ready, 0);
	for (; producers; producers = producers->next) {
		if (n == WORDS_MAX)
			return false; /* too many to wait for */
		words[n++] = word(&producers->shm->bell, producers->heard);
	}
	wait_words(words, n, deadline);
	return true;
}

#else

void waiter_init(struct waiter *s, int epoll)
{
	s->epoll = epoll;
	s->vector = false;
}

static bool wait_vector(struct waiter *s, const struct producer *producers, int ms)
{
	return false;
}

#endif

void waiter_wait(struct waiter *s, const struct producer *producers, int ms)
{
	struct pollfd p = {s->epoll, POLLIN, 0};

	if (s->vector && wait_vector(s, producers, ms))
		return;
	poll(&p, 1, producers && ms > LOOK_MS ? LOOK_MS : ms);
}
