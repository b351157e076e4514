/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last collect of a program that ends by _exit(). Where that happens nothing may be assumed: it
 * can be a signal handler that interrupted malloc(), or a child that shares its parent's memory. So
 * all that is done there is to wake threads that were made beforehand, this one and that of samples, and to wait for them a while.
 */
#include "base/futex.h"
#include "core/process/ending.h"

#include <errno.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/sample/sample.h"

#define LIMIT_NS 200000000u

static bool armed;
static _Atomic bool wanted; /* some backend collects late */
static _Atomic uint32_t asked, answered;

static void collect(void *arg)
{
	while (!atomic_load(&asked))
		if (!core_life_sleep(&asked, 0))
			return;
	core_domains_end();
	atomic_store(&answered, 1);
	futex_wake(&answered, INT32_MAX);
}

void core_ending_start(const struct cap_domain_info *info)
{
	int none = 0;

	if (info && info->late)
		atomic_store(&wanted, true);
	if (!armed || !atomic_load(&wanted) ||
	    !atomic_compare_exchange_strong(&core_live->ending, &none, -1))
		return;
	if (core_sleeper_start("end", collect, NULL))
		atomic_store(&core_live->ending, getpid());
}

void core_ending_fork_child(void)
{
	atomic_store(&asked, 0);
	atomic_store(&answered, 0);
}

__attribute__((visibility("default"))) void kymo_process_ending_arm(void)
{
	armed = true;
}

bool core_ending_armed(void)
{
	return armed;
}

__attribute__((visibility("default"))) void kymo_process_ending(void)
{
	int saved = errno;
	uint64_t now, limit;

	if (core_live && core_generation == (uint32_t)getpid() &&
	    kymo_process_state() == KYMO_STATE_RUNNING)
		core_sample_ending();
	/* A child of fork() reads zero there, one of vfork() another's number. */
	if (!core_live || atomic_load(&core_live->ending) != getpid() ||
	    kymo_process_state() != KYMO_STATE_RUNNING)
		return;
	atomic_store(&asked, 1);
	futex_wake(&asked, 1);
	now = clock_ns(CLOCK_MONOTONIC);
	limit = now + LIMIT_NS;
	while (!atomic_load(&answered) && now < limit) {
		futex_wait(&answered, 0, limit - now);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	errno = saved;
}
