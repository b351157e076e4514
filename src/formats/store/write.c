/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling the store: one pass, one transaction. Records become rows of integers in feeds; tallies
 * are kept on the way; definitions and tallies follow at the end, when their totals are known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/store/args.h"
#include "formats/store/definitions.h"
#include "formats/store/feed.h"
#include "formats/store/side.h"
#include "formats/store/store.h"
#include "formats/store/time_index.h"
#include "stream/payload.h"
#include "stream/symbol.h"

enum rows {
	ROWS_CALL, ROWS_CALL_EXTRA, ROWS_DISPATCH, ROWS_LAUNCH, ROWS_COPY, ROWS_COPY_EXTRA, ROWS_ALLOCATION, ROWS_SYNC,
	ROWS_COMM, ROWS_ACTIVITY, ROWS_MARKER, ROWS_SAMPLE, ROWS_DEVICE_SAMPLE,
	ROWS_LOSS, ROWS_KINDS
};

static const struct {
	const char *table;
	unsigned columns;
	bool blob;
} rows_of[ROWS_KINDS] = {
	[ROWS_CALL] = {"call", 7, false},
	[ROWS_CALL_EXTRA] = {"call_extra", 6, false},
	[ROWS_DISPATCH] = {"dispatch", 26, false},
	[ROWS_LAUNCH] = {"launch", 10, false},
	[ROWS_COPY] = {"copy", 21, false},
	[ROWS_COPY_EXTRA] = {"copy_extra", 6, false},
	[ROWS_ALLOCATION] = {"allocation", 13, false},
	[ROWS_SYNC] = {"sync", 9, false},
	[ROWS_COMM] = {"comm", 16, false},
	[ROWS_ACTIVITY] = {"activity", 7, true},
	[ROWS_MARKER] = {"marker", 15, true},
	[ROWS_SAMPLE] = {"sample", 11, false},
	[ROWS_DEVICE_SAMPLE] = {"device_sample", 11, false},
	[ROWS_LOSS] = {"loss", 6, false},
};

struct store_writer {
	struct stream_sink sink;
	sqlite3 *db;
	char *path;
	struct stream_log *log;
	const struct trace *trace;
	struct tallies *tallies;
	int64_t origin;
	struct feed feed[ROWS_KINDS];
	struct side_writer *side;
	struct time_index times[ROWS_KINDS];
	int64_t last_id[ROWS_KINDS]; /* of tables numbered in order of arrival */
	sqlite3_stmt *counter;       /* inserts a value; feeds hold integers */
	uint64_t unnumbered;         /* calls whose id has no row */
	uint64_t *held;              /* records that there are, by thread */
	bool complete;
};

static struct store_writer *of(struct stream_sink *s)
{
	return (struct store_writer *)s;
}

static kymo_status_t failed(struct store_writer *w)
{
	stream_error(w->log, "%s: the store cannot be written: %s", w->path, sqlite3_errmsg(w->db));
	return sqlite3_errcode(w->db) == SQLITE_NOMEM ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_SYSTEM;
}

/* 0 is "none" in records and NULL in tables. */
static inline int64_t null_if_0(uint64_t v)
{
	return v ? (int64_t)v : FEED_NULL;
}

/* A device or host time relative to the origin; 0 is unknown. */
static inline int64_t since_origin(const struct store_writer *w, int64_t time)
{
	return time ? time - w->origin : FEED_NULL;
}

/* ---- records ----------------------------------------------------------------------------------- */

static inline void count(struct store_writer *w, const struct rec *r)
{
	if (r->thread < w->trace->threads_count)
		w->held[r->thread]++;
}

static kymo_status_t put_extra(struct store_writer *w, int64_t id, const struct rec *r)
{
	int64_t *c = feed_row(&w->feed[ROWS_CALL_EXTRA]);

	if (!c)
		return failed(w);
	c[0] = id;
	c[1] = null_if_0(r->parent);
	c[2] = null_if_0((uint64_t)r->scope);
	c[3] = null_if_0(r->external);
	c[4] = null_if_0(r->stack);
	c[5] = null_if_0(r->unwound);
	return KYMO_OK;
}

