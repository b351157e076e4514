/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of tracks, and where in it slices go: see data.h. */
#include "page/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "stream/names.h"
#include "stream/trace.h"

/* Among the tracks of a process. */
enum { SORT_GAPS = 1, SORT_THREADS = 16 };
#define SORT_DEVICES (1u << 31) /* behind all threads, whatever their numbers are */

bool page_tracks_init(struct page_data *d)
{
	const struct trace *t = d->t;

	d->of_process = calloc(t->processes_count + 1u, sizeof(*d->of_process));
	d->of_gaps = calloc(t->processes_count + 1u, sizeof(*d->of_gaps));
	d->of_thread = calloc(t->threads_count + 1u, sizeof(*d->of_thread));
	d->of_queue = calloc(t->queues_count + 1u, sizeof(*d->of_queue));
	d->of_agent = calloc(t->agents_count + 1u, sizeof(*d->of_agent));
	return d->of_process && d->of_gaps && d->of_thread && d->of_queue && d->of_agent;
}

void page_tracks_release(struct page_data *d)
{
	for (uint32_t i = 0; i < d->track_count; i++) {
		free(d->tracks[i].label);
		free(d->tracks[i].rows);
		free(d->tracks[i].lanes);
		free(d->tracks[i].open);
	}
	free(d->tracks);
	free(d->rows);
	free(d->of_process);
	free(d->of_gaps);
	free(d->of_thread);
	free(d->of_queue);
	free(d->of_agent);
}

static uint32_t new_track(struct page_data *d, uint32_t parent, uint32_t process,
			  enum page_track_kind kind, uint32_t sort, const char *label)
{
	char *copy = strndup(label, PAGE_NAME_MOST);

	if (!copy || !vec_reserve(&d->tracks, &d->track_room, d->track_count, 1)) {
		free(copy);
		d->failed = true;
		return UINT32_MAX;
	}
	d->tracks[d->track_count] = (struct page_track){
		.parent = parent, .process = process, .kind = kind, .label = copy, .sort = sort};
	return d->track_count++;
}

static uint32_t numbered(struct page_data *d, uint32_t track, uint32_t number)
{
	if (track != UINT32_MAX)
		d->tracks[track].number = number;
	return track;
}

/* Threads that only samples and times without a processor know have numbers from 1 << 24 on. */
static uint32_t sort_of_thread(const struct t_thread *th)
{
	uint32_t sort = th->main ? 0 : 1 + (th->index < UINT32_MAX ? th->index : th->index - 1);

	return sort < SORT_DEVICES - SORT_THREADS ? SORT_THREADS + sort : SORT_DEVICES - 1;
}

/* Ranks in their order, what is no rank behind them. */
static uint32_t sort_of_process(const struct t_process *p, uint32_t index)
{
	return p->rank != UINT32_MAX && p->rank < 1u << 30 ? p->rank : (1u << 30) + index;
}

/* Another process is called the same, or (`hosts`) is on another host. */
static bool is_any_other(const struct trace *t, const struct t_process *p, bool hosts)
{
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *q = &t->processes[i];

		if (q == p || q->telemetry)
			continue;
		if (hosts ? strcmp(q->hostname, p->hostname) != 0
			  : strcmp(name_program(q), name_program(p)) == 0)
			return true;
	}
	return false;
}

/* What tells processes apart comes first: labels are cut where there is no room. */
static void label_process(const struct trace *t, uint32_t process, uint32_t like, struct text *out)
{
	const struct t_process *p = &t->processes[process];
	const char *name = p->name ? p->name : name_program(p);
	bool hosts = p->hostname[0] && is_any_other(t, p, true);
	char number[32];

	if (p->telemetry) {
		text_addf(out, "telemetry of %.200s", p->hostname);
		return;
	}
	if (p->rank != UINT32_MAX) {
		text_add(out, "rank ");
		if (t->worlds > 1)
			text_addf(out, "%u.", p->world);
		text_addf(out, "%u \u00b7 ", p->rank);
	}
	if (like)
		text_addf(out, "+%s like it \u00b7 ", units_count(like, number));
	if (hosts)
		text_addf(out, "%.100s \u00b7 ", p->hostname);
	if (p->rank == UINT32_MAX && is_any_other(t, p, false))
		text_addf(out, "(%u) %.200s", p->pid, name);
	else
		text_addf(out, "%.200s%s(%u)", name, *name ? " " : "", p->pid);
	if (!hosts && p->rank != UINT32_MAX && p->hostname[0])
		text_addf(out, " on %.100s", p->hostname);
}

