/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ROCpd: a first pass finds what only records tell (operations, queues, the earliest and latest time),
 * the next hands records on. In order of their starts they are sorted by keys of 32 bytes each; else memory
 * does not depend on how many there are. See reader.h.
 */
#include "formats/rocpd/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/vec.h"
#include "formats/rocpd/columns.h"
#include "formats/rocpd/read.h"

/* Tables with records, their columns of times and events, and what else is looked at before records are made. */
static const struct {
	uint8_t table, start, end, event, learnt[4];
} sources[] = {
	{T_REGION, C_REGION_START, C_REGION_END, C_REGION_EVENT, {C_REGION_NAME}},
	{T_SAMPLE, C_SAMPLE_TIME, C_SAMPLE_TIME, C_SAMPLE_EVENT, {C_SAMPLE_TRACK}},
	{T_DISPATCH,
	 C_DISPATCH_START,
	 C_DISPATCH_END,
	 C_DISPATCH_EVENT,
	 {C_DISPATCH_AGENT, C_DISPATCH_STREAM, C_DISPATCH_QUEUE}},
	{T_COPY,
	 C_COPY_START,
	 C_COPY_END,
	 C_COPY_EVENT,
	 {C_COPY_TO, C_COPY_FROM, C_COPY_STREAM, C_COPY_QUEUE}},
	{T_ALLOCATION, C_ALLOCATION_START, C_ALLOCATION_END, C_ALLOCATION_EVENT, {0}},
};
enum { SOURCES = sizeof(sources) / sizeof(*sources) };

static void places_begin(struct places *p, struct set *s)
{
	for (unsigned i = 0; i < TABLES; i++)
		dbwalk_init(&p->rows[i], s->file, s->tables[i].root);
}

static void places_end(struct places *p)
{
	for (unsigned i = 0; i < TABLES; i++)
		dbwalk_release(&p->rows[i]);
}

/* ---- values of counters ------------------------------------------------------------------------ */

/* Values of events, which lie in the order of these as all writers put them. */
struct values {
	struct set *s;
	struct dbwalk w;
	bool there;
	int64_t event, id; /* of the one it stands on */
};

static void values_next(struct reader *r, struct values *v)
{
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;

	v->there = false;
	while (!v->there && dbwalk_next(&v->w)) {
		if (!dbrow_read(&v->s->tables[T_VALUE], &v->w, all, &row))
			continue;
		v->event = row_number(NULL, &row, C_VALUE_EVENT);
		v->id = row.id;
		v->there = true;
	}
}

static void values_begin(struct reader *r, struct values *v, struct set *s)
{
	*v = (struct values){.s = s};
	dbwalk_init(&v->w, s->file, s->tables[T_VALUE].root);
	if (!s->tables[T_VALUE].root)
		v->w.depth = -1;
	values_next(r, v);
}

/* The next value of an event; events come in ascending order. */
static bool values_of(struct reader *r, struct values *v, int64_t event, int64_t *id)
{
	while (v->there && v->event < event)
		values_next(r, v);
	if (!v->there || v->event != event)
		return false;
	*id = v->id;
	values_next(r, v);
	return true;
}

/* ---- passes ------------------------------------------------------------------------------------ */

typedef kymo_status_t (*take_item)(struct reader *r, void *data, struct places *p,
				   const struct item *item, const struct dbrow *row);

static bool has_values(unsigned table, const struct values *v)
{
	return v->there && (table == T_SAMPLE || table == T_DISPATCH);
}

/* A sample with values is these; a kernel is one, too. */
static kymo_status_t take_row(struct reader *r, take_item take, void *data, struct places *p,
			      struct values *v, struct item *item, unsigned source,
			      const struct dbrow *row)
{
	kymo_status_t status = KYMO_OK;
	int64_t event = 0, value;
	bool any = false;

	if (item->table == T_DISPATCH)
		status = take(r, data, p, item, row);
	if (has_values(item->table, v))
		event = row_number(NULL, row, sources[source].event);
	while (status == KYMO_OK && has_values(item->table, v) && values_of(r, v, event, &value)) {
		item->value = value;
		any = true;
		status = take(r, data, p, item, row);
	}
	item->value = 0;
	if (!any && item->table != T_DISPATCH && status == KYMO_OK)
		status = take(r, data, p, item, row);
	return status;
}

