/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in use, one metric for each kind of memory of each location group, and values of counters.
 * Their events lie on a metric location of each group.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"
#include "stream/names.h"

#define SERIES_MAX 65536u
#define LIVE_MAX   (1u << 20)

static const char too_many[] = "values of counters beyond 65,536 metrics",
		  no_counter[] = "values of unknown counters";

struct metric { /* a class, or an instance of one */
	bool is_class;
	bool whole; /* of a class: bytes, not a number with a fraction */
	bool gauge;
	const char *unit, *description;
	uint32_t name; /* string */
	struct series series;
	int64_t total;
};

struct metric_row {
	uint32_t group;
	struct row row;
};

struct metrics {
	struct metric *list; /* number is place */
	uint32_t count, room;
	struct map places; /* by hash of what it is: place + 1 */
	struct metric_row *rows;
	uint32_t row_count, row_room;
	struct map row_places; /* group + 1: place + 1 */
	struct map live;       /* process and allocation: bytes + 1 */
};

kymo_status_t metrics_begin(struct otf2 *w)
{
	w->metrics = calloc(1, sizeof(*w->metrics));
	return w->metrics ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- rows, classes and instances ----------------------------------------------------------- */

/* The metric location of a group. */
static struct row *row_of(struct otf2 *w, uint32_t group)
{
	struct metrics *m = w->metrics;
	uint64_t place = map_get(&m->row_places, group + 1u);
	struct row *r;

	if (place)
		return &m->rows[place - 1].row;
	if (!vec_reserve(&m->rows, &m->row_room, m->row_count, 1) ||
	    !map_set(&m->row_places, group + 1u, m->row_count + 1u)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return NULL;
	}
	m->rows[m->row_count] = (struct metric_row){.group = group};
	r = &m->rows[m->row_count++].row;
	if (!vec_reserve(&r->lanes, &r->room, 0, 1)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return NULL;
	}
	r->lanes[0] = (struct lane){.last = INT64_MIN,
				    .location = archive_location(&w->archive, "metrics",
								 OTF2_LOCATION_TYPE_METRIC, group)};
	r->count = 1;
	return r;
}

/* Place of a metric, made when it is new. UINT32_MAX: there are too many. */
static uint32_t metric(struct otf2 *w, uint64_t key, const struct metric *like)
{
	struct metrics *m = w->metrics;
	uint64_t place = map_get(&m->places, key);

	if (place)
		return (uint32_t)(place - 1);
	if (m->count >= SERIES_MAX)
		return UINT32_MAX;
	if (!vec_reserve(&m->list, &m->room, m->count, 1) ||
	    !map_set(&m->places, key, m->count + 1u)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return UINT32_MAX;
	}
	m->list[m->count] = *like;
	return m->count++;
}

/* ---- memory -------------------------------------------------------------------------------- */

static uint32_t memory_series(struct otf2 *w, uint32_t group, uint8_t kind, uint32_t recorder)
{
	struct metric class = {.is_class = true, .whole = true, .unit = "bytes", .description = ""};
	struct metric instance = {.series = {.recorder = recorder,
					     .scope_kind = OTF2_SCOPE_LOCATION_GROUP,
					     .scope = group}};
	uint64_t key = hash_mix(hash_u64(1), kind);
	char name[64];

	snprintf(name, sizeof(name), "memory in use: %s", name_memory_kind(kind));
	class.name = archive_string(&w->archive, name);
	instance.series.klass = metric(w, key, &class);
	if (instance.series.klass == UINT32_MAX)
		return UINT32_MAX;
	return metric(w, hash_mix(hash_mix(key, 2), group), &instance);
}

/* What the record adds to the memory in use; parts of other memory add nothing. */
static int64_t memory_delta(struct otf2 *w, const struct rec_allocation *r, bool gone)
{
	struct map *live = &w->metrics->live;
	uint64_t key = hash_mix(hash_u64(r->base.process), r->allocation), bytes;

	if (r->parent)
		return 0;
	if (!gone) {
		if (r->allocation && live->count < LIVE_MAX)
			map_set(live, key, r->bytes + 1);
		return (int64_t)r->bytes;
	}
	bytes = r->allocation ? map_remove(live, key) : r->bytes + 1;
	return bytes ? -(int64_t)(bytes - 1) : 0;
}

/* The call that did it says so when it is left; false: it is not there. */
static bool tell_call(struct otf2 *w, const struct rec_allocation *r, bool gone)
{
	struct row *row = row_of_thread(w, r->base.process, r->base.thread);
	struct open *o = row_find(row, r->correlation);

	if (!o || w->device_only)
		return false;
	o->memory = gone ? 2 : 1;
	o->bytes = r->bytes;
	o->address = r->address;
	return true;
}

kymo_status_t metrics_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct otf2 *w = otf2_of(s);
	bool gone = w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;
	uint32_t group = r->agent && r->agent < w->t->agents_count
				 ? define_accelerator(w, r->agent, r->context)
				 : define_process_group(w, r->base.process);
	struct row *row = row_of(w, group);
	struct point p = {.time = gone ? r->base.start : r->base.end, .kind = POINT_METRIC};

	unplaced_add(&w->unplaced, "numbers of allocations", r->allocation || r->parent);
	if (!tell_call(w, r, gone)) {
		p.c = gone ? 2 : 1;
		p.y = r->address;
	}
	p.x = (uint64_t)memory_delta(w, r, gone);
	if (!row)
		return otf2_status(w);
	p.a = memory_series(w, group, r->kind, row->lanes[0].location);
	row_advance(w, row, r->base.start - 1);
	if (p.a != UINT32_MAX && p.x)
		row_point(w, row, &p);
	else if (p.c)
		unplaced_add(&w->unplaced, "addresses of memory outside of recorded calls", 1);
	return otf2_status(w);
}