static kymo_status_t put_call(struct stream_sink *s, const struct rec *r)
{
	struct store_writer *w = of(s);
	int64_t id = store_call_id(r->process, r->id), start = r->start - w->origin;
	int64_t *c;

	count(w, r);
	tallies_call(w->tallies, r->thread, r->op, (uint64_t)(r->end - r->start), r->id, r->parent,
		     r->ok);
	if (!r->ok)
		tallies_error(w->tallies, r->thread, r->op, r->status, r->start);
	if (id == INT64_MIN) {
		w->unnumbered++;
		return KYMO_OK;
	}
	c = feed_row(&w->feed[ROWS_CALL]);
	if (!c)
		return failed(w);
	c[0] = id;
	c[1] = r->thread;
	c[2] = r->op;
	c[3] = start;
	c[4] = r->end - r->start;
	c[5] = null_if_0(r->site);
	c[6] = r->status;
	if (r->wire && r->op < w->trace->ops_count &&
	    !side_add(w->side, id, r->op, &w->trace->ops[r->op], r->wire))
		return failed(w);
	time_index_add(&w->times[ROWS_CALL], id, start, start + c[4]);
	if (r->parent || r->scope || r->external || r->stack || r->unwound)
		return put_extra(w, id, r);
	return KYMO_OK;
}

/* Times of device work, six cells: start, duration, queued, submitted, submit. */
static void put_times(struct store_writer *w, enum rows kind, int64_t id, int64_t *c,
		      const struct rec_device *d)
{
	bool timed = !d->untimed && (d->start || d->end);

	c[0] = timed ? d->start - w->origin : FEED_NULL;
	c[1] = timed ? d->end - d->start : FEED_NULL;
	c[2] = timed ? since_origin(w, d->queued) : FEED_NULL;
	c[3] = timed ? since_origin(w, d->submitted) : FEED_NULL;
	c[4] = since_origin(w, d->submit);
	if (timed)
		time_index_add(&w->times[kind], id, c[0], c[0] + c[1]);
}

static kymo_status_t put_launch(struct store_writer *w, int64_t id, const struct rec_launch *l)
{
	int64_t *c = feed_row(&w->feed[ROWS_LAUNCH]);

	if (!c)
		return failed(w);
	c[0] = id;
	c[1] = (int64_t)l->registers;
	c[2] = (int64_t)l->static_shared;
	c[3] = (int64_t)l->dynamic_shared;
	c[4] = (int64_t)l->local_memory;
	for (unsigned i = 0; i < 3; i++)
		c[5 + i] = null_if_0(l->cluster[i]);
	c[8] = null_if_0(l->graph);
	c[9] = null_if_0(l->graph_node);
	return KYMO_OK;
}

static kymo_status_t put_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct store_writer *w = of(s);
	int64_t *c = feed_row(&w->feed[ROWS_DISPATCH]);

	if (!c)
		return failed(w);
	count(w, &r->base);
	tallies_dispatch(w->tallies, r);
	c[0] = ++w->last_id[ROWS_DISPATCH];
	c[1] = store_call_id(r->base.process, r->device.correlation);
	c[2] = r->base.process;
	c[3] = r->agent;
	c[4] = r->queue;
	c[5] = r->kernel;
	put_times(w, ROWS_DISPATCH, c[0], c + 6, &r->device);
	c[11] = r->dims;
	for (unsigned i = 0; i < 3; i++) {
		c[12 + i] = i < r->dims ? (int64_t)r->global[i] : FEED_NULL;
		c[15 + i] = i < r->dims ? (int64_t)r->local[i] : FEED_NULL;
		c[18 + i] = null_if_0(r->offset[i]);
	}
	c[21] = r->device.status;
	c[22] = r->device.untimed;
	c[23] = r->device.causal_violation;
	c[24] = r->base.thread;
	c[25] = r->base.end - w->origin;
	if (launch_told(&r->launch))
		return put_launch(w, w->last_id[ROWS_DISPATCH], &r->launch);
	return KYMO_OK;
}