static uint64_t learnt_columns(const struct dbtable *t, unsigned source, const struct values *v)
{
	unsigned table = sources[source].table;
	uint64_t columns =
		dbtable_column(t, sources[source].start) | dbtable_column(t, sources[source].end);

	if (has_values(table, v) || table == T_REGION || table == T_SAMPLE)
		columns |= dbtable_column(t, sources[source].event);
	for (size_t i = 0; i < sizeof(sources[source].learnt); i++)
		columns |= dbtable_column(t, sources[source].learnt[i]);
	return columns;
}

static kymo_status_t walk_table(struct reader *r, uint32_t set, unsigned source, take_item take,
				void *data)
{
	struct set *s = &r->sets[set];
	const struct dbtable *t = &s->tables[sources[source].table];
	struct dbvalue all[DBFILE_COLUMNS];
	struct item item = {.set = set, .table = sources[source].table};
	kymo_status_t status = KYMO_OK;
	struct values values;
	struct places p;
	struct dbrow row;
	struct dbwalk w;
	uint64_t columns;

	places_begin(&p, s);
	values_begin(r, &values, s);
	columns = r->complete ? t->wanted : learnt_columns(t, source, &values);
	dbwalk_init(&w, s->file, t->root);
	while (status == KYMO_OK && dbwalk_next(&w)) {
		if (!dbrow_read_some(t, &w, columns, all, &row))
			continue;
		item.id = row.id;
		item.start = row_number(NULL, &row, sources[source].start);
		status = take_row(r, take, data, &p, &values, &item, source, &row);
	}
	dbwalk_release(&w);
	dbwalk_release(&values.w);
	places_end(&p);
	return status;
}

static kymo_status_t walk(struct reader *r, take_item take, void *data)
{
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < r->sets_count; i++)
		for (unsigned k = 0; k < SOURCES && status == KYMO_OK; k++)
			if (r->sets[i].tables[sources[k].table].root)
				status = walk_table(r, i, k, take, data);
	return status;
}

/* ---- the first pass ---------------------------------------------------------------------------- */

static void take_times(struct reader *r, int64_t start, int64_t end)
{
	if (start > 0 && (!r->t->origin || start < r->t->origin))
		r->t->origin = start;
	if (end > r->t->end)
		r->t->end = end;
}

static uint64_t category_of(struct set *s, struct places *p, int64_t event)
{
	struct dbwalk *w = &p->rows[T_EVENT];
	int64_t category;

	return dbwalk_seek(w, event) && dbrow_read_number(&s->tables[T_EVENT], w, C_EVENT_CATEGORY,
							  &category)
		       ? (uint64_t)category
		       : 0;
}

static uint32_t agent_of(const struct set *s, int64_t row)
{
	uint64_t i = map_get(&s->agents, (uint64_t)row);

	return i ? (uint32_t)i - 1 : 0;
}

