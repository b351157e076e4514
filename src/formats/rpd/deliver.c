/* SPDX-License-Identifier: Apache-2.0 */
/* Items as records, in the order of their ends; see reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "formats/rpd/reader.h"
#include "record/fields.h"

/* What the call of an op says of it. */
struct launch {
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
	const struct dbvalue *stream; /* NULL: it says nothing */
};

struct source_row {
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
};

static bool read_row(struct reader *r, const struct assembly_item *i, struct source_row *out)
{
	return dbwalk_seek(&r->walks[i->source], i->row) &&
	       dbrow_read(&r->tables[i->source], &r->walks[i->source], out->all, &out->row);
}

/* ---- calls and markers ------------------------------------------------------------------------- */

static kymo_status_t deliver_call(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row)
{
	struct rec c = assembly_base(&r->all, i);
	struct dbvalue all[DBFILE_COLUMNS];
	const struct dbvalue *v = rpd_arguments(r, row, all);

	c.op = i->number;
	c.id = i->key;
	if (!v)
		return sink->call(sink, &c);
	make_fields_begin(&r->fields, &r->t->ops[c.op]);
	make_text(&r->fields, v->text, v->length);
	c.wire = make_fields_end(&r->fields);
	return sink->call(sink, &c);
}

static kymo_status_t deliver_marker(struct reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct dbrow *row)
{
	bool mark = i->kind == ASSEMBLY_MARK;
	struct rec_marker m = {.base = assembly_base(&r->all, i),
			       .scope = mark ? 0 : i->number,
			       .name = rpd_marker_name(r, row)};

	m.text = r->t->strings[m.name].text;
	m.text_length = r->t->strings[m.name].length;
	m.base.op = make_activity(&r->model, RECORD_DOMAIN_marker,
				  mark ? MARKER_OP_MARK : MARKER_OP_RANGE);
	return sink->marker(sink, &m);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* An address is an allocation's until it is freed. */
static kymo_status_t deliver_memory(struct reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct dbrow *row)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	struct rec_allocation a = {.base = assembly_base(&r->all, i),
				   .correlation = call ? call->key : 0,
				   .kind = MEMORY_DEVICE,
				   .what = ALLOCATION_BUFFER};
	bool gone;
	uint64_t key, known;

	if (!rpd_memory(r, row, &a.address, &a.bytes, &gone))
		return KYMO_OK;
	key = hash_mix(hash_u64(i->process), a.address);
	known = gone ? map_remove(&r->live, key) : 0;
	a.allocation = known ? known : ++r->allocations;
	if (!gone && !map_set(&r->live, key, a.allocation))
		return KYMO_ERROR_NO_MEMORY;
	a.base.op = make_activity(&r->model, RECORD_DOMAIN_allocation,
				  gone ? ALLOCATION_OP_FREE : ALLOCATION_OP_ALLOCATE);
	return sink->allocation(sink, &a);
}

/* ---- device work ------------------------------------------------------------------------------- */

static bool look_up(struct reader *r, struct dbindex *x, const struct assembly_item *i,
		    struct launch *out)
{
	if (!i->key || !dbindex_get(x, (int64_t)i->key, out->all, &out->row))
		return false;
	out->stream = dbrow_value(&out->row, C_KERNEL_STREAM);
	return true;
}

static void find_launch(struct reader *r, const struct assembly_item *i, enum rpd_class class,
			struct launch *out)
{
	out->stream = NULL;
	if (class == CLASS_KERNEL || class == CLASS_BARRIER)
		look_up(r, &r->kernel_apis, i, out);
	if (class != CLASS_KERNEL && !out->stream)
		look_up(r, &r->copy_apis, i, out);
}

static uint64_t size_at(struct reader *r, const struct dbrow *row, unsigned column)
{
	const struct dbvalue *v = dbrow_value(row, column);

	if (v->type == DB_INTEGER && v->integer >= 0 && v->integer <= INT64_C(1) << 48)
		return (uint64_t)v->integer;
	/* The tool writes an empty text where a number is not known, or too large. */
	if (v->type != DB_NULL && !(v->type == DB_TEXT && !v->length))
		unplaced_add(&r->left_out, "numbers out of range", 1);
	return 0;
}

static void set_sizes(struct reader *r, const struct assembly_item *i, const struct dbrow *row,
		      struct rec_dispatch *d)
{
	bool items = r->items || map_get(&r->extended, i->key);