static kymo_status_t put_copy_extra(struct store_writer *w, int64_t id, const struct rec_copy *r)
{
	int64_t *c = feed_row(&w->feed[ROWS_COPY_EXTRA]);

	if (!c)
		return failed(w);
	c[0] = id;
	c[1] = null_if_0(r->graph);
	c[2] = null_if_0(r->graph_node);
	c[3] = null_if_0(r->address);
	c[4] = null_if_0(r->cause);
	c[5] = null_if_0(r->faults);
	return KYMO_OK;
}

static kymo_status_t put_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct store_writer *w = of(s);
	int64_t *c = feed_row(&w->feed[ROWS_COPY]);

	if (!c)
		return failed(w);
	count(w, &r->base);
	tallies_copy(w->tallies, r);
	c[0] = ++w->last_id[ROWS_COPY];
	c[1] = store_call_id(r->base.process, r->device.correlation);
	c[2] = r->base.process;
	c[3] = r->base.op;
	c[4] = r->queue;
	c[5] = r->source_agent;
	c[6] = r->destination_agent;
	c[7] = r->source_kind;
	c[8] = r->destination_kind;
	c[9] = (int64_t)r->bytes;
	put_times(w, ROWS_COPY, c[0], c + 10, &r->device);
	c[15] = r->blocking;
	c[16] = r->device.status;
	c[17] = r->device.untimed;
	c[18] = r->device.causal_violation;
	c[19] = r->base.thread;
	c[20] = r->base.end - w->origin;
	if (r->graph || r->address || r->faults)
		return put_copy_extra(w, w->last_id[ROWS_COPY], r);
	return KYMO_OK;
}

static kymo_status_t put_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct store_writer *w = of(s);
	int64_t *c = feed_row(&w->feed[ROWS_ALLOCATION]);

	if (!c)
		return failed(w);
	count(w, &r->base);
	tallies_allocation(w->tallies, r);
	c[0] = ++w->last_id[ROWS_ALLOCATION];
	c[1] = store_call_id(r->base.process, r->correlation);
	c[2] = r->base.thread;
	c[3] = r->base.op;
	c[4] = r->agent;
	c[5] = r->context;
	c[6] = r->kind;
	c[7] = r->what;
	c[8] = (int64_t)r->bytes;
	c[9] = (int64_t)r->address;
	c[10] = (int64_t)r->allocation;
	c[11] = null_if_0(r->parent);
	c[12] = r->base.start - w->origin;
	time_index_add(&w->times[ROWS_ALLOCATION], c[0], c[12], c[12]);
	return KYMO_OK;
}

static kymo_status_t put_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct store_writer *w = of(s);
	int64_t *c = feed_row(&w->feed[ROWS_SYNC]);

	if (!c)
		return failed(w);
	count(w, &r->base);
	tallies_sync(w->tallies, r);
	c[0] = ++w->last_id[ROWS_SYNC];
	c[1] = store_call_id(r->base.process, r->correlation);
	c[2] = r->base.thread;
	c[3] = r->base.op;
	c[4] = r->queue;
	c[5] = (int64_t)r->count;
	c[6] = r->base.start - w->origin;
	c[7] = r->base.end - r->base.start;
	c[8] = null_if_0(r->event);
	time_index_add(&w->times[ROWS_SYNC], c[0], c[6], c[6] + c[7]);
	return KYMO_OK;
}