/* ---- counters ------------------------------------------------------------------------------ */

static uint32_t counter_class(struct otf2 *w, const struct rec_counter *r)
{
	const struct t_counter *c = &w->t->counters[r->counter];
	struct metric class = {.is_class = true,
			       .gauge = c->flags & 1,
			       .unit = c->unit,
			       .description = c->description};
	char name[300];

	if (c->dimensions && *c->dimensions)
		snprintf(name, sizeof(name), "%s[%llu]", c->name, (unsigned long long)r->instance);
	else
		snprintf(name, sizeof(name), "%s", c->name);
	class.name = archive_string(&w->archive, name);
	return metric(w, hash_mix(hash_mix(hash_u64(3), class.name), r->counter), &class);
}

/* Of a device, whichever process and context asks for it, of a thread, or of the host as a whole. */
static void find_scope(struct otf2 *w, const struct rec_counter *r, struct series *s,
		       uint32_t *group)
{
	*group = define_process_group(w, r->base.process);
	s->scope_kind = OTF2_SCOPE_LOCATION_GROUP;
	if (r->agent && r->agent < w->t->agents_count) {
		s->scope_kind = OTF2_SCOPE_SYSTEM_TREE_NODE;
		s->scope = define_device(w, r->agent);
		return;
	}
	if (r->base.thread && !w->t->processes[r->base.process].telemetry) {
		s->scope_kind = OTF2_SCOPE_LOCATION;
		s->scope = row_location(w, row_of_thread(w, r->base.process, r->base.thread));
		return;
	}
	s->scope = *group;
}

kymo_status_t metrics_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct otf2 *w = otf2_of(s);
	struct metric instance = {0};
	struct point p = {.time = r->base.start,
			  .kind = POINT_METRIC,
			  .b = 1,
			  .value = r->value,
			  .y = r->duration > 0 ? (uint64_t)r->duration : 0,
			  .request = r->correlation};
	uint64_t key;
	struct row *row;
	uint32_t group;

	if (!r->counter || r->counter >= w->t->counters_count) {
		unplaced_leave(&w->unplaced, no_counter, 1, 1);
		return KYMO_OK;
	}
	find_scope(w, r, &instance.series, &group);
	row = row_of(w, group);
	instance.series.klass = counter_class(w, r);
	if (!row || instance.series.klass == UINT32_MAX) {
		unplaced_leave(&w->unplaced, too_many, 1, 1);
		return otf2_status(w);
	}
	instance.series.recorder = row->lanes[0].location;
	key = hash_mix(hash_mix(hash_u64(4), instance.series.klass), instance.series.scope);
	p.a = metric(w, hash_mix(key, (uint64_t)instance.series.scope_kind), &instance);
	row_advance(w, row, r->base.start - 1);
	if (p.a != UINT32_MAX)
		row_point(w, row, &p);
	else
		unplaced_leave(&w->unplaced, too_many, 1, 1);
	return otf2_status(w);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Memory that no recorded call tells of. */
