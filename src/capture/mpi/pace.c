/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of long jobs are compared on the way, too. That needs all ranks at one time, and nothing may
 * hang that would not hang without Kymo. So it is done only right after a collective call over
 * MPI_COMM_WORLD that no rank leaves before all have entered it: all ranks make these calls, in the
 * same order, and whoever has come out of one will find the others coming out of it. They count these
 * calls; at some of them rank 0 tells down the tree whether it is time, and which one is the next to
 * be told at. A rank that does not come all the same (an error handler has jumped over it) is waited
 * for so long, once; then there are no more points until MPI_Finalize.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/mpi/backend.h"
#include "capture/mpi/job.h"

#define PERIOD_NS 10000000000u
#define WAIT_NS   2000000000u
#define GAP_MAX   256u /* calls from one telling to the next: what it costs is shared by so many */
#define TELLINGS  16u  /* in a period */

struct word {
	uint32_t due, gap;
};

/* Of the thread that makes the collective calls: there is one at a time. */
static struct {
	bool on;
	uint32_t calls, told_at, gap; /* since, at which, and between tellings */
	int tag;
	uint64_t period, last_point, last_told;
} pace;

void job_pace_begin(void)
{
	const char *ms = getenv("KYMO_CLOCK_PERIOD_MS"); /* for tests */

	memset(&pace, 0, sizeof(pace));
	pace.on = true;
	pace.gap = 1;
	pace.tag = JOB_TAG_PACE;
	pace.period = ms && *ms ? strtoull(ms, NULL, 10) * 1000000u : PERIOD_NS;
	pace.last_point = pace.last_told = clock_ns(CLOCK_MONOTONIC);
}

void job_pace_end(void)
{
	pace.on = false;
}

/* No rank leaves one of these before all have entered it. */
static bool meets(uint32_t op)
{
	switch (op) {
	case MPI_OP_Barrier:
	case MPI_OP_Allreduce:
	case MPI_OP_Allgather:
	case MPI_OP_Allgatherv:
	case MPI_OP_Alltoall:
	case MPI_OP_Alltoallv:
	case MPI_OP_Alltoallw:
	case MPI_OP_Reduce_scatter:
	case MPI_OP_Reduce_scatter_block:
		return true;
	default:
		return false;
	}
}

/* Rank 0: what the others are told. Twice as many calls where a share of the period is not over. */
static struct word decide(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool often = now - pace.last_told < pace.period / TELLINGS;
	struct word w = {now - pace.last_point >= pace.period, often ? pace.gap * 2 : pace.gap / 2};

	w.gap = w.gap < 1 ? 1 : w.gap > GAP_MAX ? GAP_MAX : w.gap;
	pace.last_told = now;
	return w;
}

/* Down the tree. */
static bool tell(struct word *w)
{
	bool ok = true;

	if (job_rank() == 0)
		*w = decide();
	else
		ok = mpi_module->receive(job_parent(), pace.tag, w, sizeof(*w), WAIT_NS);
	for (int step = 1; ok && job_child(step) >= 0; step *= 2)
		ok = mpi_module->send(job_child(step), pace.tag, w, sizeof(*w));
	return ok;
}

static void meet(void)
{
	uint64_t begin = tick_now();
	struct word w = {0};

	cap_guard_enter();
	pace.on = tell(&w) && (!w.due || job_clock_take_within(pace.tag, WAIT_NS));
	if (!pace.on)
		cap_note(1, "mpi", "a rank has left out a collective call, perhaps for an error: "
				   "clocks are compared again in MPI_Finalize");
	cap_guard_leave();
	if (w.due)
		pace.last_point = clock_ns(CLOCK_MONOTONIC);
	pace.gap = w.gap;
	pace.tag = pace.tag < JOB_TAGS ? pace.tag + 1 : JOB_TAG_PACE;
	cap_overhead(tick_now() - begin);
}

void mpi_job_after_collective(const struct mpi_call *c, const struct mpi_info *info)
{
	if (!pace.on || !meets(c->op) || mpi_arg(c, info, MPI_ROLE_COMM) != mpi_module->world ||
	    ++pace.calls < pace.told_at)
		return;
	meet();
	pace.told_at = pace.calls + pace.gap;
}
