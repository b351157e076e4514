/* SPDX-License-Identifier: Apache-2.0 */
/* The gaps in the work of a device; see gaps.h. */
#include "analysis/gaps.h"

#include "base/vec.h"

static uint64_t common(int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t start = a > c ? a : c, end = b < d ? b : d;

	return end > start ? (uint64_t)(end - start) : 0;
}

/* How long another device worked that the process uses; of several that which worked longest. */
static uint64_t others_worked(const struct timeline *tl, const struct tl_work *next, int64_t start,
			      int64_t end)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < tl->devices_count; i++) {
		uint64_t ns = i == next->device || !timeline_uses(tl, i, next->process)
				      ? 0
				      : intervals_within(&tl->devices[i].all, start, end);

		most = ns > most ? ns : most;
	}
	return most;
}

static void look_at_wait(const struct timeline *tl, struct gap *g, const struct tl_call *wait,
			 int64_t until)
{
	int64_t start = wait->start > g->start ? wait->start : g->start;
	int64_t end = wait->end < until ? wait->end : until;

	g->wait = (uint32_t)(wait - tl->calls);
	g->devices += others_worked(tl, &tl->work[g->next], start, end);
}

/*
 * What its thread did from the beginning of the gap to the call that submitted: the calls before it,
 * backwards as far as the gap goes.
 */
static void look_at_host(const struct timeline *tl, struct gap *g, const struct tl_call *submit)
{
	int64_t until = submit->start < g->end ? submit->start : g->end;
	uint64_t inside, whole;

	g->queued = submit->start <= g->start;
	if (g->queued)
		return;
	inside = intervals_within(&tl->absent, g->start, until);
	for (const struct tl_call *c = submit; c > tl->calls && c[-1].thread == submit->thread;) {
		uint64_t ns;
		enum host_state state;

		c--;
		if (c->flags & (CALL_NESTED | CALL_OPENMP))
			continue;
		ns = common(c->start, c->end, g->start, until);
		if (!ns)
			break;
		if (c->flags & CALL_BURST) /* as much of it is spent in calls as of the whole */
			ns = (uint64_t)((double)ns *
					((double)c->waited / (double)(c->end - c->start)));
		state = timeline_state(c);
		inside += ns;
		if (state == HOST_MPI)
			g->mpi += ns;
		else if (state == HOST_WAIT)
			look_at_wait(tl, g, c, until);
		else if (state != HOST_LAUNCH)
			g->other += ns;
	}
	whole = (uint64_t)(until - g->start);
	g->outside = inside < whole ? whole - inside : 0;
}

bool gaps_find(struct gaps *gaps, const struct timeline *tl, uint32_t device)
{
	const struct tl_device *d = &tl->devices[device];
	uint32_t before = 0;
	int64_t until = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		uint32_t next = tl->order[d->first + i];
		const struct tl_work *w = &tl->work[next];

		if (i && w->start > until) {
			const struct tl_call *inner = timeline_call(tl, w), *c;
			struct gap *g;

			if (!vec_reserve(&gaps->at, &gaps->room, gaps->count, 1))
				return false;
			g = &gaps->at[gaps->count++];
			*g = (struct gap){.start = until,
					  .end = w->start,
					  .next = next,
					  .before = before,
					  .wait = TIMELINE_NONE,
					  .submit = TIMELINE_NONE};
			if (inner) {
				c = timeline_outermost(tl, inner);
				g->submit = (uint32_t)(c - tl->calls);
				look_at_host(tl, g, c);
			}
		}
		if (!i || w->end > until) {
			until = w->end;
			before = next;
		}
	}
	return true;
}
