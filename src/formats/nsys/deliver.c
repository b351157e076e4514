/* SPDX-License-Identifier: Apache-2.0 */
/* Items as records, in the order of their ends; see reader.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"
#include "record/fields.h"
#include "stream/payload.h"

/* ---- rows -------------------------------------------------------------------------------------- */

struct dbwalk *nsys_walks(struct reader *r)
{
	uint32_t count = TABLES + r->calls_count;
	struct dbwalk *walks = calloc(count, sizeof(*walks));

	for (uint32_t i = 0; walks && i < count; i++)
		dbwalk_init(&walks[i], &r->file, nsys_table(r, i)->root);
	return walks;
}

void nsys_walks_end(struct reader *r, struct dbwalk *walks)
{
	for (uint32_t i = 0; walks && i < TABLES + r->calls_count; i++)
		dbwalk_release(&walks[i]);
	free(walks);
}

bool nsys_row(struct reader *r, struct dbwalk *walks, const struct assembly_item *i,
	      struct source_row *out)
{
	return dbwalk_seek(&walks[i->source], i->row) &&
	       dbrow_read(nsys_table(r, i->source), &walks[i->source], out->all, &out->row);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static kymo_status_t deliver_call(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row)
{
	struct rec c = assembly_base(&r->all, i);
	const struct t_op *op = &r->t->ops[i->number];
	kymo_status_t status = KYMO_OK;

	if (i->source != T_RUNTIME)
		status = nsys_deliver_message(r, sink, i, row);
	if (status != KYMO_OK)
		return status;
	c.op = i->number;
	c.id = i->key;
	if (i->source == T_RUNTIME) {
		c.status = (int32_t)nsys_number(r, row, C_CALL_RETURN);
		c.ok = c.status == 0;
		return sink->call(sink, &c);
	}
	make_fields_begin(&r->fields, op);
	for (const struct nsys_argument *a = nsys_arguments; a->name; a++) {
		if (row->table->at[a->column] < 0 || r->fields.index >= op->field_count)
			continue;
		if (dbrow_has(row, a->column))
			make_number(&r->fields, (uint64_t)nsys_number(r, row, a->column));
		else
			make_absent(&r->fields);
	}
	c.wire = make_fields_end(&r->fields);
	return sink->call(sink, &c);
}

/* ---- NVTX -------------------------------------------------------------------------------------- */

static void put(struct text *out, const char *key, uint8_t type, const void *data, size_t size)
{
	if (!out->length)
		text_add_bytes(out, "", 1);
	payload_put(out, key, strlen(key), type, data, size, size);
}

static void put_json(struct reader *r, const struct dbrow *row)
{
	enum { KEPT = 256 };
	const struct dbvalue *v = dbrow_value(row, C_NVTX_JSON);
	struct dbvalue all[DBFILE_COLUMNS];

	if (v->type != DB_TEXT && dbrow_has(row, C_NVTX_JSON_ID))
		v = dbindex_text(&r->strings, nsys_number(r, row, C_NVTX_JSON_ID), C_STRING_TEXT,
				 all);
	if (!v || v->type != DB_TEXT)
		return;
	if (!r->payload.length)
		text_add_bytes(&r->payload, "", 1);
	payload_put(&r->payload, "json", 4, KYMO_PAYLOAD_STRING, v->text,
		    v->length < KEPT ? v->length : KEPT, v->length);
}

/* The one value that a range or mark may have. */
static void pack_payload(struct reader *r, const struct dbrow *row)
{
	static const struct {
		uint8_t column, type;
	} values[] = {{C_NVTX_UINT64, KYMO_PAYLOAD_UINT64}, {C_NVTX_INT64, KYMO_PAYLOAD_INT64},
		      {C_NVTX_DOUBLE, KYMO_PAYLOAD_DOUBLE}, {C_NVTX_UINT32, KYMO_PAYLOAD_UINT64},
		      {C_NVTX_INT32, KYMO_PAYLOAD_INT64},   {C_NVTX_FLOAT, KYMO_PAYLOAD_DOUBLE}};

	r->payload.length = 0;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const struct dbvalue *v = dbrow_value(row, values[i].column);
		double real = dbvalue_real(v);

		if (v->type != DB_INTEGER && v->type != DB_REAL)
			continue;
		if (values[i].type == KYMO_PAYLOAD_DOUBLE)
			put(&r->payload, "value", values[i].type, &real, sizeof(real));
		else
			put(&r->payload, "value", values[i].type, &v->integer, sizeof(v->integer));
	}
	put_json(r, row);
	if (dbrow_has(row, C_NVTX_BINARY))
		unplaced_add(&r->left_out, "binary payloads of NVTX events", 1);
}