uint32_t page_track_of_process(struct page_data *d, uint32_t process)
{
	const struct t_process *p = &d->t->processes[process];
	bool rank = p->rank != UINT32_MAX;
	struct text label = {0};

	if (d->of_process[process])
		return d->of_process[process] - 1;
	label_process(d->t, process, d->like ? d->like[process] : 0, &label);
	d->of_process[process] =
		1 + new_track(d, UINT32_MAX, process, rank ? TRACK_RANK : TRACK_PROCESS,
			      sort_of_process(p, process), label.s ? label.s : "");
	text_release(&label);
	return d->of_process[process] - 1;
}

uint32_t page_track_of_thread(struct page_data *d, uint32_t process, uint32_t thread)
{
	const struct t_thread *th = &d->t->threads[thread];
	char label[300], number[32];
	uint32_t parent;

	if (!thread || thread >= d->t->threads_count)
		return page_track_of_process(d, process);
	if (d->of_thread[thread])
		return d->of_thread[thread] - 1;
	parent = page_track_of_process(d, th->process);
	snprintf(label, sizeof(label), "%.200s%s",
		 th->main ? "main thread" : name_thread(th, number, sizeof(number)),
		 th->own ? " (of Kymo)" : "");
	d->of_thread[thread] =
		1 + new_track(d, parent, th->process, TRACK_THREAD, sort_of_thread(th), label);
	return numbered(d, d->of_thread[thread] - 1, thread);
}

/* Several runtimes may call one device, each by an agent of its own: one track. */
uint32_t page_track_of_device(struct page_data *d, uint32_t process, uint32_t agent)
{
	const struct trace *t = d->t;
	const struct t_agent *a;
	uint32_t parent;

	if (!agent || agent >= t->agents_count)
		return page_track_of_process(d, process);
	agent = trace_whole_device(t, agent);
	a = &t->agents[agent];
	if (d->of_agent[agent])
		return d->of_agent[agent] - 1;
	parent = page_track_of_process(d, a->process);
	for (uint32_t i = 0; i < d->track_count; i++) {
		if (d->tracks[i].kind == TRACK_DEVICE && d->tracks[i].parent == parent &&
		    strcmp(d->tracks[i].label, a->label) == 0) {
			d->of_agent[agent] = i + 1;
			return i;
		}
	}
	d->of_agent[agent] =
		1 + new_track(d, parent, a->process, TRACK_DEVICE, SORT_DEVICES + agent, a->label);
	return d->of_agent[agent] - 1;
}

uint32_t page_track_of_queue(struct page_data *d, uint32_t process, uint32_t agent, uint32_t queue)
{
	const struct trace *t = d->t;
	const struct t_queue *q = &t->queues[queue < t->queues_count ? queue : 0];
	uint32_t parent;
	char label[300];

	if (!queue || queue >= t->queues_count)
		return page_track_of_device(d, process, agent);
	if (d->of_queue[queue])
		return d->of_queue[queue] - 1;
	parent = page_track_of_device(d, q->process, q->agent ? q->agent : agent);
	snprintf(label, sizeof(label), "%.200s (%.60s)", q->label, q->domain);
	d->of_queue[queue] =
		1 + new_track(d, parent, q->process, TRACK_QUEUE, SORT_THREADS + queue, label);
	return numbered(d, d->of_queue[queue] - 1, queue);
}

