/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of long jobs are compared on the way, too. That needs both ranks of a pair at one time,
 * and nobody may wait for it. So it is done right after calls over MPI_COMM_WORLD out of which no
 * rank can come before all have entered it, whatever their arguments: all ranks make these calls in
 * the same order, count them, and come out of them at nearly the same time. Rank 0 says down the
 * tree, calls ahead, after which of them it is time again. There each rank has a moment (WAIT_NS,
 * in ten seconds) to find its parent and its children; who is not found in it is left alone, and
 * that pair has a point less. Nothing else waits: letters are sent and looked for, whoever takes
 * them. What has not been taken by MPI_Finalize is taken there.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "capture/mpi/backend.h"
#include "capture/mpi/job.h"

#define PERIOD_NS 10000000000u
#define WAIT_NS   1000000u /* of all that a point takes */
#define GAP_MAX   256u     /* calls from one look for letters to the next */
#define LOOKS     32u      /* in a period */
#define OTHERS    33u

enum kind {
	LETTER_PLAN = 1, /* to children: `call` is the next point */
	LETTER_ASK,      /* to the parent, at the point `call` */
	LETTER_LAST,     /* the same, and nothing will be asked there after it; may ask nothing */
	LETTER_ANSWER,   /* to a child */
	LETTER_BYE       /* to both: the last one */
};

struct letter {
	uint32_t kind, call;
	struct job_clock clock;
};
_Static_assert(sizeof(struct letter) == MPI_LETTER, "a letter is what is posted");

/* Of the thread that makes the collective calls: there is one at a time. */
static struct {
	bool on;
	uint32_t calls; /* since MPI_Init, of those that count */
	uint32_t plan;  /* the call after which the next point is; not after calls: there is none */
	uint32_t look, gap;
	uint64_t period, wait, last_point, last_look;
	int others[OTHERS]; /* children, then the parent */
	bool left[OTHERS];  /* has said that it was its last letter */
	unsigned child_count, count;
} pace;

static uint64_t setting(const char *name, uint64_t otherwise) /* in ms, for tests */
{
	const char *ms = getenv(name);

	return ms && *ms ? strtoull(ms, NULL, 10) * 1000000u : otherwise;
}

void job_pace_begin(void)
{
	memset(&pace, 0, sizeof(pace));
	pace.on = true;
	pace.gap = 1;
	pace.period = setting("KYMO_CLOCK_PERIOD_MS", PERIOD_NS);
	pace.wait = setting("KYMO_CLOCK_WAIT_MS", WAIT_NS);
	pace.last_point = pace.last_look = clock_ns(CLOCK_MONOTONIC);
	for (int step = 1; job_child(step) >= 0; step *= 2)
		pace.others[pace.child_count++] = job_child(step);
	pace.count = pace.child_count;
	if (job_rank() != 0)
		pace.others[pace.count++] = job_parent();
}

/* ---- letters --------------------------------------------------------------------------------- */

static bool post(int to, enum kind kind, uint32_t call)
{
	struct letter l = {.kind = kind, .call = call};

	if (kind == LETTER_ANSWER)
		job_clock_answer(&l.clock);
	return mpi_module->post(to, JOB_TAG_PACE, &l);
}

/* Who is ahead may have come to MPI_Finalize already. */
static bool take_letter(unsigned from, struct letter *l)
{
	if (pace.left[from] || !mpi_module->take(pace.others[from], JOB_TAG_PACE, l))
		return false;
	pace.left[from] = l->kind == LETTER_BYE;
	return true;
}

static bool from_parent(struct letter *l)
{
	return take_letter(pace.child_count, l);
}

static void pass_on(uint32_t call)
{
	for (unsigned i = 0; i < pace.child_count; i++)
		post(pace.others[i], LETTER_PLAN, call);
}

/* A letter of the parent that is no answer to what is asked now. */
static void read_plan(const struct letter *l)
{
	if (l->kind != LETTER_PLAN)
		return;
	pass_on(l->call);
	if (l->call > pace.calls)
		pace.plan = l->call;
	else
		post(job_parent(), LETTER_LAST, l->call); /* too late: nobody need look for us */
}

/* ---- a point --------------------------------------------------------------------------------- */

/* Whoever is looked for may be waiting for this processor. */
static bool over(uint64_t until, unsigned *looks)
{
	if (++*looks % 64 == 0)
		sched_yield();
	return clock_ns(CLOCK_MONOTONIC) >= until;
}

/* The parent's answer to the question of this point; false: not in time. */
static bool answered(struct letter *l, uint64_t until)
{
	unsigned looks = 0;

	do {
		while (from_parent(l)) {
			if (l->kind == LETTER_ANSWER && l->call == pace.calls)
				return true;
			read_plan(l);
		}
	} while (!pace.left[pace.child_count] && !over(until, &looks));
	return false;
}