static kymo_status_t deliver_marker(struct reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct dbrow *row)
{
	int64_t global = nsys_number(r, row, C_NVTX_THREAD);
	int64_t domain = nsys_number(r, row, C_NVTX_DOMAIN);
	int64_t category = nsys_number(r, row, C_NVTX_CATEGORY);
	struct rec_marker m = {.base = assembly_base(&r->all, i),
			       .scope = i->kind == ASSEMBLY_MARK ? 0 : i->number,
			       .left_open = i->left_open,
			       .name = nsys_marker_name(r, row)};

	m.base.op = make_activity(&r->model, RECORD_DOMAIN_marker,
				  i->kind == ASSEMBLY_MARK    ? MARKER_OP_MARK
				  : i->kind == ASSEMBLY_RANGE ? MARKER_OP_RANGE
							      : MARKER_OP_PROCESS_RANGE);
	m.text = r->t->strings[m.name].text;
	m.text_length = r->t->strings[m.name].length;
	m.domain = (uint32_t)map_get(&r->domains, nsys_domain_key(global, domain));
	if (category)
		m.category = (uint32_t)map_get(&r->categories,
					       nsys_category_key(global, domain, category));
	m.color = (uint32_t)nsys_number(r, row, C_NVTX_COLOR);
	m.starter = i->kind == ASSEMBLY_PROCESS_RANGE ? i->thread : 0;
	pack_payload(r, row);
	m.payload = (const uint8_t *)r->payload.s;
	m.payload_bytes = (uint32_t)r->payload.length;
	return sink->marker(sink, &m);
}

/* ---- metrics ----------------------------------------------------------------------------------- */

static kymo_status_t deliver_metric(struct reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct dbrow *row)
{
	struct rec_counter c = {.base = assembly_base(&r->all, i),
				.counter = nsys_counter(r, nsys_number(r, row, C_METRIC_OF_TYPE),
							nsys_number(r, row, C_METRIC_OF)),
				.value = dbvalue_real(dbrow_value(row, C_METRIC_VALUE))};

	c.agent = r->t->counters[c.counter].agent;
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_counter, COUNTER_OP_SAMPLE);
	return sink->counter(sink, &c);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static kymo_status_t deliver(void *data, struct stream_sink *sink, const struct assembly_item *i)
{
	struct reader *r = data;
	struct source_row x;

	if (!nsys_row(r, r->walks, i, &x))
		return KYMO_OK;
	if (i->kind == ASSEMBLY_CALL)
		return deliver_call(r, sink, i, &x.row);
	if (i->source == T_NVTX)
		return deliver_marker(r, sink, i, &x.row);
	if (i->source == T_SAMPLE)
		return nsys_deliver_sample(r, sink, i, &x.row);
	if (i->source == T_GPU_METRIC)
		return deliver_metric(r, sink, i, &x.row);
	return nsys_deliver_work(r, sink, i, &x.row);
}

kymo_status_t nsys_deliver(struct reader *r, struct stream_sink *sink)
{
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	r->walks = nsys_walks(r);
	if (r->walks)
		status = assembly_hand_on(&r->all, r->t, sink, deliver, r, r->o->progress,
					  r->o->progress_data);
	nsys_walks_end(r, r->walks);
	return status;
}
