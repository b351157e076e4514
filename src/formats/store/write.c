/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling the store: one pass, one transaction. Records become rows of integers in feeds; tallies
 * are kept on the way; definitions and tallies follow at the end, when their totals are known.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/store/args.h"
#include "formats/store/definitions.h"
#include "sql/bulk_insert.h"
#include "formats/store/arguments.h"
#include "formats/store/store.h"
#include "stream/payload.h"
#include "stream/symbol.h"

#include "record/store_rows.inc"

static const struct {
	const char *table;
	unsigned columns;
	bool blob;
	uint64_t reals; /* bit by column */
} rows_of[ROWS_KINDS] = {[ROWS_CALL] = {"call", 7, false, 0},
			 [ROWS_CALL_EXTRA] = {"call_extra", 6, false, 0},
			 [ROWS_ACTIVITY] = {"activity", 7, true, 0},
			 [ROWS_LOSS] = {"loss", 6, false, 0},
			 RECORD_ROWS};

struct store_writer {
	struct stream_sink sink;
	sqlite3 *db;
	char *path;
	struct stream_log *log;
	const struct trace *trace;
	struct tallies_sink tally;
	int64_t origin;
	struct bulk_insert feed[ROWS_KINDS];
	struct arguments_writer *side;
	int64_t last_id[ROWS_KINDS]; /* of tables numbered in order of arrival */
	uint64_t unnumbered;         /* calls whose id has no row */
	uint64_t *held;              /* records that there are, by thread */
	bool complete;
};

static struct store_writer *writer_of(struct stream_sink *s)
{
	return (struct store_writer *)s;
}

static kymo_status_t failed(struct store_writer *w)
{
	stream_error(w->log, "%s: the store cannot be written: %s", w->path, sqlite3_errmsg(w->db));
	return sqlite3_errcode(w->db) == SQLITE_NOMEM ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_SYSTEM;
}

/* The database, or else the folder of the files that it is made of. */
static kymo_status_t sources_failed(struct store_writer *w, const char *trace_path)
{
	int error = errno, code = sqlite3_errcode(w->db);

	if (code != SQLITE_OK && code != SQLITE_DONE)
		return failed(w);
	stream_error(w->log, "%s/raw: %s", trace_path, strerror(error));
	return KYMO_ERROR_SYSTEM;
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

/* The cells of a row, as the table's columns stand in schema.sql. */
#define PUT_ROW(c, ...)                                                                            \
	memcpy((c), (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}))

/* ---- records ----------------------------------------------------------------------------------- */

static inline void count(struct store_writer *w, const struct rec *r)
{
	if (r->thread < w->trace->threads_count)
		w->held[r->thread]++;
}

static kymo_status_t put_extra(struct store_writer *w, int64_t id, const struct rec *r)
{
	int64_t *c = bulk_insert_row(&w->feed[ROWS_CALL_EXTRA]);

	if (!c)
		return failed(w);
	PUT_ROW(c, id, null_if_0(r->parent), null_if_0((uint64_t)r->scope), null_if_0(r->external),
		null_if_0(r->stack), null_if_0(r->unwound));
	return KYMO_OK;
}

static kymo_status_t put_call(struct stream_sink *s, const struct rec *r)
{
	struct store_writer *w = writer_of(s);
	int64_t id = store_call_id(r->process, r->id);
	int64_t *c;

	count(w, r);
	w->tally.sink.call(&w->tally.sink, r);
	if (id == INT64_MIN) {
		w->unnumbered++;
		return KYMO_OK;
	}
	c = bulk_insert_row(&w->feed[ROWS_CALL]);
	if (!c)
		return failed(w);
	PUT_ROW(c, id, r->thread, r->op, r->start - w->origin, r->end - r->start,
		null_if_0(r->site), r->status);
	if (r->wire && r->op < w->trace->ops_count && !arguments_append(w->side, id, w->trace, r))
		return failed(w);
	if (r->parent || r->scope || r->external || r->stack || r->unwound)
		return put_extra(w, id, r);
	return KYMO_OK;
}

