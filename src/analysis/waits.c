/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, and their waits in order; see waits.h. */
#include "analysis/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- ranks ------------------------------------------------------------------------------------- */

static bool is_rank(const struct t_process *p)
{
	return p->rank != UINT32_MAX && !p->merged_ranks && !p->telemetry;
}

/* The thread of each process that has most messages, of those with none the main thread. */
static uint32_t *busiest_threads(const struct timeline *tl)
{
	const struct trace *t = tl->trace;
	uint32_t *messages = calloc((size_t)t->threads_count + 1, sizeof(*messages));
	uint32_t *thread = calloc((size_t)t->processes_count + 1, sizeof(*thread));

	for (uint32_t i = 0; messages && i < tl->messages_count; i++)
		messages[tl->messages[i].thread]++;
	for (uint32_t i = 1; messages && thread && i < t->threads_count; i++) {
		uint32_t *best = &thread[t->threads[i].process];

		if (!*best || messages[i] > messages[*best] ||
		    (messages[i] == messages[*best] && t->threads[i].main))
			*best = i;
	}
	if (!messages) {
		free(thread);
		thread = NULL;
	}
	free(messages);
	return thread;
}

/* From the end of its first call of MPI to that of its last. */
static bool communicates(const struct timeline *tl, struct waits_rank *r)
{
	const struct tl_thread *th = &tl->threads[r->thread];
	bool any = false;

	for (uint32_t i = 0; i < th->count; i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];

		if (!(c->flags & CALL_MPI))
			continue;
		if (!any)
			r->begin = c->end;
		r->end = c->end;
		any = true;
	}
	return any;
}

static struct waits_world *world_of(struct waits *w, uint32_t number)
{
	for (uint32_t i = 0; i < w->worlds_count; i++)
		if (w->worlds[i].world == number)
			return &w->worlds[i];
	if (!vec_reserve(&w->worlds, &w->worlds_room, w->worlds_count, 1))
		return NULL;
	w->worlds[w->worlds_count] = (struct waits_world){.world = number};
	return &w->worlds[w->worlds_count++];
}

static bool find_ranks(struct waits *w)
{
	const struct trace *t = w->tl->trace;
	uint32_t *thread = busiest_threads(w->tl);

	if (!thread)
		return false;
	for (uint32_t i = 1; i < t->processes_count; i++) {
		struct waits_rank r = {.process = i, .thread = thread[i]};
		struct waits_world *world;

		if (!is_rank(&t->processes[i]) || !r.thread || !communicates(w->tl, &r))
			continue;
		world = world_of(w, t->processes[i].world);
		if (!world || !vec_reserve(&w->ranks, &w->ranks_room, w->ranks_count, 1)) {
			free(thread);
			return false;
		}
		r.world = (uint32_t)(world - w->worlds);
		world->ranks++;
		w->ranks[w->ranks_count++] = r;
	}
	free(thread);
	return true;
}

/* All have begun, until the last has ended. */
static bool find_members(struct waits *w)
{
	for (uint32_t i = 0; i < w->worlds_count; i++) {
		struct waits_world *world = &w->worlds[i];

		world->members = calloc((size_t)world->ranks + 1, sizeof(*world->members));
		if (!world->members)
			return false;
		world->ranks = 0;
		world->begin = INT64_MIN;
		world->end = INT64_MIN;
	}
	for (uint32_t i = 0; i < w->ranks_count; i++) {
		struct waits_rank *r = &w->ranks[i];
		struct waits_world *world = &w->worlds[r->world];

		world->members[world->ranks++] = i;
		if (r->begin > world->begin)
			world->begin = r->begin;
		if (r->end > world->end)
			world->end = r->end;
	}
	return true;
}

const char *waits_rank_text(const struct waits *w, uint32_t rank, char out[32])
{
	const struct trace *t = w->tl->trace;
	const struct t_process *p = &t->processes[w->ranks[rank].process];

	if (t->worlds > 1)
		snprintf(out, 32, "rank %u.%u", p->world, p->rank);
	else
		snprintf(out, 32, "rank %u", p->rank);
	return out;
}

/* ---- waits ------------------------------------------------------------------------------------- */

bool waits_add(struct waits *w, struct rank_wait wait)
{
	if (!vec_reserve(&w->list, &w->room, w->count, 1))
		return false;
	w->list[w->count++] = wait;
	return true;
}

