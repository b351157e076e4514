/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: what nests lies on the row's own location, what crosses it on further ones of the same
 * group. Leaves and points are written when it is known that nothing comes before them.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/otf2/otf2.h"
#include "stream/names.h"

/* ---- names and locations ------------------------------------------------------------------- */

struct owner { /* of a row */
	char name[300];
	OTF2_LocationType type;
	uint32_t group;
};

static bool of(const struct row *rows, uint32_t count, const struct row *r, uint32_t *index)
{
	if (r < rows || r >= rows + count)
		return false;
	*index = (uint32_t)(r - rows);
	return true;
}

static void find_owner(struct otf2 *w, const struct row *r, struct owner *o)
{
	const struct trace *t = w->t;
	char room[64];
	uint32_t i = 0;

	o->type = OTF2_LOCATION_TYPE_CPU_THREAD;
	if (of(w->threads, t->threads_count, r, &i)) {
		snprintf(o->name, sizeof(o->name), "%s",
			 name_thread(&t->threads[i], room, sizeof(room)));
		o->group = define_process_group(w, t->threads[i].process);
	} else if (of(w->processes, t->processes_count, r, &i)) {
		snprintf(o->name, sizeof(o->name), "of the whole process");
		o->group = define_process_group(w, i);
	} else if (of(w->queues, t->queues_count, r, &i)) {
		const struct t_queue *q = &t->queues[i];

		snprintf(o->name, sizeof(o->name), "%s",
			 q->label && *q->label ? q->label : "queue");
		o->group = define_accelerator(w, q->agent, q->context);
		o->type = OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
	} else {
		of(w->agents, t->agents_count, r, &i);
		snprintf(o->name, sizeof(o->name), "queue not known");
		o->group = define_accelerator(w, i, 0);
		o->type = OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
	}
}

static struct lane *add_lane(struct otf2 *w, struct row *r)
{
	struct owner o;
	struct lane *l;

	if (!vec_reserve(&r->lanes, &r->room, r->count, 1)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return NULL;
	}
	find_owner(w, r, &o);
	if (r->count) {
		size_t n = strlen(o.name);

		snprintf(o.name + n, sizeof(o.name) - n, " (overlap %u)", r->count);
	}
	l = &r->lanes[r->count++];
	*l = (struct lane){.last = INT64_MIN,
			   .location = archive_location(&w->archive, o.name, o.type, o.group)};
	return l;
}

struct row *row_of_thread(struct otf2 *w, uint32_t process, uint32_t thread)
{
	if (thread && thread < w->t->threads_count)
		return &w->threads[thread];
	return &w->processes[process < w->t->processes_count ? process : 0];
}

struct row *row_of_queue(struct otf2 *w, uint32_t process, uint32_t agent, uint32_t queue)
{
	if (queue && queue < w->t->queues_count)
		return &w->queues[queue];
	if (agent && agent < w->t->agents_count)
		return &w->agents[agent];
	return &w->processes[process < w->t->processes_count ? process : 0];
}

uint32_t row_location(struct otf2 *w, struct row *r)
{
	if (!r->count && !add_lane(w, r))
		return 0;
	return r->lanes[0].location;
}

/* ---- points -------------------------------------------------------------------------------- */

static bool point_before(const struct point *a, const struct point *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void row_point(struct otf2 *w, struct row *r, const struct point *p)
{
	uint32_t i = r->point_count;
	struct point new = *p;

	if (!vec_reserve(&r->points, &r->point_room, i, 1)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	new.order = r->order++;
	for (; i && point_before(&new, &r->points[(i - 1) / 2]); i = (i - 1) / 2)
		r->points[i] = r->points[(i - 1) / 2];
	r->points[i] = new;
	r->point_count++;
}

static void pop_point(struct row *r, struct point *p)
{
	struct point last = r->points[--r->point_count];
	uint32_t i = 0;

	*p = r->points[0];
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < r->point_count &&
		    point_before(&r->points[child + 1], &r->points[child]))
			child++;
		if (child >= r->point_count || !point_before(&r->points[child], &last))
			break;
		r->points[i] = r->points[child];
		i = child;
	}
	r->points[i] = last;
}

static void write_point(struct otf2 *w, struct row *r, struct lane *l)
{
	OTF2_EvtWriter *e = archive_events(&w->archive, l->location);
	struct point p;

	pop_point(r, &p);
	if (p.time < l->last)
		p.time = l->last;
	l->last = p.time;
	switch (p.kind) {
	case POINT_MEASURE:
		archive_check(&w->archive,
			      OTF2_EvtWriter_MeasurementOnOff(e, NULL, otf2_time(p.time),
							      p.a ? OTF2_MEASUREMENT_ON
								  : OTF2_MEASUREMENT_OFF));
		return;
	case POINT_METRIC:
		metrics_point(w, e, &p);
		return;
	case POINT_ACQUIRE:
		archive_check(&w->archive,
			      OTF2_EvtWriter_ThreadAcquireLock(e, NULL, otf2_time(p.time),
							       OTF2_PARADIGM_OPENMP, p.a, p.b));
		return;
	case POINT_FENCE_END:
	case POINT_WINDOW_LOCK:
	case POINT_WINDOW_UNLOCK:
		epochs_point(w, e, &p);
		return;
	default:
		mpi_point(w, e, &p);
	}
}