static kymo_status_t put_other(struct stream_sink *s, const struct rec *r)
{
	struct store_writer *w = writer_of(s);
	struct bulk_insert *f = &w->feed[ROWS_ACTIVITY];
	int64_t *c = bulk_insert_row(f), args = FEED_NULL, id;

	if (!c)
		return failed(w);
	count(w, r);
	w->tally.sink.other(&w->tally.sink, r);
	if (r->wire && r->op < w->trace->ops_count)
		args = bulk_insert_blob_cell(f, args_pack(w->trace, r, bulk_insert_blob(f)));
	id = ++w->last_id[ROWS_ACTIVITY];
	PUT_ROW(c, id, r->thread, r->op, r->start - w->origin, r->end - r->start, r->status, args);
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

/* The functions row_TABLE() and put_KIND(), for each kind of record. */
#include "record/store_functions.inc"

static kymo_status_t put_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct store_writer *w = writer_of(s);
	int64_t *c = bulk_insert_row(&w->feed[ROWS_LOSS]), id;

	if (!c)
		return failed(w);
	w->tally.sink.loss(&w->tally.sink, r);
	id = ++w->last_id[ROWS_LOSS];
	PUT_ROW(c, id, r->process, r->thread, (int64_t)r->count, since_origin(w, r->after),
		since_origin(w, r->before));
	return KYMO_OK;
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct store_writer *w = writer_of(s);

	w->trace = t;
	w->origin = t->origin;
	tallies_sink_init(&w->tally);
	w->held = calloc(t->threads_count + 1u, sizeof(*w->held));
	if (w->tally.sink.begin(&w->tally.sink, t) != KYMO_OK || !w->held)
		return KYMO_ERROR_NO_MEMORY;
	w->side = arguments_writer_new(w->db);
	if (!w->side)
		return failed(w);
	for (unsigned k = 0; k < ROWS_KINDS; k++) {
		if (!bulk_insert_init(&w->feed[k], w->db, rows_of[k].table, rows_of[k].columns,
				      rows_of[k].blob, rows_of[k].reals))
			return failed(w);
	}
	return KYMO_OK;
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
	       (!t->imported || (metadata_add(w->db, "imported", t->imported) &&
				 metadata_add(w->db, "imported_format", t->imported_format))) &&
	       (!*t->formulas || metadata_add(w->db, "formulas", t->formulas)) &&
	       metadata_add_integer(w->db, "origin", w->origin) &&
	       metadata_add_integer(w->db, "duration", t->end - w->origin) &&
	       metadata_add_integer(w->db, "lost_records", (int64_t)lost) &&
	       metadata_add_integer(w->db, "overwritten_records", (int64_t)overwritten) &&
	       metadata_add_integer(w->db, "lost_definitions", (int64_t)lost_definitions) &&
	       metadata_add_integer(w->db, "untraced_calls", (int64_t)untraced) &&
	       metadata_add_integer(w->db, "untimed", (int64_t)untimed) &&
	       metadata_add_integer(w->db, "damaged_blocks", (int64_t)damaged) &&
	       metadata_add_integer(w->db, "calls_without_row",
				    (int64_t)(w->unnumbered + refused)) &&
	       metadata_add(w->db, "schema_version", STORE_SCHEMA_VERSION);
}

/*
 * Those that are in the trace, as every reader counts them: what a thread said of itself leaves out
 * what it made after that, and has what was lost or overwritten.
 */
static struct t_thread *threads_with_records(const struct store_writer *w, const struct trace *t)
{
	struct t_thread *threads = calloc(t->threads_count + 1u, sizeof(*threads));

	for (uint32_t i = 0; threads && i < t->threads_count; i++) {
		threads[i] = t->threads[i];
		threads[i].records = w->held[i];
	}
	return threads;
}

static void resolve(struct t_site *out, const struct t_site *from, const struct symbol *y)
{
	*out = *from;
	out->function = y->function;
	out->file = y->file;
	out->line = y->line;
	out->caller = y->caller ? y->caller->number : 0;
}

/* Call sites as the symbols of the modules name them, with sites of their own for what they are inlined into. */
static bool resolve_sites(struct trace *resolved, const struct trace *t, struct symbols *symbols)
{
	uint32_t last = t->sites_count - 1;

	for (uint32_t i = 1; i < t->sites_count; i++)
		for (const struct symbol *y = symbols_site(symbols, i); y; y = y->caller)
			last = y->number > last ? y->number : last;
	resolved->sites_count = last + 1;
	resolved->sites = calloc(resolved->sites_count, sizeof(*resolved->sites));
	for (uint32_t i = 1; resolved->sites && i < t->sites_count; i++)
		for (const struct symbol *y = symbols_site(symbols, i); y; y = y->caller)
			resolve(&resolved->sites[y->number], &t->sites[i], y);
	return resolved->sites != NULL;
}

