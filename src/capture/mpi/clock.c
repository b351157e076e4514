/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of the nodes of a job. In a binomial tree over the ranks every rank but 0 compares its
 * clock with its parent's, which has been compared before: log2(ranks) rounds. An exchange brackets
 * the parent's reading between two of the child's, so its offset is known to half the time between
 * them. Ranks that see the same clock need no offset; that it is the same is measured all the same.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/mpi/backend.h"
#include "capture/mpi/job.h"

enum { EXCHANGES = 40, ENOUGH = 8, GOOD_NS = 500, BUDGET_NS = 5000000 };

struct question {
	int64_t more; /* 0: the last one */
};

struct answer {
	int64_t now, offset, error;
	uint64_t clock; /* names the clock that is read */
	uint32_t same;
};

static int64_t my_offset, my_error;
static uint32_t my_same; /* the clock is rank 0's */
static uint64_t my_clock;
static int my_tag = JOB_TAG; /* of the exchanges that are made now */
static uint64_t my_wait;     /* ns for an answer, 0: for ever */

/* Boot of the kernel and time namespace: who agrees in both reads the same clock. */
static uint64_t name_of_clock(void)
{
	uint64_t h = 0xcbf29ce484222325ull;
	char *boot = file_read("/proc/sys/kernel/random/boot_id", NULL);
	struct stat st = {0};

	for (const char *p = boot; p && *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
	free(boot);
	if (!boot)
		return (uint64_t)getpid(); /* nobody's but its own */
	if (stat("/proc/self/ns/time", &st) == 0)
		h = (h ^ (uint64_t)st.st_ino) * 0x100000001b3ull;
	return h;
}

static int64_t now_ns(void)
{
	return (int64_t)clock_ns(CLOCK_MONOTONIC_RAW);
}

static bool send(int to, const void *data, int bytes)
{
	return mpi_module->send(to, my_tag, data, bytes);
}

static bool receive(int from, void *data, int bytes)
{
	return mpi_module->receive(from, my_tag, data, bytes, my_wait);
}

static bool answer_child(int child)
{
	struct answer a = {0, my_offset, my_error, my_clock, my_same};
	struct question q;

	do {
		if (!receive(child, &q, sizeof(q)))
			return false;
		a.now = now_ns();
		if (!send(child, &a, sizeof(a)))
			return false;
	} while (q.more);
	return true;
}

static void define(int64_t measured, int64_t bound, int parent, uint64_t exchanges)
{
	struct wire_def d;

	wire_def_init(&d, DEF_JOB_CLOCK);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, (uint64_t)now_ns());
	wire_def_u64(&d, (uint64_t)my_offset);
	wire_def_u64(&d, (uint64_t)my_error);
	wire_def_u64(&d, my_same ? JOB_CLOCK_SAME : JOB_CLOCK_MEASURED_OFFSET);
	wire_def_u64(&d, (uint64_t)measured);
	wire_def_u64(&d, (uint64_t)bound);
	wire_def_u64(&d, (uint64_t)parent);
	wire_def_u64(&d, exchanges);
	cap_define(&d);
}

/* The tightest of some exchanges; false: MPI failed. */
static bool ask(int parent, struct answer *a, int64_t *measured, int64_t *bound, uint64_t *count)
{
	struct question q = {1};
	int64_t begin = now_ns();

	*bound = INT64_MAX;
	for (*count = 1; q.more; ++*count) {
		int64_t before, after;

		q.more = *count < EXCHANGES && !(*count >= ENOUGH && *bound <= GOOD_NS) &&
			 now_ns() - begin < BUDGET_NS;
		before = now_ns();
		if (!send(parent, &q, sizeof(q)) || !receive(parent, a, sizeof(*a)))
			return false;
		after = now_ns();
		if ((after - before + 1) / 2 < *bound) {
			*bound = (after - before + 1) / 2;
			*measured = a->now - (before + *bound);
		}
	}
	--*count;
	return true;
}

static bool compare_with(int parent)
{
	int64_t measured = 0, bound = 0;
	struct answer a;
	uint64_t count;

	if (!ask(parent, &a, &measured, &bound, &count))
		return false;
	if (a.clock == my_clock && llabs(measured) <= bound) {
		my_offset = a.offset;
		my_error = a.error;
		my_same = a.same;
	} else {
		my_offset = a.offset + measured;
		my_error = a.error + bound;
		my_same = 0;
	}
	define(measured, bound, parent, count);
	return true;
}

void job_clock_tally(struct job_tally *out)
{
	cap_tally_take(out, (uint32_t)job_rank(), (uint32_t)job_size(), my_offset,
		       (uint64_t)my_error);
}

static bool take(void)
{
	int rank = job_rank(), size = job_size(), step = 1;
	bool ok = true;

	if (!my_clock)
		my_clock = name_of_clock();
	my_offset = my_error = 0;
	my_same = rank == 0;
	while (step < size)
		step *= 2;
	for (step /= 2; ok && step >= 1; step /= 2) {
		if (rank % (2 * step) == 0 && rank + step < size)
			ok = answer_child(rank + step);
		else if (rank % (2 * step) == step)
			ok = compare_with(rank - step);
	}
	if (rank == 0 && ok)
		define(0, 0, 0, 0);
	return ok;
}

void job_clock_take(void)
{
	take();
}

bool job_clock_take_within(int tag, uint64_t wait_ns)
{
	bool ok;

	my_tag = tag;
	my_wait = wait_ns;
	ok = take();
	my_tag = JOB_TAG;
	my_wait = 0;
	return ok;
}
