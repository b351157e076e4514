/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that hands samples over; see helper.h. */
#include "base/clock.h"
#include "base/futex.h"
#include "core/sample/helper.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/process/life.h"

enum { HELPER_NONE, HELPER_STARTING, HELPER_FAILED, HELPER_READY, HELPER_STOPPING };

#define SECOND 1000000000u

static void helper_main(void *arg)
{
	struct helper *h = arg;

	h->run();
}

bool helper_start(struct helper *h, const char *name, pthread_t *thread, void (*run)(void))
{
	int saved = errno;

	h->reason[0] = '\0';
	h->run = run;
	atomic_store(&h->state, HELPER_STARTING);
	if (!core_helper_start(name, helper_main, h, thread)) {
		snprintf(h->reason, sizeof(h->reason), "no thread could be started");
		return false;
	}
	while (atomic_load(&h->state) == HELPER_STARTING)
		futex_wait(&h->state, HELPER_STARTING, 1000000000);
	errno = saved;
	if (atomic_load(&h->state) == HELPER_READY)
		return true;
	pthread_join(*thread, NULL);
	return false;
}

void helper_ready(struct helper *h, bool ok)
{
	atomic_store(&h->state, ok ? HELPER_READY : HELPER_FAILED);
	futex_wake(&h->state, FUTEX_ALL);
}

void helper_stop(struct helper *h, pthread_t thread)
{
	int saved = errno;

	atomic_store(&h->state, HELPER_STOPPING);
	atomic_fetch_add(&h->wake, 1);
	futex_wake(&h->wake, FUTEX_ALL);
	pthread_join(thread, NULL);
	errno = saved;
}

static _Atomic bool hurry;

void helper_hurry(void)
{
	atomic_store(&hurry, true);
}

void helper_ask(struct helper *h)
{
	const int looks = atomic_load(&hurry) ? 20 : 100;
	uint32_t ticket = atomic_fetch_add(&h->asked, 1) + 1;
	int saved = errno;

	atomic_fetch_add(&h->wake, 1);
	futex_wake(&h->wake, FUTEX_ALL);
	for (int i = 0; i < looks; i++) {
		uint32_t done = atomic_load(&h->done);

		if ((int32_t)(done - ticket) >= 0)
			break;
		futex_wait(&h->done, done, 10000000);
	}
	errno = saved;
}

bool helper_wait(struct helper *h, uint64_t ns)
{
	uint32_t wake = atomic_load(&h->wake);

	core_life_count();
	if (atomic_load(&h->state) == HELPER_STOPPING)
		return false;
	if (atomic_load(&h->asked) == atomic_load(&h->done))
		futex_wait(&h->wake, wake, ns);
	h->seen = atomic_load(&h->asked);
	return atomic_load(&h->state) != HELPER_STOPPING;
}

bool helper_wait_run(struct helper *h, uint64_t ns)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), ran;

	do {
		if (!helper_wait(h, ns))
			return false;
		ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	} while (!helper_is_asked(h) && ran - h->ran < ns / 2 &&
		 clock_ns(CLOCK_MONOTONIC) - begin < SECOND);
	h->ran = ran;
	return true;
}

/* Answers those who asked before the round began; a later one gets the next. */
void helper_done(struct helper *h)
{
	atomic_store(&h->done, h->seen);
	futex_wake(&h->done, FUTEX_ALL);
}

bool helper_is_asked(const struct helper *h)
{
	return h->seen != atomic_load(&h->done);
}
