/* SPDX-License-Identifier: Apache-2.0 */
/* See recorded.h. */
#include "stream/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "wire/raw.h"

int64_t recorded_until(const struct trace *t, const struct t_process *p)
{
	return p->end ? p->end : p->seen ? p->seen : t->end;
}

bool recorded_to_end(const struct t_process *p)
{
	return p->how_ended != UINT32_MAX && p->how_ended != RAW_END_KILLED &&
	       p->how_ended != RAW_END_STOPPED && p->how_ended != RAW_END_RUNNING;
}

int64_t recorded_thread_start(const struct trace *t, const struct t_thread *th)
{
	int64_t start = t->processes[th->process].start;

	return th->start && !(th->main && start && start < th->start) ? th->start : start;
}

struct recorded recorded_of(const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];
	struct recorded r = {.lived = recorded_until(t, p) - p->start};

	r.lived = r.lived > 0 ? r.lived : 0;
	r.ns = r.lived;
	for (uint32_t i = 1; i < t->pauses_count; i++) {
		if (t->pauses[i].process != process)
			continue;
		r.pauses++;
		r.ns -= t->pauses[i].end - t->pauses[i].start;
	}
	r.ns = r.ns > 0 ? r.ns : 0;
	return r;
}

struct edge {
	int64_t at;
	int step; /* one process more that is in a pause, or less */
};

static int by_time(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;

	return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : a->step - b->step;
}

/* Time in which `all` are in a pause. */
static int64_t together(struct edge *edges, uint32_t count, uint32_t all)
{
	int64_t ns = 0, since = 0;
	uint32_t paused = 0;

	qsort(edges, count, sizeof(*edges), by_time);
	for (uint32_t i = 0; i < count; i++) {
		if (paused == all)
			ns += edges[i].at - since;
		paused += (uint32_t)edges[i].step;
		since = edges[i].at;
	}
	return ns;
}

int64_t recorded_gaps(const struct trace *t, const bool *of)
{
	struct edge *edges = malloc(2 * (t->pauses_count + 1u) * sizeof(*edges));
	uint32_t count = 0, all = 0;
	int64_t ns = -1;

	for (uint32_t i = 1; i < t->processes_count; i++)
		all += of[i];
	for (uint32_t i = 1; edges && i < t->pauses_count; i++) {
		const struct t_pause *p = &t->pauses[i];

		if (p->process >= t->processes_count || !of[p->process] || p->end <= p->start)
			continue;
		edges[count++] = (struct edge){p->start, 1};
		edges[count++] = (struct edge){p->end, -1};
	}
	if (edges)
		ns = all ? together(edges, count, all) : 0;
	free(edges);
	return ns;
}

/* When the first program began in the process of `p`: exec goes on in it, as do its times. */
static int64_t process_began(const struct trace *t, const struct t_process *p)
{
	int64_t began = p->start;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *q = &t->processes[i];

		if (q->pid == p->pid && q->how_ended == RAW_END_EXEC && q->start < began &&
		    strcmp(q->hostname ? q->hostname : "", p->hostname ? p->hostname : "") == 0)
			began = q->start;
	}
	return began;
}

/* What the system tells reaches beyond the last record, to where the process was gone: never more than was recorded. */
uint64_t recorded_delay_ns(const struct trace *t, const struct t_process *p)
{
	int64_t lived;

	if (!p->delay_ns)
		return 0;
	lived = recorded_until(t, p) - process_began(t, p);
	if (lived <= 0)
		return 0;
	return p->delay_ns < (uint64_t)lived ? p->delay_ns : (uint64_t)lived;
}

double recorded_delay(const struct trace *t, const struct t_process *p)
{
	uint64_t delay = recorded_delay_ns(t, p);

	return delay ? (double)delay / (double)(recorded_until(t, p) - process_began(t, p)) : 0;
}