	for (unsigned k = 0; k < 3; k++) {
		uint64_t grid = size_at(r, row, C_KERNEL_GRID + k) & UINT32_MAX;

		d->local[k] = size_at(r, row, C_KERNEL_GROUP + k) & UINT32_MAX;
		d->global[k] = items || !d->local[k] ? grid : grid * d->local[k];
	}
	d->launch.static_shared = size_at(r, row, C_KERNEL_SHARED);
	d->launch.local_memory = size_at(r, row, C_KERNEL_PRIVATE);
}

static kymo_status_t deliver_kernel(struct reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct dbrow *op,
				    const struct launch *l)
{
	struct rec_dispatch d = {.base = assembly_base(&r->all, i),
				 .device = assembly_device(&r->all, i),
				 .agent = rpd_agent(r, i->process, rpd_number(r, op, C_OP_GPU)),
				 .kernel = rpd_kernel(r, i->process, op),
				 .dims = 3};

	d.queue = rpd_queue(r, i->process, d.agent, rpd_number(r, op, C_OP_QUEUE), l->stream);
	if (l->stream)
		set_sizes(r, i, &l->row, &d);
	d.base.op = make_activity(&r->model, RECORD_DOMAIN_dispatch,
				  rec_launch_is_set(&d.launch) ? DISPATCH_OP_LAUNCH
							       : DISPATCH_OP_KERNEL);
	return sink->dispatch(sink, &d);
}

/* A copy that the runtime has split is several ops of one call, whose bytes the call says: the first has them. */
static uint64_t bytes_of(struct reader *r, const struct assembly_item *i, const struct launch *l)
{
	uint64_t bytes;

	if (!l->stream || map_get(&r->told, i->key))
		return 0;
	if (!bulk_map_set(&r->told, i->key, 1))
		r->failed = true;
	bytes = size_at(r, &l->row, C_COPY_SIZE);
	return bytes ? bytes
		     : size_at(r, &l->row, C_COPY_WIDTH) * size_at(r, &l->row, C_COPY_HEIGHT);
}

/* hipMemcpyKind, where the op does not say it. */
static enum rpd_class refine(const struct launch *l, enum rpd_class class)
{
	const struct dbvalue *kind = l->stream ? dbrow_value(&l->row, C_COPY_KIND) : NULL;

	if (class != CLASS_COPY || !kind || kind->type != DB_INTEGER)
		return class;
	return kind->integer == 1 ? CLASS_WRITE : kind->integer == 2 ? CLASS_READ : class;
}

static kymo_status_t deliver_copy(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *op,
				  const struct launch *l, enum rpd_class class)
{
	static const uint8_t ops[] = {[CLASS_WRITE] = COPY_OP_WRITE,
				      [CLASS_READ] = COPY_OP_READ,
				      [CLASS_COPY] = COPY_OP_COPY,
				      [CLASS_FILL] = COPY_OP_FILL};
	uint32_t agent = rpd_agent(r, i->process, rpd_number(r, op, C_OP_GPU));
	struct rec_copy c = {.base = assembly_base(&r->all, i),
			     .device = assembly_device(&r->all, i),
			     .bytes = bytes_of(r, i, l)};

	class = refine(l, class);
	c.queue = rpd_queue(r, i->process, agent, rpd_number(r, op, C_OP_QUEUE), l->stream);
	c.source_agent = class == CLASS_WRITE ? 0 : agent;
	c.destination_agent = class == CLASS_READ ? 0 : agent;
	c.source_kind = c.source_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	c.destination_kind = c.destination_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_copy, ops[class]);
	return sink->copy(sink, &c);
}

static kymo_status_t deliver_barrier(struct reader *r, struct stream_sink *sink,
				     const struct assembly_item *i, const struct dbrow *op,
				     const struct launch *l)
{
	uint32_t agent = rpd_agent(r, i->process, rpd_number(r, op, C_OP_GPU));
	const struct assembly_item *call = assembly_call(&r->all, i);
	struct rec_sync y = {
		.base = assembly_base(&r->all, i),
		.correlation = call ? call->key : 0,
		.queue = rpd_queue(r, i->process, agent, rpd_number(r, op, C_OP_QUEUE), l->stream)};

	y.base.op = make_activity(&r->model, RECORD_DOMAIN_sync, SYNC_OP_BARRIER);
	return sink->sync(sink, &y);
}

static kymo_status_t deliver_op(struct reader *r, struct stream_sink *sink,
				const struct assembly_item *i, const struct dbrow *op)
{
	enum rpd_class class = rpd_class(r, op);
	struct launch l;

	find_launch(r, i, class, &l);
	if (class == CLASS_BARRIER)
		return deliver_barrier(r, sink, i, op, &l);
	if (class == CLASS_KERNEL)
		return deliver_kernel(r, sink, i, op, &l);
	return deliver_copy(r, sink, i, op, &l, class);
}