static bool compare(uint64_t until)
{
	struct job_exchange x = {.bound = INT64_MAX};
	int64_t begin = job_clock_now();
	bool last = false;
	struct letter l;

	while (!last) {
		int64_t before;

		last = job_exchange_enough(&x, begin);
		before = job_clock_now();
		if (!post(job_parent(), last ? LETTER_LAST : LETTER_ASK, pace.calls) ||
		    !answered(&l, until))
			break;
		job_exchange_add(&x, &l.clock, before);
	}
	if (!last)
		post(job_parent(), LETTER_LAST, pace.calls);
	if (x.count)
		job_clock_point(&x, job_parent());
	return x.count > 0;
}

/* True: it will ask no more at this point. What it asked at others is of no use any more. */
static bool serve(unsigned child)
{
	struct letter l;

	while (take_letter(child, &l)) {
		if (l.call != pace.calls || l.kind == LETTER_BYE)
			continue;
		post(pace.others[child], LETTER_ANSWER, l.call);
		if (l.kind == LETTER_LAST)
			return true;
	}
	return pace.left[child];
}

static void serve_children(uint64_t until)
{
	uint32_t waiting = (uint32_t)((1ull << pace.child_count) - 1);
	unsigned looks = 0;

	do {
		for (unsigned i = 0; i < pace.child_count; i++)
			if (waiting & 1u << i && serve(i))
				waiting &= ~(1u << i);
	} while (waiting && !over(until, &looks));
}

static void point(void)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + pace.wait;

	if (job_rank() == 0)
		job_clock_point(NULL, 0);
	if (job_rank() == 0 || compare(until))
		serve_children(until);
	pace.last_point = clock_ns(CLOCK_MONOTONIC);
}

/* ---- between points -------------------------------------------------------------------------- */

/* Rank 0: when is the next one? Each rank on the way down has looked for letters by then. */
static void plan(uint64_t now)
{
	uint32_t depth = 0;

	if (pace.plan > pace.calls || now - pace.last_point < pace.period)
		return;
	for (int n = 1; n < job_size(); n *= 2)
		depth++;
	pace.plan = pace.calls + 1 + depth * (1 + 4 * (pace.gap - 1));
	pass_on(pace.plan);
}

/* Twice as many calls to the next look where they come fast. */
static void poll_letters(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool often = now - pace.last_look < pace.period / LOOKS;
	struct letter l;

	pace.gap = often ? pace.gap * 2 : pace.gap / 2;
	pace.gap = pace.gap < 1 ? 1 : pace.gap > GAP_MAX ? GAP_MAX : pace.gap;
	pace.last_look = now;
	if (job_rank() == 0)
		plan(now);
	else
		while (from_parent(&l))
			read_plan(&l);
	pace.look = pace.calls + pace.gap;
}

static bool bytes(const struct mpi_call *c, const struct mpi_info *info, enum mpi_role count,
		  enum mpi_role type)
{
	return (int64_t)mpi_arg(c, info, count) > 0 && mpi_type_of(mpi_arg(c, info, type)).size > 0;
}

/*
 * No rank leaves it before all have entered it, and all ranks can tell: each needs something of
 * every other, and not just where some array says so.
 */
static bool meets(const struct mpi_call *c, const struct mpi_info *info)
{
	switch (c->op) {
	case MPI_OP_Barrier:
		return true;
	case MPI_OP_Allreduce:
		return bytes(c, info, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
	case MPI_OP_Allgather:
	case MPI_OP_Alltoall:
	case MPI_OP_Reduce_scatter_block:
		return bytes(c, info, MPI_ROLE_COUNT2, MPI_ROLE_TYPE2);
	default:
		return false;
	}
}

void mpi_job_after_collective(const struct mpi_call *c, const struct mpi_info *info)
{
	uint64_t begin;

	if (!pace.on || mpi_arg(c, info, MPI_ROLE_COMM) != mpi_module->world || !meets(c, info) ||
	    (++pace.calls < pace.look && pace.calls != pace.plan))
		return;
	begin = tick_now();
	cap_guard_enter();
	if (pace.calls == pace.plan)
		point();
	else
		poll_letters();
	cap_guard_leave();
	cap_cost(CAP_COST_PROGRAM, tick_now() - begin);
}

/* ---- the end --------------------------------------------------------------------------------- */

void job_pace_end(void)
{
	struct letter bye = {.kind = LETTER_BYE}, l;

	if (!pace.on)
		return;
	pace.on = false;
	for (unsigned i = 0; i < pace.count; i++)
		mpi_module->send(pace.others[i], JOB_TAG_PACE, &bye, sizeof(bye));
	for (unsigned i = 0; i < pace.count; i++)
		while (!pace.left[i] &&
		       mpi_module->receive(pace.others[i], JOB_TAG_PACE, &l, sizeof(l)))
			pace.left[i] = l.kind == LETTER_BYE;
	mpi_module->settle();
}