static void add_address(struct otf2 *w, const struct point *p)
{
	uint64_t bytes = (int64_t)p->x < 0 ? -p->x : p->x;
	bool gone = p->c == 2;

	archive_check(&w->archive, OTF2_AttributeList_AddUint64(w->late,
								gone ? ATTRIBUTE_DEALLOCATION_SIZE
								     : ATTRIBUTE_ALLOCATION_SIZE,
								bytes));
	archive_check(&w->archive, OTF2_AttributeList_AddUint64(w->late,
								gone ? ATTRIBUTE_ARGUMENT_ADDRESS
								     : ATTRIBUTE_RESULT_ADDRESS,
								p->y));
}

void metrics_point(struct otf2 *w, OTF2_EvtWriter *e, const struct point *p)
{
	struct metric *m = &w->metrics->list[p->a];
	OTF2_Type type = p->b ? OTF2_TYPE_DOUBLE : OTF2_TYPE_UINT64;
	OTF2_MetricValue value;

	if (p->b) {
		value.floating_point = p->value;
	} else {
		m->total += (int64_t)p->x;
		value.unsigned_int = m->total > 0 ? (uint64_t)m->total : 0;
	}
	if (p->b && p->y)
		archive_check(&w->archive,
			      OTF2_AttributeList_AddUint64(w->late, ATTRIBUTE_DURATION, p->y));
	if (!p->b && p->c)
		add_address(w, p);
	if (p->request)
		archive_check(&w->archive, OTF2_AttributeList_AddUint64(
						   w->late, ATTRIBUTE_CORRELATION_ID, p->request));
	archive_check(&w->archive, OTF2_EvtWriter_Metric(e, w->late, otf2_time(p->time), p->a, 1,
							 &type, &value));
}

void metrics_flush(struct otf2 *w)
{
	for (uint32_t i = 0; i < w->metrics->row_count; i++)
		row_advance(w, &w->metrics->rows[i].row, INT64_MAX - 1);
}

static void define_class(struct otf2 *w, uint32_t number, OTF2_MetricMemberRef member)
{
	const struct metric *m = &w->metrics->list[number];
	struct archive *a = &w->archive;

	archive_check(a, OTF2_GlobalDefWriter_WriteMetricMember(
				 a->defs, member, m->name,
				 archive_string(a, m->description ? m->description : ""),
				 OTF2_METRIC_TYPE_OTHER,
				 m->whole   ? OTF2_METRIC_ABSOLUTE_NEXT
				 : m->gauge ? OTF2_METRIC_ABSOLUTE_POINT
					    : OTF2_METRIC_ABSOLUTE_LAST,
				 m->whole ? OTF2_TYPE_UINT64 : OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL,
				 0, archive_string(a, m->unit ? m->unit : "")));
	archive_check(a, OTF2_GlobalDefWriter_WriteMetricClass(a->defs, number, 1, &member,
							       OTF2_METRIC_ASYNCHRONOUS,
							       OTF2_RECORDER_KIND_ABSTRACT));
}

void metrics_end(struct otf2 *w)
{
	struct archive *a = &w->archive;
	OTF2_MetricMemberRef member = 0;

	for (uint32_t i = 0; i < w->metrics->count; i++) {
		const struct metric *m = &w->metrics->list[i];

		if (m->is_class)
			define_class(w, i, member++);
		else
			archive_check(a, OTF2_GlobalDefWriter_WriteMetricInstance(
						 a->defs, i, m->series.klass, m->series.recorder,
						 m->series.scope_kind, m->series.scope));
	}
}

void metrics_release(struct otf2 *w)
{
	struct metrics *m = w->metrics;

	if (!m)
		return;
	for (uint32_t i = 0; i < m->row_count; i++)
		row_release(&m->rows[i].row);
	free(m->rows);
	free(m->list);
	map_release(&m->places);
	map_release(&m->row_places);
	map_release(&m->live);
	free(m);
}
