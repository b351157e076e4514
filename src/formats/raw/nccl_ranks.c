/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks by communicators of NCCL. A rank in a communicator is the rank in the job only where the
 * communicator is the whole of it: where all processes that have any communicator with one of its
 * members have this one, each one rank of it, and nobody is missing. Parts of a job (a group of
 * tensor parallel ranks) have processes that have others, too. Where the launcher says how many
 * ranks there are the communicator has as many.
 */
#include "formats/raw/nccl_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/raw/internal.h"

struct member {
	uint64_t key;
	uint32_t process; /* of rt->processes */
	uint32_t rank, size, order;
};

struct whole {           /* of processes that have communicators with each other */
	uint32_t *above; /* by process: another of the same, in the end the first */
	uint32_t *count; /* by the first: processes */
	uint32_t *
		seen; /* by process: the order of the last that was looked at, of its communicators */
};

static int by_member(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	int order = (a->key > b->key) - (a->key < b->key);

	if (order == 0)
		order = (a->rank > b->rank) - (a->rank < b->rank);
	if (order == 0)
		order = (a->process > b->process) - (a->process < b->process);
	return order ? order : (a->order > b->order) - (a->order < b->order);
}

static uint32_t first_of(struct whole *w, uint32_t i)
{
	while (w->above[i] != i)
		i = w->above[i] = w->above[w->above[i]];
	return i;
}

/* A child has what its parent had when it was forked, and is not a member. */
static bool is_child(const struct raw_trace *rt, const struct member *m, const struct member *of)
{
	const struct t_process *child = &rt->trace->processes[rt->processes[m->process].process],
			       *parent = &rt->trace->processes[rt->processes[of->process].process];

	return child->ppid == parent->pid && strcmp(child->hostname, parent->hostname) == 0;
}

/* All of them sorted; one that is defined twice is one. */
static size_t collect(const struct raw_trace *rt, struct member *list)
{
	const struct trace *t = rt->trace;
	size_t n = 0, kept = 0;

	for (uint32_t i = 1; i < t->communicators_count; i++) {
		const struct t_communicator *c = &t->communicators[i];

		if (c->own_rank && c->key)
			list[n++] = (struct member){c->key, 0, c->own_rank - 1, c->size, i};
	}
	for (uint32_t i = 0, k = 0; i < n; i++) {
		/* Communicators lie as their processes do. */
		while (k + 1 < rt->count &&
		       rt->processes[k].process != t->communicators[list[i].order].process)
			k++;
		list[i].process = k;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_member);
	for (size_t i = 0; i < n; i++) {
		const struct member *last = kept ? &list[kept - 1] : NULL;

		if (last && last->key == list[i].key && last->rank == list[i].rank &&
		    (last->process == list[i].process || is_child(rt, &list[i], last)))
			continue;
		list[kept++] = list[i];
	}
	return kept;
}

static void join(struct whole *w, const struct member *list, size_t n, uint32_t processes)
{
	bool *has = calloc(processes + 1, sizeof(*has));

	for (uint32_t i = 0; i < processes; i++)
		w->above[i] = i;
	for (size_t i = 1; i < n; i++)
		if (list[i].key == list[i - 1].key)
			w->above[first_of(w, list[i].process)] = first_of(w, list[i - 1].process);
	for (size_t i = 0; has && i < n; i++) {
		w->count[first_of(w, list[i].process)] += !has[list[i].process];
		has[list[i].process] = true;
	}
	free(has);
}

/* [m, end) have one key; each rank once and each process once, and all that are to be there. */
static bool is_whole(struct raw_trace *rt, struct whole *w, const struct member *m,
		     const struct member *end)
{
	const uint32_t n = (uint32_t)(end - m);

	if (n != m->size || n < 2 || w->count[first_of(w, m->process)] != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct raw_process *p = &rt->processes[m[i].process];

		if (m[i].rank != i || m[i].size != n || w->seen[m[i].process] == m->order)
			return false;
		w->seen[m[i].process] = m->order;
		if (p->file.header.rank != UINT32_MAX && p->job.size && p->job.size != n)
			return false;
	}
	return true;
}

/* Two sources that agree are both named. */
static const char *name_source(struct trace *t, const struct t_process *tp, uint32_t rank)
{
	char text[32];

	if (tp->rank != rank || !*tp->rank_by || strcmp(tp->rank_by, "MPI") == 0)
		return "NCCL";
	return trace_string(t, text,
			    (size_t)snprintf(text, sizeof(text), "%.16s, NCCL", tp->rank_by));
}

static void settle(struct raw_trace *rt, const struct member *m, const struct member *end,
		   bool *found)
{
	for (; m < end; m++) {
		struct t_process *tp = &rt->trace->processes[rt->processes[m->process].process];
		char job[32];

		if (strcmp(tp->rank_by, "MPI") == 0 && tp->ranks > 1)
			continue;
		if (!*tp->job) {
			snprintf(job, sizeof(job), "nccl-%016" PRIx64, m->key);
			tp->job = trace_string(rt->trace, job, strlen(job));
		}
		tp->rank_by = name_source(rt->trace, tp, m->rank);
		tp->rank_stage = 0; /* nothing of MPI's */
		tp->rank = m->rank;
		tp->ranks = m->size;
		found[m->process] = true;
	}
}

/* Of several that are the whole the first that was made counts: a program may number its ranks anew. */
static void settle_first(struct raw_trace *rt, struct whole *w, const struct member *list, size_t n,
			 bool *found)
{
	const struct member **best = calloc(rt->count + 1, sizeof(*best)), **ends;
	size_t from, to;

	ends = calloc(rt->count + 1, sizeof(*ends));
	for (from = 0; best && ends && from < n; from = to) {
		uint32_t first = first_of(w, list[from].process);
		const struct member *lowest = &list[from];

		for (to = from + 1; to < n && list[to].key == list[from].key; to++)
			;
		if (!is_whole(rt, w, &list[from], &list[to]))
			continue;
		/* Rank 0 of each may be another process: what the same one has made is compared. */
		for (size_t i = from; i < to; i++)
			lowest = list[i].process == first ? &list[i] : lowest;
		if (best[first] && best[first]->order < lowest->order)
			continue;
		best[first] = lowest;
		ends[first] = &list[to];
	}
	for (uint32_t i = 0; best && ends && i < rt->count; i++)
		if (best[i])
			settle(rt, ends[i] - best[i]->size, ends[i], found);
	free(best);
	free(ends);
}

bool nccl_ranks(struct raw_trace *rt, bool *found)
{
	struct whole w = {calloc(rt->count + 1, sizeof(*w.above)),
			  calloc(rt->count + 1, sizeof(*w.count)),
			  calloc(rt->count + 1, sizeof(*w.seen))};
	struct member *list = calloc(rt->trace->communicators_count, sizeof(*list));
	bool ok = w.above && w.count && w.seen && list;
	size_t n;

	if (ok && rt->count) {
		n = collect(rt, list);
		join(&w, list, n, rt->count);
		settle_first(rt, &w, list, n, found);
	}
	free(w.above);
	free(w.count);
	free(w.seen);
	free(list);
	return ok;
}