static int by_rank(const void *a, const void *b)
{
	const struct rank_wait *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* One after the other: a call may complete a receive and a send, of which the longer wait counts. */
static bool order_waits(struct waits *w)
{
	uint32_t n = 0;

	if (w->count)
		qsort(w->list, w->count, sizeof(*w->list), by_rank);
	for (uint32_t i = 0; i < w->count; i++) {
		struct rank_wait x = w->list[i];

		if (n && w->list[n - 1].rank == x.rank && x.start < w->list[n - 1].end)
			x.start = w->list[n - 1].end;
		if (x.end <= x.start)
			continue;
		if (!w->ranks[x.rank].count++)
			w->ranks[x.rank].first = n;
		w->list[n++] = x;
	}
	w->count = n;
	w->before = calloc((size_t)n + 1, sizeof(*w->before));
	for (uint32_t i = 1; w->before && i < n; i++)
		if (w->list[i].rank == w->list[i - 1].rank)
			w->before[i] = w->before[i - 1] +
				       (uint64_t)(w->list[i - 1].end - w->list[i - 1].start);
	return w->before;
}

/* Waited by `rank` until `time`. */
static uint64_t waited(const struct waits *w, uint32_t rank, int64_t time)
{
	const struct waits_rank *r = &w->ranks[rank];
	uint32_t low = 0, high = r->count;
	const struct rank_wait *x;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->list[r->first + middle].start < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	x = &w->list[r->first + low - 1];
	return w->before[r->first + low - 1] +
	       (uint64_t)((x->end < time ? x->end : time) - x->start);
}

uint64_t waits_useful(const struct waits *w, uint32_t rank, int64_t start, int64_t end)
{
	if (end <= start)
		return 0;
	return (uint64_t)(end - start) - (waited(w, rank, end) - waited(w, rank, start));
}

/* ---- in MPI without waiting -------------------------------------------------------------------- */

/* Until `time` at most; of a burst its calls' time is known, not when they were. */
static uint64_t passed_in(const struct waits *w, uint32_t rank, const struct tl_call *c,
			  int64_t time)
{
	int64_t end = c->end < time ? c->end : time;
	uint64_t useful;

	if (!(c->flags & CALL_MPI) || end <= c->start ||
	    strncmp(w->tl->trace->ops[c->op].name, "MPI_File", 8) == 0)
		return 0;
	useful = waits_useful(w, rank, c->start, end);
	return c->flags & CALL_BURST && c->waited < useful ? c->waited : useful;
}

static bool list_passed(struct waits *w)
{
	const struct timeline *tl = w->tl;

	w->passed = calloc((size_t)tl->calls_count + 1, sizeof(*w->passed));
	for (uint32_t r = 0; w->passed && r < w->ranks_count; r++) {
		const struct tl_thread *th = &tl->threads[w->ranks[r].thread];

		for (uint32_t i = 1; i < th->count; i++) {
			uint32_t last = th->first + i - 1;

			w->passed[last + 1] =
				w->passed[last] +
				passed_in(w, r, &tl->calls[tl->outer[last]], INT64_MAX);
		}
	}
	return w->passed;
}

/* By a rank until `time`. */
static uint64_t passed(const struct waits *w, uint32_t rank, int64_t time)
{
	uint32_t thread = w->ranks[rank].thread, i = timeline_at(w->tl, thread, time);
	const struct tl_thread *th = &w->tl->threads[thread];
	const struct tl_call *c;

	if (!th->count)
		return 0;
	i = th->first + (i < th->count ? i : th->count - 1);
	c = &w->tl->calls[w->tl->outer[i]];
	return w->passed[i] + passed_in(w, rank, c, time);
}

uint64_t waits_work(const struct waits *w, uint32_t rank, int64_t start, int64_t end)
{
	uint64_t useful = waits_useful(w, rank, start, end), in;

	if (!useful)
		return 0;
	in = passed(w, rank, end) - passed(w, rank, start);
	return useful > in ? useful - in : 0;
}

bool waits_find(struct waits *w, const struct timeline *tl)
{
	*w = (struct waits){.tl = tl};
	if (!find_ranks(w) || !find_members(w))
		return false;
	w->cost = calloc((size_t)w->ranks_count + 1, sizeof(*w->cost));
	if (w->ranks_count < 2)
		return w->cost;
	return w->cost && waits_pair(w) && waits_collect(w) && order_waits(w) && list_passed(w) &&
	       waits_charge(w);
}

void waits_release(struct waits *w)
{
	for (uint32_t i = 0; i < w->worlds_count; i++)
		free(w->worlds[i].members);
	free(w->worlds);
	free(w->ranks);
	free(w->other);
	free(w->list);
	free(w->before);
	free(w->passed);
	free(w->cost);
	free(w->path);
	*w = (struct waits){0};
}