static kymo_status_t put_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct store_writer *w = of(s);
	int64_t *c = feed_row(&w->feed[ROWS_COMM]);

	if (!c)
		return failed(w);
	count(w, &r->base);
	tallies_comm(w->tallies, r);
	c[0] = ++w->last_id[ROWS_COMM];
	c[1] = store_call_id(r->base.process, r->correlation);
	c[2] = store_call_id(r->base.process, r->completed_by);
	c[3] = r->base.process;
	c[4] = r->base.thread;
	c[5] = r->base.op;
	c[6] = null_if_0(r->communicator);
	c[7] = r->peer >= 0 ? r->peer : FEED_NULL;
	c[8] = r->tag >= 0 ? r->tag : FEED_NULL;
	c[9] = (int64_t)r->sent;
	c[10] = (int64_t)r->received;
	c[11] = null_if_0(r->datatype);
	c[12] = null_if_0(r->request);
	c[13] = r->state;
	c[14] = r->base.start - w->origin;
	c[15] = r->base.end - r->base.start;
	time_index_add(&w->times[ROWS_COMM], c[0], c[14], c[14] + c[15]);
	return KYMO_OK;
}

static kymo_status_t put_other(struct stream_sink *s, const struct rec *r)
{
	struct store_writer *w = of(s);
	struct feed *f = &w->feed[ROWS_ACTIVITY];
	int64_t *c = feed_row(f);

	if (!c)
		return failed(w);
	count(w, r);
	tallies_other(w->tallies, r);
	c[0] = ++w->last_id[ROWS_ACTIVITY];
	c[1] = r->thread;
	c[2] = r->op;
	c[3] = r->start - w->origin;
	c[4] = r->end - r->start;
	c[5] = r->status;
	c[6] = FEED_NULL;
	if (r->wire && r->op < w->trace->ops_count)
		c[6] = feed_blob_cell(f, args_pack(&w->trace->ops[r->op], r->wire, feed_blob(f)));
	time_index_add(&w->times[ROWS_ACTIVITY], c[0], c[3], c[3] + c[4]);
	return KYMO_OK;
}

static kymo_status_t put_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct store_writer *w = of(s);
	int64_t call = store_call_id(r->base.process, r->correlation);
	int64_t *c;

	count(w, &r->base);
	tallies_sample(w->tallies, r);
	if (r->lost)
		return KYMO_OK;
	c = feed_row(&w->feed[ROWS_SAMPLE]);
	if (!c)
		return failed(w);
	c[0] = ++w->last_id[ROWS_SAMPLE];
	c[1] = r->base.process;
	c[2] = r->base.thread;
	c[3] = r->base.start - w->origin;
	c[4] = r->correlation && call != INT64_MIN ? call : FEED_NULL;
	c[5] = null_if_0((uint64_t)r->base.scope);
	c[6] = null_if_0(r->base.stack);
	c[7] = (int64_t)r->pc;
	c[8] = r->cpu;
	c[9] = r->kernel;
	c[10] = r->weight;
	time_index_add(&w->times[ROWS_SAMPLE], c[0], c[3], c[3]);
	return KYMO_OK;
}

static kymo_status_t put_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	struct store_writer *w = of(s);
	int64_t call = store_call_id(r->base.process, r->correlation);
	int64_t *c;

	count(w, &r->base);
	tallies_device_sample(w->tallies, r);
	if (r->lost || r->full)
		return KYMO_OK;
	c = feed_row(&w->feed[ROWS_DEVICE_SAMPLE]);
	if (!c)
		return failed(w);
	c[0] = ++w->last_id[ROWS_DEVICE_SAMPLE];
	c[1] = r->base.process;
	c[2] = r->base.start - w->origin;
	c[3] = r->base.end - r->base.start;
	c[4] = r->correlation && call != INT64_MIN ? call : FEED_NULL;
	c[5] = r->agent;
	c[6] = r->code;
	c[7] = r->reason;
	c[8] = (int64_t)r->samples;
	c[9] = (int64_t)r->idle;
	c[10] = (int64_t)r->cycles;
	time_index_add(&w->times[ROWS_DEVICE_SAMPLE], c[0], c[2], c[2] + c[3]);
	return KYMO_OK;
}