static bool write_definitions(struct store_writer *w, struct sql_context *c, const struct trace *t)
{
	struct trace resolved = *t;
	struct symbols *symbols = symbols_new(t, w->log);
	bool ok;

	resolved.sites = NULL;
	resolved.threads = threads_with_records(w, t);
	ok = symbols && resolve_sites(&resolved, t, symbols) && resolved.threads &&
	     definitions_write(c, &resolved);
	symbols_free(symbols);
	free(resolved.threads);
	free(resolved.sites);
	return ok;
}

enum { PARENTS_MAX = 64 };

/* The line of the outermost call, as analysis/leaks.c finds it. */
static uint32_t site_of(void *select, const struct tally_live *l)
{
	uint64_t call = l->call;
	uint32_t site = 0;

	for (unsigned i = 0; call && i < PARENTS_MAX; i++) {
		int64_t id = store_call_id(l->process, call);
		uint32_t found;

		sqlite3_reset(select);
		if (id == INT64_MIN || sqlite3_bind_int64(select, 1, id) != SQLITE_OK ||
		    sqlite3_step(select) != SQLITE_ROW)
			break;
		found = (uint32_t)sqlite3_column_int64(select, 0);
		site = found ? found : site;
		call = (uint64_t)sqlite3_column_int64(select, 1);
	}
	return site;
}

static bool find_leaks(struct store_writer *w)
{
	sqlite3_stmt *select = NULL;
	bool ok =
		sqlite3_prepare_v2(w->db,
				   "SELECT c.site, e.parent FROM call c LEFT JOIN call_extra e ON "
				   "e.id = c.id WHERE c.id = ?",
				   -1, &select, NULL) == SQLITE_OK &&
		tallies_leaks(w->tally.tallies, site_of, select);

	sqlite3_finalize(select);
	return ok;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct store_writer *w = writer_of(s);
	struct sql_context c = {.db = w->db, .origin = w->origin};
	bool ok = true;

	for (unsigned k = 0; ok && k < ROWS_KINDS; k++)
		ok = bulk_insert_flush(&w->feed[k]);
	ok = ok && arguments_flush(w->side);
	arguments_writer_free(w->side);
	w->side = NULL;
	if (w->tally.sink.end(&w->tally.sink, t) != KYMO_OK)
		return KYMO_ERROR_NO_MEMORY;
	ok = ok && (w->sink.part || find_leaks(w)) && write_definitions(w, &c, t) &&
	     tallies_write(&c, w->tally.tallies) && write_metadata(w, t);
	sql_release(&c);
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
			    "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; BEGIN;";

kymo_status_t store_writer_new(const char *path, const char *trace_path, struct stream_log *log,
			       struct stream_sink **out)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
#define PUT(K, name, type) .name = put_##name,
	w->sink = (struct stream_sink){.begin = begin,
				       .call = put_call,
				       RECORD_KINDS(PUT).other = put_other,
				       .loss = put_loss,
				       .matches = true,
				       .lists = true,
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
	status = sqlite3_open(path, &w->db) == SQLITE_OK && sql_run(w->db, setup) &&
				 sql_run(w->db, store_schema)
			 ? KYMO_OK
			 : failed(w);
	if (status == KYMO_OK && trace_path && !store_sources_write(w->db, trace_path))
		status = sources_failed(w, trace_path);
	if (status != KYMO_OK) {
		store_writer_free(&w->sink);
		return status;
	}
	*out = &w->sink;
	return KYMO_OK;
}

void store_writer_free(struct stream_sink *s)
{
	struct store_writer *w = writer_of(s);

	if (!s)
		return;
	for (unsigned k = 0; k < ROWS_KINDS; k++)
		bulk_insert_release(&w->feed[k]);
	free(w->held);
	arguments_writer_free(w->side);
	sqlite3_close(w->db);
	if (!w->complete)
		unlink(w->path);
	tallies_free(w->tally.tallies);
	free(w->path);
	free(w);
}
