/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that the size of their job promises and of which there is no file. A whole manifest lists all that was recorded;
 * where there is none, or it was never completed, the other ranks tell how many there were.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/raw/internal.h"

#define MOST 65536u /* of a job: more are not believed, nothing bears them out */

/* The ranks of one world, by the files that are there. */
struct ranks {
	const struct t_process *some;
	uint32_t promised;
	bool left_out; /* on purpose, still beginning, or counted together */
	bool *there;   /* MOST of them */
};

static void look_at(struct ranks *r, const struct t_process *p)
{
	r->left_out |= p->some_ranks || p->recording || p->merged_ranks;
	if (p->rank == UINT32_MAX)
		return;
	if (p->ranks > r->promised) {
		r->promised = p->ranks;
		r->some = p;
	}
	if (p->rank < MOST)
		r->there[p->rank] = true;
}

static void add_rank(struct raw_trace *rt, uint32_t rank, const struct t_process *like)
{
	const struct t_process other = *like;
	struct t_process *p;
	char name[32];

	snprintf(name, sizeof(name), "rank %u", rank);
	p = raw_add_unread(rt, name, FILE_MISSING);
	p->rank = rank;
	p->ranks = other.ranks;
	p->rank_by = other.rank_by;
	p->job = other.job;
	p->world = other.world;
}

static void look_at_world(struct raw_trace *rt, struct ranks *r, uint32_t world)
{
	struct trace *t = rt->trace;
	struct t_process like;
	uint32_t missing = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].world == world)
			look_at(r, &t->processes[i]);
	if (r->left_out || !r->some || r->promised > MOST)
		return;
	like = *r->some; /* which moves when others are added */
	for (uint32_t i = 0; i < r->promised; i++)
		if (!r->there[i]) {
			add_rank(rt, i, &like);
			missing++;
		}
	if (missing)
		stream_warn(
			rt->log,
			"%s: of the %u ranks of its job %u are not there, and no whole manifest "
			"says why: what they recorded is lost",
			t->path, r->promised, missing);
}

void raw_find_missing_ranks(struct raw_trace *rt)
{
	const uint32_t worlds = rt->trace->worlds;

	for (uint32_t world = 0; !rt->listed && world < worlds; world++) {
		struct ranks r = {.there = calloc(MOST, sizeof(*r.there))};

		if (r.there)
			look_at_world(rt, &r, world);
		free(r.there);
	}
}