static kymo_status_t put_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct store_writer *w = of(s);
	int64_t call = store_call_id(r->base.process, r->correlation);
	const int64_t numbers[] = {r->base.process, r->base.thread, r->base.op, call, r->call_op,
				   r->kernel, r->counter, r->agent, (int64_t)r->instance};
	int n = 1;

	count(w, &r->base);
	tallies_counter(w->tallies, r);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sqlite3_bind_int64(w->counter, n++, numbers[i]);
	if (!r->correlation || call == INT64_MIN)
		sqlite3_bind_null(w->counter, 4);
	sqlite3_bind_double(w->counter, n++, r->value);
	sqlite3_bind_int64(w->counter, n++, r->base.start - w->origin);
	sqlite3_bind_int64(w->counter, n, r->duration);
	if (sqlite3_step(w->counter) != SQLITE_DONE)
		return failed(w);
	sqlite3_reset(w->counter);
	return KYMO_OK;
}

/* What few markers have, as JSON; 0: nothing. It must fit where blobs are written. */
static uint32_t marker_extra(const struct rec_marker *r, uint8_t *out)
{
	char data[FEED_BLOB_MAX];
	struct output o = {.fd = -1, .data = data, .size = sizeof(data)};
	bool text = !r->name && r->text_length;

	if (!text && !r->payload_bytes)
		return 0;
	output_char(&o, '{');
	if (text) {
		output_text(&o, "\"text\":");
		output_json_bytes(&o, r->text, r->text_length);
	}
	if (r->payload_bytes) {
		output_text(&o, text ? ",\"payload\":" : "\"payload\":");
		payload_json(&o, r);
	}
	output_char(&o, '}');
	if (o.error)
		return 0; /* longer than what the program keeps can become */
	memcpy(out, data, o.used);
	return (uint32_t)o.used;
}

static kymo_status_t put_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct store_writer *w = of(s);
	struct feed *f = &w->feed[ROWS_MARKER];
	int64_t *c = feed_row(f);

	if (!c)
		return failed(w);
	count(w, &r->base);
	tallies_marker(w->tallies, r);
	c[0] = ++w->last_id[ROWS_MARKER];
	c[1] = r->base.process;
	c[2] = r->base.thread;
	c[3] = r->base.op;
	c[4] = null_if_0((uint64_t)r->scope);
	c[5] = null_if_0((uint64_t)r->base.scope);
	c[6] = null_if_0(r->name);
	c[7] = null_if_0(r->domain);
	c[8] = null_if_0(r->category);
	c[9] = null_if_0(r->color);
	c[10] = null_if_0(r->starter);
	c[11] = r->left_open;
	c[12] = r->base.start - w->origin;
	c[13] = r->base.end - r->base.start;
	c[14] = feed_blob_cell(f, marker_extra(r, feed_blob(f)));
	time_index_add(&w->times[ROWS_MARKER], c[0], c[12], c[12] + c[13]);
	return KYMO_OK;
}

