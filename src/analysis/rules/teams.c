/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of OpenMP and who did what in them; see teams.h. */
#include "analysis/rules/teams.h"
#include "base/plain.h"

#include <inttypes.h>
#include <stdlib.h>

static int by_thread(const void *a, const void *b)
{
	const struct tl_team *x = &((const struct team *)a)->is, *y = &((const struct team *)b)->is;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

static int by_region(const void *a, const void *b)
{
	const struct team *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->is.region != y->is.region)
		return x->is.region < y->is.region ? -1 : 1;
	return (int)x->is.task - (int)y->is.task;
}

static int by_start(const void *a, const void *b)
{
	return by_thread(*(const struct team *const *)a, *(const struct team *const *)b);
}

static void find_nested(struct teams *t)
{
	int64_t end = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		struct tl_team *is = &t->at[i].is;

		if (!i || t->at[i - 1].is.thread != is->thread)
			end = INT64_MIN;
		t->at[i].nested = is->start < end;
		if (is->end > end)
			end = is->end;
	}
}

static bool index_calls(const struct timeline *tl, struct teams *t)
{
	uint32_t threads = tl->trace->threads_count, at = 0;

	t->calls = calloc((size_t)threads + 1, sizeof(*t->calls));
	for (uint32_t i = 0; t->calls && i <= threads; i++) {
		while (at < tl->calls_count && tl->calls[at].thread < i)
			at++;
		t->calls[i] = at;
	}
	return t->calls;
}

/* Several threads, none of it outside the window. */
static bool counts(const struct timeline *tl, const struct team *m)
{
	return !m->is.task && !m->nested && m->is.threads > 1 && m->is.region &&
	       m->is.start >= tl->start && m->is.end <= tl->end;
}

static bool collect(const struct timeline *tl, struct teams *t)
{
	t->at = calloc((size_t)tl->teams_count + 1, sizeof(*t->at));
	t->regions = calloc((size_t)tl->teams_count + 1, sizeof(struct team *));
	if (!t->at || !t->regions || !index_calls(tl, t))
		return false;
	t->count = tl->teams_count;
	for (uint32_t i = 0; i < t->count; i++)
		t->at[i] =
			(struct team){.is = tl->teams[i],
				      .process = tl->trace->threads[tl->teams[i].thread].process};
	qsort(t->at, t->count, sizeof(*t->at), by_thread);
	find_nested(t);
	qsort(t->at, t->count, sizeof(*t->at), by_region);
	for (uint32_t i = 0; i < t->count; i++)
		if (counts(tl, &t->at[i]))
			t->regions[t->regions_count++] = &t->at[i];
	qsort(t->regions, t->regions_count, sizeof(*t->regions), by_start);
	return true;
}

static bool all_known(struct diagnosis *d)
{
	const char *why = timeline_missing(d->tl)      ? "records of threads are missing"
			  : d->tl->partial             ? "records of threads were left out"
			  : d->trace->pauses_count > 1 ? "recording was paused"
						       : NULL;

	if (why)
		diagnosis_abstain(d, "%s: what threads did in regions of OpenMP is not known", why);
	return !why;
}

bool teams_find(struct diagnosis *d, struct teams *t)
{
	*t = (struct teams){0};
	if (!d->tl->teams_count)
		return false;
	if (!collect(d->tl, t)) {
		teams_release(t);
		d->failed = true;
		return false;
	}
	if (t->regions_count && !all_known(d)) {
		teams_release(t);
		return false;
	}
	if (!t->regions_count)
		teams_release(t);
	return t->regions_count;
}

/* Runtimes that do not tell the end of a part (LLVM 14's) leave it without the region that it is of. */
static bool ends_missing(const struct timeline *tl)
{
	uint64_t tasks = 0, missing = 0;

	for (uint32_t i = 0; i < tl->teams_count; i++) {
		tasks += tl->teams[i].task;
		missing += tl->teams[i].task && !tl->teams[i].region;
	}
	return 10 * missing >
	       tasks; /* fewer are of threads that were in one when the program ended */
}

bool teams_parts_known(struct diagnosis *d)
{
	bool missing = ends_missing(d->tl);

	if (!d->tl->implicit_tasks)
		diagnosis_abstain(d, "what threads did in regions of OpenMP was not recorded");
	else if (d->tl->explicit_tasks)
		diagnosis_abstain(d, "explicit tasks of OpenMP run in barriers: how long their "
				     "threads waited there is not known");
	else if (missing)
		diagnosis_abstain(d, "the runtime did not tell when threads were done with regions "
				     "of OpenMP");
	return d->tl->implicit_tasks && !d->tl->explicit_tasks && !missing;
}

void teams_release(struct teams *t)
{
	free(t->at);
	free(t->regions);
	free(t->calls);
	*t = (struct teams){0};
}

uint32_t teams_tasks(const struct teams *t, const struct team *region)
{
	uint32_t first = (uint32_t)(region - t->at), n = 0;

	while (first + n + 1 < t->count && region[n + 1].is.task &&
	       region[n + 1].process == region->process &&
	       region[n + 1].is.region == region->is.region)
		n++;
	return n;
}

uint32_t teams_first_call(const struct timeline *tl, const struct teams *t, uint32_t thread,
			  int64_t start)
{
	uint32_t low = t->calls[thread], high = t->calls[thread + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (tl->calls[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t teams_in_calls(const struct diagnosis *d, const struct teams *t, uint32_t thread,
			int64_t start, int64_t end, uint32_t flags)
{
	const struct timeline *tl = d->tl;
	uint64_t sum = 0;

	for (uint32_t i = teams_first_call(tl, t, thread, start); i < t->calls[thread + 1]; i++) {
		const struct tl_call *c = &tl->calls[i];
		int64_t from = c->start > start ? c->start : start;
		int64_t to = c->end < end ? c->end : end;

		if (c->start >= end)
			break;
		if (!(c->op_flags & flags) && !(c->flags & CALL_MPI))
			continue;
		if (to <= from)
			continue;
		sum += (uint64_t)(to - from);
		start = to; /* what lies in it counts once */
	}
	return sum;
}

uint64_t teams_waits(const struct diagnosis *d, const struct teams *t, uint32_t thread,
		     int64_t start, int64_t end)
{
	return teams_in_calls(d, t, thread, start, end, KYMO_OP_WAITS);
}

void teams_add_thread(const struct diagnosis *d, struct text *out, uint32_t thread)
{
	plain_addf(out, "thread %" PRIu64, (uint64_t)d->trace->threads[thread].tid);
}

void teams_add_rank(const struct diagnosis *d, struct text *out, uint32_t thread)
{
	const struct t_process *p = &d->trace->processes[d->trace->threads[thread].process];

	if (p->rank != UINT32_MAX)
		plain_addf(out, "rank %" PRIu32 ", ", p->rank);
}
