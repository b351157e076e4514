/* SPDX-License-Identifier: Apache-2.0 */
/* What the process used, shown to the drain: when its recording ends, and again as late as anything runs. */
#include <sys/resource.h>
#include <unistd.h>

#include "core/process/process.h"
#include "core/ring/ring.h"

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static uint64_t user_before, system_before;
static pid_t before_of;

void core_usage_begin(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		return;
	user_before = time_ns(&u.ru_utime);
	system_before = time_ns(&u.ru_stime);
	before_of = getpid();
}

void core_usage_before(struct shm_header *h)
{
	if (before_of != getpid()) /* a child begins with nothing */
		return;
	atomic_store(&h->user_before_ns, user_before);
	atomic_store(&h->system_before_ns, system_before);
}

void core_usage_show(void)
{
	struct core_pool *pool = core_shared_pool();
	struct rusage u;

	if (!pool || getrusage(RUSAGE_SELF, &u) != 0)
		return;
	atomic_store(&pool->shm->user_ns, time_ns(&u.ru_utime));
	atomic_store(&pool->shm->system_ns, time_ns(&u.ru_stime));
	atomic_store(&pool->shm->resident_bytes, (uint64_t)u.ru_maxrss * 1024);
}

/* Runtimes tear down after the recording's end; of all libraries Kymo's first come last. */
__attribute__((destructor(101))) static void show_last(void)
{
	if (atomic_load(&core_finalized) && core_generation == (uint32_t)getpid())
		core_usage_show();
}