static kymo_status_t put_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct store_writer *w = of(s);
	int64_t *c = feed_row(&w->feed[ROWS_LOSS]);

	if (!c)
		return failed(w);
	tallies_loss(w->tallies, r);
	c[0] = ++w->last_id[ROWS_LOSS];
	c[1] = r->process;
	c[2] = r->thread;
	c[3] = (int64_t)r->count;
	c[4] = since_origin(w, r->after);
	c[5] = since_origin(w, r->before);
	return KYMO_OK;
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct store_writer *w = of(s);

	w->trace = t;
	w->origin = t->origin;
	w->tallies = tallies_new(t);
	w->held = calloc(t->threads_count + 1u, sizeof(*w->held));
	if (!w->tallies || !w->held)
		return KYMO_ERROR_NO_MEMORY;
	if (sqlite3_prepare_v2(w->db,
			       "INSERT INTO counter_value(process, thread, op, call, call_op, "
			       "kernel, counter, agent, instance, value, time, duration) "
			       "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			       -1, &w->counter, NULL) != SQLITE_OK)
		return failed(w);
	w->side = side_writer_new(w->db);
	if (!w->side)
		return failed(w);
	for (unsigned k = 0; k < ROWS_KINDS; k++) {
		if (!feed_init(&w->feed[k], w->db, rows_of[k].table, rows_of[k].columns,
			       rows_of[k].blob))
			return failed(w);
	}
	return KYMO_OK;
}

static int block_compare(const void *x, const void *y)
{
	const struct time_block *a = x, *b = y;

	return a->key < b->key ? -1 : a->key > b->key;
}

static bool write_times(struct store_writer *w, unsigned kind, sqlite3_stmt *s)
{
	struct time_index *x = &w->times[kind];

	if (!x->blocks)
		return !x->failed;
	qsort(x->blocks, x->mask + 1, sizeof(*x->blocks), block_compare);
	for (uint64_t i = 0; i <= x->mask; i++) {
		int64_t first = (int64_t)((x->blocks[i].key - 1) << TIME_INDEX_SHIFT);

		if (!x->blocks[i].key)
			continue;
		sqlite3_bind_text(s, 1, rows_of[kind].table, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, first);
		sqlite3_bind_int64(s, 3, first + (1 << TIME_INDEX_SHIFT) - 1);
		sqlite3_bind_int64(s, 4, x->blocks[i].start);
		sqlite3_bind_int64(s, 5, x->blocks[i].end);
		if (sqlite3_step(s) != SQLITE_DONE)
			return false;
		sqlite3_reset(s);
	}
	return !x->failed;
}

static bool write_time_index(struct store_writer *w)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(w->db,
				     "INSERT INTO time_index(kind, first, last, start, end) "
				     "VALUES(?, ?, ?, ?, ?)",
				     -1, &s, NULL) == SQLITE_OK;

	for (unsigned k = 0; ok && k < ROWS_KINDS; k++)
		ok = write_times(w, k, s);
	sqlite3_finalize(s);
	return ok;
}

static bool write_metadata(struct store_writer *w, const struct trace *t)
{
	uint64_t lost = 0, overwritten = 0, lost_definitions = 0;
	uint64_t untraced = 0, untimed = 0, damaged = 0;
	uint64_t refused = w->feed[ROWS_CALL].refused;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		lost += t->processes[i].lost_records;
		overwritten += t->processes[i].overwritten_records;
		lost_definitions += t->processes[i].lost_definitions;
		untraced += t->processes[i].untraced_calls;
		untimed += t->processes[i].untimed;
		damaged += t->processes[i].damaged_blocks;
	}
	if (w->unnumbered || refused)
		stream_warn(w->log,
			    "%" PRIu64 " calls have no row in the store: their correlation id is "
			    "missing or taken (the trace is damaged); summaries count them",
			    w->unnumbered + refused);
	return metadata_add(w->db, "kymo_version", KYMO_VERSION) &&
	       metadata_add(w->db, "command", t->command) &&
	       metadata_add_integer(w->db, "origin", w->origin) &&
	       metadata_add_integer(w->db, "duration", t->end - w->origin) &&
	       metadata_add_integer(w->db, "lost_records", (int64_t)lost) &&
	       metadata_add_integer(w->db, "overwritten_records", (int64_t)overwritten) &&
	       metadata_add_integer(w->db, "lost_definitions", (int64_t)lost_definitions) &&
	       metadata_add_integer(w->db, "untraced_calls", (int64_t)untraced) &&
	       metadata_add_integer(w->db, "untimed", (int64_t)untimed) &&
	       metadata_add_integer(w->db, "damaged_blocks", (int64_t)damaged) &&
	       metadata_add_integer(w->db, "calls_without_row", (int64_t)(w->unnumbered + refused)) &&
	       metadata_add(w->db, "schema_version", STORE_SCHEMA_VERSION);
}

/* A thread that did not live to say how many records it made has those that there are. */
static struct t_thread *threads_with_records(const struct store_writer *w, const struct trace *t)
{
	struct t_thread *threads = calloc(t->threads_count + 1u, sizeof(*threads));

	for (uint32_t i = 0; threads && i < t->threads_count; i++) {
		threads[i] = t->threads[i];
		if (!threads[i].records)
			threads[i].records = w->held[i];
	}
	return threads;
}

