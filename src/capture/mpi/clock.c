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
#include "base/hash.h"
#include "capture/mpi/backend.h"
#include "capture/mpi/job.h"
#include "core/tally/job.h"

enum { EXCHANGES = 40, ENOUGH = 8, GOOD_NS = 500, BUDGET_NS = 5000000 };

struct question {
	int64_t more; /* 0: the last one */
};

static int64_t my_offset, my_error;
static uint32_t my_same; /* the clock is rank 0's */
static uint64_t my_clock;

/* Boot of the kernel and time namespace: who agrees in both reads the same clock. */
static uint64_t name_of_clock(void)
{
	uint64_t h = HASH_START;
	char *boot = file_read("/proc/sys/kernel/random/boot_id", NULL);
	struct stat st = {0};

	if (boot)
		h = hash_string(boot);
	free(boot);
	if (!boot)
		return (uint64_t)getpid(); /* nobody's but its own */
	if (stat("/proc/self/ns/time", &st) == 0)
		h = hash_mix(h, st.st_ino);
	return h;
}

int64_t job_clock_now(void)
{
	return (int64_t)clock_ns(CLOCK_MONOTONIC_RAW);
}

static bool send(int to, const void *data, int bytes)
{
	return mpi_module->send(to, JOB_TAG, data, bytes);
}

static bool receive(int from, void *data, int bytes)
{
	return mpi_module->receive(from, JOB_TAG, data, bytes);
}

void job_clock_answer(struct job_clock *out)
{
	*out = (struct job_clock){job_clock_now(), my_offset, my_error, my_clock, my_same};
}

static bool answer_child(int child)
{
	struct job_clock a;
	struct question q;

	do {
		if (!receive(child, &q, sizeof(q)))
			return false;
		job_clock_answer(&a);
		if (!send(child, &a, sizeof(a)))
			return false;
	} while (q.more);
	return true;
}

static void define_clock(int64_t measured, int64_t bound, int parent, uint64_t exchanges)
{
	struct wire_def d;

	wire_def_init(&d, DEF_JOB_CLOCK);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, (uint64_t)job_clock_now());
	wire_def_u64(&d, (uint64_t)my_offset);
	wire_def_u64(&d, (uint64_t)my_error);
	wire_def_u64(&d, my_same ? JOB_CLOCK_SAME : JOB_CLOCK_MEASURED_OFFSET);
	wire_def_u64(&d, (uint64_t)measured);
	wire_def_u64(&d, (uint64_t)bound);
	wire_def_u64(&d, (uint64_t)parent);
	wire_def_u64(&d, exchanges);
	cap_define(&d);
}

void job_exchange_add(struct job_exchange *x, const struct job_clock *theirs, int64_t before)
{
	int64_t half = (job_clock_now() - before + 1) / 2;

	if (half < x->bound) {
		x->bound = half;
		x->measured = theirs->now - (before + half);
	}
	x->theirs = *theirs;
	x->count++;
}

bool job_exchange_enough(const struct job_exchange *x, int64_t begin)
{
	return x->count >= EXCHANGES || (x->count >= ENOUGH && x->bound <= GOOD_NS) ||
	       job_clock_now() - begin >= BUDGET_NS;
}

/* False: MPI failed. */
static bool exchange_with_parent(int parent, struct job_exchange *x)
{
	int64_t begin = job_clock_now();
	struct question q = {1};
	struct job_clock a;

	*x = (struct job_exchange){.bound = INT64_MAX};
	while (q.more) {
		int64_t before;

		q.more = !job_exchange_enough(x, begin);
		before = job_clock_now();
		if (!send(parent, &q, sizeof(q)) || !receive(parent, &a, sizeof(a)))
			return false;
		job_exchange_add(x, &a, before);
	}
	return true;
}

void job_clock_point(const struct job_exchange *x, int parent)
{
	const struct job_clock *a;

	if (!x) {
		my_offset = my_error = 0;
		my_same = 1;
		define_clock(0, 0, 0, 0);
		return;
	}
	a = &x->theirs;
	if (a->clock == my_clock && llabs(x->measured) <= x->bound) {
		my_offset = a->offset;
		my_error = a->error;
		my_same = a->same;
	} else {
		my_offset = a->offset + x->measured;
		my_error = a->error + x->bound;
		my_same = 0;
	}
	define_clock(x->measured, x->bound, parent, x->count);
}

static bool compare_with(int parent)
{
	struct job_exchange x;

	if (!exchange_with_parent(parent, &x))
		return false;
	job_clock_point(&x, parent);
	return true;
}

void job_clock_tally(struct job_tally *out)
{
	cap_tally_take(out, (uint32_t)job_rank(), (uint32_t)job_size(), my_offset,
		       (uint64_t)my_error);
}

/* Of rank 0 after the others, as late as theirs. */
void job_clock_take(void)
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
		job_clock_point(NULL, 0);
}