uint32_t page_track_of_gaps(struct page_data *d, uint32_t process)
{
	if (!d->of_gaps[process])
		d->of_gaps[process] = 1 + new_track(d, page_track_of_process(d, process), process,
						    TRACK_GROUP, SORT_GAPS, "not recorded");
	return d->of_gaps[process] - 1;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static kymo_status_t put(struct page_data *d, uint32_t row, const struct page_slice *s,
			 uint32_t *index)
{
	struct page_row *r = &d->rows[row];

	*index = (uint32_t)r->slices->count;
	r->last = s->end;
	r->busy += (uint64_t)(s->end - s->start);
	d->ops[s->op].count++;
	d->ops[s->op].busy += (uint64_t)(s->end - s->start);
	d->length = (uint64_t)s->end > d->length ? (uint64_t)s->end : d->length;
	return page_chain_add(&d->store, r->slices, s, s->start, s->end);
}

/* A new row of the track, at the end of `list`. */
static bool add_row(struct page_data *d, uint32_t track, uint32_t **list, uint32_t *count,
		    uint32_t *room)
{
	struct page_chain *c = page_chain_new(&d->store, sizeof(struct page_slice));

	if (!c || !vec_reserve(&d->rows, &d->row_room, d->row_count, 1) ||
	    !vec_reserve(list, room, *count, 1))
		return false;
	d->rows[d->row_count] = (struct page_row){.track = track, .slices = c};
	(*list)[(*count)++] = d->row_count++;
	return true;
}

static kymo_status_t leave(struct page_data *d, const char *what, uint32_t *row)
{
	unplaced_add(&d->left, what, 1);
	*row = UINT32_MAX;
	return KYMO_OK;
}

static const char too_many_rows[] =
	"records of threads and queues for which there are too many rows";

/* Times that cannot be drawn. */
static const char *undrawable(const struct page_slice *s)
{
	if (s->start < 0)
		return "records that begin before the trace does";
	if (s->end > (int64_t)COUNT_MAX)
		return "records that end more than 104 days after the trace begins";
	return s->end < s->start ? "records that end before they begin" : NULL;
}

static uint32_t lane_for(const struct page_data *d, const struct page_track *k, int64_t start)
{
	for (uint32_t i = 0; i < k->lane_count; i++) {
		const struct page_row *r = &d->rows[k->lanes[i]];

		if (!r->slices->count || r->last <= start)
			return i;
	}
	return k->lane_count;
}

kymo_status_t page_put_beside(struct page_data *d, uint32_t track, struct page_slice *s,
			      uint32_t *row, uint32_t *index)
{
	struct page_track *k = &d->tracks[track];
	uint32_t lane;

	if (undrawable(s))
		return leave(d, undrawable(s), row);
	lane = lane_for(d, k, s->start);
	if (lane >= PAGE_LANES_MOST)
		return leave(d, "records that are too many at once to draw", row);
	if (lane == k->lane_count && d->row_count >= PAGE_ROWS_MOST)
		return leave(d, too_many_rows, row);
	if (lane == k->lane_count && !add_row(d, track, &k->lanes, &k->lane_count, &k->lane_room))
		return KYMO_ERROR_NO_MEMORY;
	s->flags |= lane ? PAGE_OVERLAPS : 0;
	*row = k->lanes[lane];
	return put(d, *row, s, index);
}

kymo_status_t page_put_nested(struct page_data *d, uint32_t track, struct page_slice *s,
			      uint32_t *row, uint32_t *index)
{
	struct page_track *k = &d->tracks[track];

	if (undrawable(s))
		return leave(d, undrawable(s), row);
	while (k->depth && k->open[k->depth - 1] <= s->start)
		k->depth--;
	if (k->depth && s->end > k->open[k->depth - 1]) {
		s->flags |= PAGE_OVERLAPS;
		return page_put_beside(d, track, s, row, index);
	}
	if (k->depth == k->row_count && d->row_count >= PAGE_ROWS_MOST)
		return leave(d, too_many_rows, row);
	if (k->depth >= PAGE_DEPTH_MOST)
		return leave(d, "records that lie too deep in others to draw", row);
	if (!vec_reserve(&k->open, &k->open_room, k->depth, 1) ||
	    (k->depth == k->row_count && !add_row(d, track, &k->rows, &k->row_count, &k->row_room)))
		return KYMO_ERROR_NO_MEMORY;
	*row = k->rows[k->depth];
	if (d->rows[*row].slices->count && d->rows[*row].last > s->start) {
		s->flags |= PAGE_OVERLAPS; /* it came late */
		return page_put_beside(d, track, s, row, index);
	}
	if (s->end > s->start)
		k->open[k->depth++] = s->end;
	return put(d, *row, s, index);
}