/* Definitions, with call sites as the symbols of the modules name them. */
static bool write_definitions(struct store_writer *w, struct sql_context *c, const struct trace *t)
{
	struct trace resolved = *t;
	struct symbols *symbols = symbols_new(t, w->log);
	bool ok;

	resolved.sites = calloc(t->sites_count, sizeof(*resolved.sites));
	for (uint32_t i = 1; resolved.sites && symbols && i < t->sites_count; i++) {
		const struct symbol *y = symbols_site(symbols, i);

		resolved.sites[i] = t->sites[i];
		resolved.sites[i].function = y->function;
		resolved.sites[i].file = y->file;
		resolved.sites[i].line = y->line;
	}
	resolved.threads = threads_with_records(w, t);
	ok = resolved.sites && resolved.threads && symbols && definitions_write(c, &resolved);
	symbols_free(symbols);
	free(resolved.threads);
	free(resolved.sites);
	return ok;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct store_writer *w = of(s);
	struct sql_context c = {.db = w->db, .origin = w->origin};
	bool ok = true;

	for (unsigned k = 0; ok && k < ROWS_KINDS; k++)
		ok = feed_flush(&w->feed[k]);
	ok = ok && side_flush(w->side);
	side_writer_free(w->side);
	w->side = NULL;
	tallies_end(w->tallies);
	if (w->tallies->failed)
		return KYMO_ERROR_NO_MEMORY;
	ok = ok && write_definitions(w, &c, t) && tallies_write(&c, w->tallies) &&
	     write_time_index(w) && write_metadata(w, t);
	sql_release(&c);
	sqlite3_finalize(w->counter);
	w->counter = NULL;
	for (unsigned k = 0; k < ROWS_KINDS; k++) {
		sqlite3_finalize(w->feed[k].insert);
		w->feed[k].insert = NULL;
	}
	ok = ok && sql_run(w->db, "COMMIT");
	if (!ok)
		return failed(w);
	if (sqlite3_close(w->db) != SQLITE_OK)
		return failed(w);
	w->db = NULL;
	w->complete = true;
	return KYMO_OK;
}

/*
 * No journal: the file has a temporary name until it is whole, and can be made again. Pages of
 * 16 KiB hold some 400 calls.
 */
static const char setup[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF;"
			    "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
			    "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; BEGIN;";

kymo_status_t store_writer_new(const char *path, const char *trace_path, struct stream_log *log,
			       struct stream_sink **out)
{
	struct store_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->sink = (struct stream_sink){.begin = begin, .call = put_call, .dispatch = put_dispatch,
				       .copy = put_copy, .allocation = put_allocation,
				       .sync = put_sync, .marker = put_marker, .counter = put_counter,
				       .sample = put_sample,
				       .device_sample = put_device_sample, .comm = put_comm, .other = put_other, .loss = put_loss,
				       .end = end};
	w->log = log;
	w->path = strdup(path);
	if (!w->path || access(path, F_OK) == 0) {
		if (w->path)
			stream_error(log, "%s exists already", path);
		free(w->path);
		free(w);
		return KYMO_ERROR_EXISTS;
	}
	if (sqlite3_open(path, &w->db) != SQLITE_OK || !sql_run(w->db, setup) ||
	    !sql_run(w->db, store_schema) ||
	    (trace_path && !store_sources_write(w->db, trace_path))) {
		kymo_status_t status = failed(w);

		store_writer_free(&w->sink);
		return status;
	}
	*out = &w->sink;
	return KYMO_OK;
}

void store_writer_free(struct stream_sink *s)
{
	struct store_writer *w = of(s);

	if (!s)
		return;
	for (unsigned k = 0; k < ROWS_KINDS; k++) {
		feed_release(&w->feed[k]);
		time_index_release(&w->times[k]);
	}
	free(w->held);
	side_writer_free(w->side);
	sqlite3_finalize(w->counter);
	sqlite3_close(w->db);
	if (!w->complete)
		unlink(w->path);
	tallies_free(w->tallies);
	free(w->path);
	free(w);
}