/* Markers and waits are records that have no arguments. */
static kymo_status_t learn_arguments(struct reader *r, struct set *s, uint32_t op, int64_t event)
{
	const struct t_op *known = &r->t->ops[op];

	if (!r->args_of || !op || known->domain == r->t->ops[r->activity[ACTIVITY_MARKER]].domain ||
	    known->domain == r->t->ops[r->activity[ACTIVITY_SYNC]].domain)
		return KYMO_OK;
	return args_learn(r, s, op, event) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t learn_sample(struct reader *r, struct set *s, struct places *p,
				  const struct dbrow *row)
{
	uint64_t track = map_get(&s->tracks, (uint64_t)row_number(NULL, row, C_SAMPLE_TRACK));
	int64_t event = row_number(NULL, row, C_SAMPLE_EVENT);
	uint32_t op =
		model_op(r, s, category_of(s, p, event), track ? (track - 1) & UINT32_MAX : 0);

	return learn_arguments(r, s, op, event);
}

/* Its event is the one that was looked for last. */
static kymo_status_t learn_range(struct reader *r, struct set *s, struct places *p, int64_t name)
{
	const struct dbtable *t = &s->tables[T_EVENT];
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow event;

	if (!dbrow_read_some(t, &p->rows[T_EVENT], dbtable_column(t, C_EVENT_EXTDATA), all, &event))
		return KYMO_OK;
	return range_learn(r, model_text(r, s, name), dbrow_value(&event, C_EVENT_EXTDATA))
		       ? KYMO_OK
		       : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t learn(struct reader *r, void *data, struct places *p, const struct item *item,
			   const struct dbrow *row)
{
	struct set *s = &r->sets[item->set];
	uint32_t to;

	switch (item->table) {
	case T_REGION:
		take_times(r, item->start, row_number(NULL, row, C_REGION_END));
		to = model_op(r, s, category_of(s, p, row_number(NULL, row, C_REGION_EVENT)),
			      (uint64_t)row_number(NULL, row, C_REGION_NAME));
		if (to == r->activity[ACTIVITY_MARKER] + MARKER_OP_RANGE)
			return learn_range(r, s, p, row_number(NULL, row, C_REGION_NAME));
		return learn_arguments(r, s, to, row_number(NULL, row, C_REGION_EVENT));
	case T_SAMPLE:
		take_times(r, item->start, item->start);
		return item->value ? KYMO_OK : learn_sample(r, s, p, row);
	case T_DISPATCH:
		take_times(r, item->start, row_number(NULL, row, C_DISPATCH_END));
		model_queue(r, s, agent_of(s, row_number(NULL, row, C_DISPATCH_AGENT)),
			    row_number(NULL, row, C_DISPATCH_STREAM),
			    row_number(NULL, row, C_DISPATCH_QUEUE));
		break;
	case T_COPY:
		take_times(r, item->start, row_number(NULL, row, C_COPY_END));
		to = agent_of(s, row_number(NULL, row, C_COPY_TO));
		model_queue(r, s, to ? to : agent_of(s, row_number(NULL, row, C_COPY_FROM)),
			    row_number(NULL, row, C_COPY_STREAM),
			    row_number(NULL, row, C_COPY_QUEUE));
		break;
	default:
		take_times(r, item->start, row_number(NULL, row, C_ALLOCATION_END));
	}
	return KYMO_OK;
}

/* Processes that say no times lasted as long as the trace. */
static void finish_model(struct reader *r)
{
	struct trace *t = r->t;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		struct t_process *p = &t->processes[i];

		take_times(r, p->start, p->end);
	}
	for (uint32_t i = 1; i < t->processes_count; i++) {
		struct t_process *p = &t->processes[i];

		if (p->file_state != FILE_READ)
			continue;
		p->start = p->start ? p->start : t->origin;
		p->end = p->end >= p->start ? p->end : t->end;
	}
	trace_number_worlds(t);
	trace_number_queues(t);
	trace_number_agents(t);
}

/* ---- records ----------------------------------------------------------------------------------- */

static kymo_status_t hand_on(struct reader *r, void *data, struct places *p,
			     const struct item *item, const struct dbrow *row)
{
	return deliver(r, p, item, row);
}

struct sorted {
	struct item *items;
	size_t count, room;
};

static kymo_status_t collect(struct reader *r, void *data, struct places *p,
			     const struct item *item, const struct dbrow *row)
{
	struct sorted *s = data;

	if (!bulk_reserve(&s->items, &s->room, s->count, 1))
		return KYMO_ERROR_NO_MEMORY;
	s->items[s->count++] = *item;
	return KYMO_OK;
}

static int compare_items(const void *a, const void *b, void *none)
{
	const struct item *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static kymo_status_t deliver_sorted(struct reader *r, struct sorted *s)
{
	struct places *p = calloc(r->sets_count, sizeof(*p));
	kymo_status_t status = p ? KYMO_OK : KYMO_ERROR_NO_MEMORY;

	for (uint32_t i = 0; p && i < r->sets_count; i++)
		places_begin(&p[i], &r->sets[i]);
	for (size_t i = 0; status == KYMO_OK && i < s->count; i++)
		status = deliver(r, &p[s->items[i].set], &s->items[i], NULL);
	for (uint32_t i = 0; p && i < r->sets_count; i++)
		places_end(&p[i]);
	free(p);
	return status;
}

static kymo_status_t hand_on_sorted(struct reader *r)
{
	struct sorted s = {0};
	kymo_status_t status = walk(r, collect, &s);

	if (status == KYMO_OK &&
	    !bulk_sort(&s.items, s.count, sizeof(*s.items), compare_items, NULL))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK)
		status = deliver_sorted(r, &s);
	bulk_free(s.items);
	return status;
}

/* Passes that a selection needs before that which counts. */
static kymo_status_t look_ahead(struct reader *r, struct filter_binding *b)
{
	bool (*wants)(const struct trace *t, const struct t_op *op);
	kymo_status_t status = KYMO_OK;
	struct stream_sink *sink;

	while (status == KYMO_OK && (sink = filter_look(b, &wants))) {
		struct filter_binding all;

		stream_sink_complete(sink);
		status = filter_bind(NULL, r->t, &all);
		all.ops = calloc(r->t->ops_count, sizeof(*all.ops));
		if (!all.ops)
			return KYMO_ERROR_NO_MEMORY;
		for (uint32_t i = 0; i < r->t->ops_count; i++)
			all.ops[i] = wants(r->t, &r->t->ops[i]);
		r->filter = &all;
		r->sink = sink;
		if (status == KYMO_OK)
			status = walk(r, hand_on, NULL);
		filter_unbind(&all);
		r->filter = NULL;
		status = status == KYMO_OK ? filter_looked(b) : status;
	}
	return status;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void tell(struct reader *r)
{
	uint64_t damaged = 0, others = args_of_others(r);

	for (uint32_t i = 0; i < r->files_count; i++) {
		damaged += r->files[i].damaged;
		unplaced_damage(r->o->log, r->paths[i], r->files[i].missing, 0, 0);
	}
	unplaced_damage(r->o->log, r->paths[0], 0, damaged, r->wrong);
	if (others)
		unplaced_add(&r->skipped, "arguments of what is no call", others);
	unplaced_tell(&r->skipped, r->o->log, "left out of what was read");
}

static void begin_counts(struct reader *r)
{
	r->skipped = (struct unplaced){0};
	r->wrong = 0;
	for (uint32_t i = 0; i < r->files_count; i++)
		r->files[i].damaged = r->damaged[i];
	for (uint32_t i = 0; i < r->sets_count; i++) {
		map_clear(&r->sets[i].live);
		map_clear(&r->sets[i].live_ids);
		r->sets[i].allocations = r->sets[i].left_out = 0;
	}
}

/* What was lost stays with the trace; damage is that of the first process of its file. */
static void keep_losses(struct reader *r)
{
	for (uint32_t i = 0; i < r->sets_count; i++) {
		const struct set *s = &r->sets[i];
		bool first = i == 0 || r->sets[i - 1].file != s->file;

		make_lost(r->t, s->process, s->left_out,
			  first ? s->file->damaged + s->file->missing : 0);
	}
}

static kymo_status_t read_records(struct reader *r, struct filter_binding *b, bool ordered,
				  struct stream_sink *sink)
{
	kymo_status_t status;

	r->filter = b;
	r->sink = sink;
	begin_counts(r);
	status = sink->begin(sink, r->t);
	if (status == KYMO_OK)
		status = ordered ? hand_on_sorted(r) : walk(r, hand_on, NULL);
	keep_losses(r);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT) {
		kymo_status_t end = sink->end(sink, r->t);

		status = end == KYMO_OK ? status : end;
	}
	return status;
}

static kymo_status_t read_selected(struct reader *r, const struct stream_filter *filter,
				   bool ordered, struct stream_sink *sink)
{
	struct filter_binding b;
	kymo_status_t status = filter_bind(filter, r->t, &b);

	if (status != KYMO_OK)
		return status;
	stream_sink_complete(sink);
	sink->part = filter && stream_filter_in_part(filter);
	sink->whole = !filter || stream_filter_only_when(filter);
	status = look_ahead(r, &b);
	sink->from = b.from;
	sink->to = b.to;
	if (status == KYMO_OK)
		status = read_records(r, &b, ordered, sink);
	filter_unbind(&b);
	return status;
}

/* Passes over records meet the same damage again, those over definitions are done. */
static kymo_status_t keep_damage(struct reader *r)
{
	r->damaged = calloc(r->files_count, sizeof(*r->damaged));
	for (uint32_t i = 0; r->damaged && i < r->files_count; i++)
		r->damaged[i] = r->files[i].damaged;
	return r->damaged ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

kymo_status_t rocpd_read(const char *path, const struct stream_filter *filter, bool ordered,
			 struct stream_sink *sink, const struct format_options *o)
{
	struct reader r = {.o = o};
	kymo_status_t status = reader_open(&r, path);

	if (status == KYMO_OK)
		status = model_read(&r);
	r.args_of = sink->fields;
	if (status == KYMO_OK && (!sink->brief || (filter && stream_filter_reads_fields(filter))) &&
	    !args_want_all(&r))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK)
		status = keep_damage(&r);
	if (status == KYMO_OK)
		status = walk(&r, learn, NULL);
	if (status == KYMO_OK) {
		finish_model(&r);
		args_define(&r);
		r.complete = true;
		status = trace_failed(r.t) ? KYMO_ERROR_NO_MEMORY
					   : read_selected(&r, filter, ordered, sink);
	}
	if (status == KYMO_OK)
		tell(&r);
	if (status == KYMO_OK && o->keep) {
		*o->keep = r.t;
		r.t = NULL;
	}
	make_tell_memory(status, o->log, path);
	reader_close(&r);
	return status;
}
