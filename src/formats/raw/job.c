/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a job: who they are, whom they talk to, how their clocks compare. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/raw/internal.h"

static const char *text_of(struct raw_process *p, const struct wire_def *d, unsigned i)
{
	size_t length;
	const char *s = wire_def_text(d, i, &length);

	return trace_string(p->rt->trace, s, length);
}

/* MPI knows better than the environment that the raw file's header was made from. */
void raw_add_rank(struct raw_process *p, const struct wire_def *d)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];

	tp->rank = (uint32_t)wire_def_get(d, DEF_RANK_RANK);
	tp->ranks = (uint32_t)wire_def_get(d, DEF_RANK_SIZE);
	tp->rank_by = "MPI";
	tp->mpi = text_of(p, d, DEF_RANK_IMPLEMENTATION);
	tp->thread_level = (int32_t)wire_def_get(d, DEF_RANK_THREADS) - 1;
	tp->rank_stage = (uint32_t)wire_def_get(d, DEF_RANK_STAGE);
}

/* ---- communicators ------------------------------------------------------------------------- */

static const struct t_ranks *runs_of(struct raw_process *p, const struct wire_def *d, unsigned i,
				     uint32_t *count)
{
	struct t_ranks *runs;
	size_t bytes;
	const char *data = wire_def_text(d, i, &bytes);

	_Static_assert(sizeof(*runs) == 12, "runs as they are stored");
	*count = (uint32_t)(bytes / sizeof(*runs));
	runs = trace_alloc(p->rt->trace, *count * sizeof(*runs) + 1);
	if (!runs)
		*count = 0;
	else
		memcpy(runs, data, *count * sizeof(*runs));
	return runs;
}

void raw_add_communicator(struct raw_process *p, const struct wire_def *d)
{
	struct trace *t = p->rt->trace;
	uint64_t id = wire_def_get(d, DEF_COMMUNICATOR_ID);
	uint32_t i = map_get(&p->communicators, id);
	struct t_communicator *c;

	if (!i) {
		i = t->communicators_count;
		trace_add(t, communicators);
		if (!map_set(&p->communicators, id, i))
			return;
	}
	c = &t->communicators[i];
	*c = (struct t_communicator){
		.process = p->process,
		.kind = (uint32_t)wire_def_get(d, DEF_COMMUNICATOR_KIND),
		.id = (uint32_t)id,
		.name = text_of(p, d, DEF_COMMUNICATOR_NAME),
		.size = (uint32_t)wire_def_get(d, DEF_COMMUNICATOR_SIZE),
		.remote_size = (uint32_t)wire_def_get(d, DEF_COMMUNICATOR_REMOTE_SIZE),
		.parent = map_get(&p->communicators, wire_def_get(d, DEF_COMMUNICATOR_PARENT)),
		.key = wire_def_get(d, DEF_COMMUNICATOR_KEY),
		.handle = wire_def_get(d, DEF_COMMUNICATOR_HANDLE),
		.own_rank = (uint32_t)wire_def_get(d, DEF_COMMUNICATOR_OWN_RANK),
	};
	c->members = runs_of(p, d, DEF_COMMUNICATOR_MEMBERS, &c->member_runs);
	c->remote = runs_of(p, d, DEF_COMMUNICATOR_REMOTE, &c->remote_runs);
}

/* ---- clocks -------------------------------------------------------------------------------- */

void raw_add_job_clock(struct raw_process *p, const struct wire_def *d)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];

	if (!vec_reserve(&p->job_points, &p->job_point_room, p->job_point_count, 1))
		return;
	p->job_points[p->job_point_count++] =
		(struct job_point){(int64_t)wire_def_get(d, DEF_JOB_CLOCK_NODE),
				   (int64_t)wire_def_get(d, DEF_JOB_CLOCK_OFFSET),
				   (int64_t)wire_def_get(d, DEF_JOB_CLOCK_ERROR)};
	tp->aligned = true;
	tp->job_points++;
	tp->job_measured = (int64_t)wire_def_get(d, DEF_JOB_CLOCK_MEASURED);
	tp->job_measured_error_ns = (double)wire_def_get(d, DEF_JOB_CLOCK_BOUND);
}

/* The sampler is no rank: the clock of its node is that of a rank there, whose file comes before. */
static void borrow_points(struct raw_process *p)
{
	const struct trace *t = p->rt->trace;
	const struct raw_process *rank = NULL;

	for (uint32_t i = 0; i < p->rt->count && !rank; i++) {
		const struct raw_process *r = &p->rt->processes[i];

		if (r != p && r->job_point_count &&
		    strcmp(t->processes[r->process].hostname, t->processes[p->process].hostname) ==
			    0)
			rank = r;
	}
	if (!rank)
		return;
	p->job_points = calloc(rank->job_point_count, sizeof(*p->job_points));
	if (!p->job_points)
		return;
	memcpy(p->job_points, rank->job_points, rank->job_point_count * sizeof(*p->job_points));
	p->job_point_count = rank->job_point_count;
}

void raw_align(struct raw_process *p)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];

	if (tp->telemetry && !p->job_point_count)
		borrow_points(p);

	tick_map_align(&p->ticks, p->job_points, p->job_point_count);
	for (uint32_t i = 0; i < p->job_point_count; i++)
		tp->job_error_ns = (double)p->job_points[i].error > tp->job_error_ns
					   ? (double)p->job_points[i].error
					   : tp->job_error_ns;
	tp->job_offset = p->job_point_count ? p->job_points[0].offset : 0;
}