/* ---- intervals ----------------------------------------------------------------------------- */

static void add_late(struct otf2 *w, enum otf2_attribute a, uint64_t v)
{
	archive_check(&w->archive, OTF2_AttributeList_AddUint64(w->late, a, v));
}

/* What a call did to memory is known after it was entered. */
static void add_memory(struct otf2 *w, const struct open *o)
{
	bool gone = o->memory == 2;

	add_late(w, gone ? ATTRIBUTE_DEALLOCATION_SIZE : ATTRIBUTE_ALLOCATION_SIZE, o->bytes);
	add_late(w, gone ? ATTRIBUTE_ARGUMENT_ADDRESS : ATTRIBUTE_RESULT_ADDRESS, o->address);
}

static void close_innermost(struct otf2 *w, struct lane *l, int64_t limit)
{
	const struct open *o = &l->open[--l->depth];
	int64_t time = o->end == INT64_MAX ? limit : o->end;

	time = time < l->last ? l->last : time;
	if (w->openmp)
		openmp_leaving(w, o, l->location, otf2_time(time));
	if (o->memory)
		add_memory(w, o);
	if (o->waited)
		archive_check(&w->archive, OTF2_AttributeList_AddUint8(
						   w->late, ATTRIBUTE_SUBMISSION_MODE, MODE_WAITS));
	if (o->told) {
		add_late(w, ATTRIBUTE_SENT, o->sent);
		add_late(w, ATTRIBUTE_RECEIVED, o->received);
	}
	write_leave(w, l->location, time, o->region);
	l->last = time;
}

static void advance_lane(struct otf2 *w, struct lane *l, int64_t time)
{
	while (l->depth && l->open[l->depth - 1].end <= time)
		close_innermost(w, l, time);
}

/* Points lie on the first lane; one at the end of an interval is in it. */
static void advance_first(struct otf2 *w, struct row *r, struct lane *l, int64_t time)
{
	while (r->point_count && r->points[0].time <= time) {
		while (l->depth && l->open[l->depth - 1].end < r->points[0].time)
			close_innermost(w, l, time);
		write_point(w, r, l);
	}
	advance_lane(w, l, time);
}

void row_advance(struct otf2 *w, struct row *r, int64_t time)
{
	if (!r->count && r->point_count && !add_lane(w, r))
		return;
	for (uint32_t i = 0; i < r->count; i++) {
		if (i == 0 && r->point_count)
			advance_first(w, r, &r->lanes[i], time);
		else
			advance_lane(w, &r->lanes[i], time);
	}
}

static bool lane_fits(const struct lane *l, int64_t start, int64_t end, bool nests)
{
	if (start < l->last)
		return false;
	return !l->depth || (nests && end <= l->open[l->depth - 1].end);
}

struct lane *row_open(struct otf2 *w, struct row *r, int64_t start, int64_t end, bool nests)
{
	struct lane *l = r->lanes;

	if (r->count == 1 && !r->point_count) { /* as of most rows, most of the time */
		advance_lane(w, l, start);
		if (lane_fits(l, start, end, nests)) {
			l->last = start;
			return l;
		}
	}
	row_advance(w, r, start);
	for (uint32_t i = 0; i < r->count; i++) {
		l = &r->lanes[i];
		if (lane_fits(l, start, end, nests)) {
			l->last = start;
			return l;
		}
	}
	l = add_lane(w, r);
	if (l)
		l->last = start;
	return l;
}

void lane_push(struct otf2 *w, struct lane *l, const struct open *o)
{
	if (!vec_reserve(&l->open, &l->room, l->depth, 1)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	l->open[l->depth++] = *o;
}

struct open *row_find(struct row *r, uint64_t id)
{
	for (uint32_t i = 0; id && i < r->count; i++) {
		for (uint32_t j = r->lanes[i].depth; j-- > 0;) {
			if (r->lanes[i].open[j].id == id)
				return &r->lanes[i].open[j];
		}
	}
	return NULL;
}

static void end_row(struct otf2 *w, struct row *r, int64_t end)
{
	row_advance(w, r, INT64_MAX - 1);
	for (uint32_t i = 0; i < r->count; i++) {
		while (r->lanes[i].depth)
			close_innermost(w, &r->lanes[i], end);
	}
}

/* Of what never ended, the trace's end is the end. */
void rows_end(struct otf2 *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = 0; i < t->threads_count; i++)
		end_row(w, &w->threads[i], t->end);
	for (uint32_t i = 0; i < t->processes_count; i++)
		end_row(w, &w->processes[i], t->end);
	for (uint32_t i = 0; i < t->queues_count; i++)
		end_row(w, &w->queues[i], t->end);
	for (uint32_t i = 0; i < t->agents_count; i++)
		end_row(w, &w->agents[i], t->end);
}

void row_release(struct row *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->lanes[i].open);
	free(r->lanes);
	free(r->points);
}