/* ---- counters ---------------------------------------------------------------------------------- */

/* Numbers are texts in this table. */
static bool parse_value(const struct dbvalue *v, double *out)
{
	char text[64] = "", *end;

	*out = dbvalue_real(v);
	if (v->type == DB_INTEGER || v->type == DB_REAL)
		return true;
	if (v->type != DB_TEXT || !v->length || v->length >= sizeof(text))
		return false;
	memcpy(text, v->text, v->length);
	*out = strtod(text, &end);
	return !*end;
}

static kymo_status_t deliver_monitor(struct reader *r, struct stream_sink *sink,
				     const struct assembly_item *i, const struct dbrow *row)
{
	struct rec_counter c = {.base = assembly_base(&r->all, i), .counter = rpd_monitor(r, row)};

	if (!parse_value(dbrow_value(row, C_MONITOR_VALUE), &c.value)) {
		unplaced_lose(&r->left_out, "values of devices that are no numbers", 1);
		return KYMO_OK;
	}
	c.base.process = 1;
	c.agent = r->t->counters[c.counter].agent;
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_counter, COUNTER_OP_SAMPLE);
	return sink->counter(sink, &c);
}

static kymo_status_t deliver_counter(struct reader *r, struct stream_sink *sink,
				     const struct assembly_item *i, const struct dbrow *row)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	struct rec_counter c = {.base = assembly_base(&r->all, i),
				.correlation = call ? call->key : 0,
				.counter = rpd_counter(r, i->process, row),
				.value = dbvalue_real(dbrow_value(row, C_COUNTER_VALUE))};
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow op;

	if (dbindex_get(&r->ops, rpd_number(r, row, C_COUNTER_OP), all, &op)) {
		c.agent = rpd_agent(r, i->process, rpd_number(r, &op, C_OP_GPU));
		c.kernel = rpd_kernel(r, i->process, &op);
	}
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_counter, COUNTER_OP_DISPATCH);
	return sink->counter(sink, &c);
}

/* ---- definitions ------------------------------------------------------------------------------- */

static void define_op(struct reader *r, const struct assembly_item *i, const struct dbrow *op)
{
	enum rpd_class class = rpd_class(r, op);
	uint32_t agent = rpd_agent(r, i->process, rpd_number(r, op, C_OP_GPU));
	const struct assembly_item *call = assembly_call(&r->all, i);
	struct launch l;

	find_launch(r, i, class, &l);
	rpd_queue(r, i->process, agent, rpd_number(r, op, C_OP_QUEUE), l.stream);
	if (class == CLASS_KERNEL)
		rpd_kernel(r, i->process, op);
	if (call && class != CLASS_BARRIER)
		r->t->ops[call->number].flags |= KYMO_OP_SUBMITS;
}

static void define_counter(struct reader *r, const struct assembly_item *i, const struct dbrow *row)
{
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow op;

	rpd_counter(r, i->process, row);
	if (!dbindex_get(&r->ops, rpd_number(r, row, C_COUNTER_OP), all, &op))
		return;
	rpd_agent(r, i->process, rpd_number(r, &op, C_OP_GPU));
	rpd_kernel(r, i->process, &op);
}

void rpd_define_work(struct reader *r)
{
	struct source_row x;

	for (uint32_t n = 0; n < r->all.count && !r->failed; n++) {
		const struct assembly_item *i = &r->all.items[n];

		if (i->kind != ASSEMBLY_WORK || !read_row(r, i, &x))
			continue;
		if (i->source == T_OP)
			define_op(r, i, &x.row);
		else if (i->source == T_COUNTER)
			define_counter(r, i, &x.row);
	}
}

/* ---- the whole --------------------------------------------------------------------------------- */

static kymo_status_t deliver(void *data, struct stream_sink *sink, const struct assembly_item *i)
{
	struct reader *r = data;
	struct source_row x;

	if (!read_row(r, i, &x))
		return KYMO_OK;
	switch (i->source) {
	case T_OP:
		return deliver_op(r, sink, i, &x.row);
	case T_COUNTER:
		return deliver_counter(r, sink, i, &x.row);
	case T_MONITOR:
		return deliver_monitor(r, sink, i, &x.row);
	default:
		return i->kind == ASSEMBLY_CALL   ? deliver_call(r, sink, i, &x.row)
		       : i->kind == ASSEMBLY_WORK ? deliver_memory(r, sink, i, &x.row)
						  : deliver_marker(r, sink, i, &x.row);
	}
}

kymo_status_t rpd_deliver(struct reader *r, struct stream_sink *sink)
{
	return assembly_hand_on(&r->all, r->t, sink, deliver, r, r->o->progress,
				r->o->progress_data);
}
