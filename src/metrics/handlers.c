/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of handlers: as wide as they said, and with the types that their cells have. */
#include "metrics/handlers.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define COLUMNS_MOST 32

struct found {
	struct report *report;
	sqlite3 *db;
	struct stream_log *log;
	/* What stands in front of the handler's own columns. */
	bool processes, devices, launches;
};

/*
 * Rows of the handler, which all that follows is asked of: what the view does for each is done once. They
 * are in the order that they were reported in.
 */
static const char rows_of_handler[] =
	"CREATE TEMP TABLE handler_rows AS SELECT pid, agent_name AS device, kernel_name AS "
	"kernel, "
	"launch, function, nullif(file, '') AS file, line, nullif(col, 0) AS \"column\", what, "
	"name, columns, cells FROM kernel_reports WHERE handler = ?1 ORDER BY id, part_row";
static const char no_rows[] = "DROP TABLE IF EXISTS temp.handler_rows";

static bool failed(const struct found *f)
{
	stream_error(f->log, "the store cannot be read: %s", sqlite3_errmsg(f->db));
	return false;
}

static sqlite3_stmt *prepare(const struct found *f, const char *sql, const char *first,
			     const char *second)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(f->db, sql, -1, &q, NULL) != SQLITE_OK)
		return NULL;
	if (first)
		sqlite3_bind_text(q, 1, first, -1, SQLITE_TRANSIENT);
	if (second)
		sqlite3_bind_text(q, 2, second, -1, SQLITE_TRANSIENT);
	return q;
}

static bool keep_rows(struct found *f, const char *handler)
{
	sqlite3_stmt *q;
	bool good = sqlite3_exec(f->db, no_rows, NULL, NULL, NULL) == SQLITE_OK;

	q = good ? prepare(f, rows_of_handler, handler, NULL) : NULL;
	good = q && sqlite3_step(q) == SQLITE_DONE;
	sqlite3_finalize(q);
	q = good ? prepare(f,
			   "SELECT count(DISTINCT pid) > 1, count(DISTINCT device) > 1, "
			   "count(DISTINCT launch) > 1 FROM temp.handler_rows",
			   NULL, NULL)
		 : NULL;
	good = q && sqlite3_step(q) == SQLITE_ROW;
	f->processes = good && sqlite3_column_int(q, 0);
	f->devices = good && sqlite3_column_int(q, 1);
	f->launches = good && sqlite3_column_int(q, 2);
	sqlite3_finalize(q);
	return good || failed(f);
}

/* ---- columns ----------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static enum cell_unit unit_of(const char *name, bool text, bool real)
{
	if (text)
		return CELL_TEXT;
	if (ends_with(name, "bytes"))
		return real ? CELL_BYTES_MEAN : CELL_BYTES;
	if (ends_with(name, "_percent"))
		return CELL_PERCENT;
	if (ends_with(name, "_ns"))
		return CELL_TIME;
	if (ends_with(name, "address"))
		return CELL_ID;
	return real ? CELL_NUMBER : CELL_COUNT;
}

/* A column by the expression that it is of a row, and how it is shown. */
static void put_column(struct table *t, struct text *sql, const char *name, bool shown,
		       enum cell_unit unit)
{
	text_addf(sql, "%s\"%s\"", sql->length ? ", " : "SELECT ", name);
	table_column_if(t, shown, name, name, unit);
}

/* What a table is: the names of its own columns, what their cells are, and what is known of its places. */
struct shape {
	const char *names[COLUMNS_MOST];
	unsigned count;
	bool text[COLUMNS_MOST], real[COLUMNS_MOST];
	bool places, files, columns, kinds;
};

static bool find_names(const struct found *f, struct table *t, const char *columns, struct shape *s)
{
	sqlite3_stmt *q = prepare(f, "SELECT value FROM json_each(?1) ORDER BY key", columns, NULL);
	int rc = SQLITE_ERROR;

	while (q && s->count < COLUMNS_MOST && (rc = sqlite3_step(q)) == SQLITE_ROW)
		s->names[s->count++] = table_own(t, (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return rc == SQLITE_DONE || s->count == COLUMNS_MOST;
}

static bool find_shape(const struct found *f, struct table *t, const char *table,
		       const char *columns, struct shape *s)
{
	struct text sql = {0};
	sqlite3_stmt *q;
	bool good = find_names(f, t, columns, s);

	text_add(&sql, "SELECT count(function), count(file), count(\"column\"), count(what)");
	for (unsigned i = 0; i < s->count; i++)
		text_addf(&sql,
			  ", max(json_type(cells, '$[%u]') = 'text'), "
			  "max(json_type(cells, '$[%u]') = 'real')",
			  i, i);
	text_add(&sql, " FROM temp.handler_rows WHERE name = ?1 AND columns = ?2");
	q = good && !sql.failed ? prepare(f, sql.s, table, columns) : NULL;
	good = q && sqlite3_step(q) == SQLITE_ROW;
	s->places = good && sqlite3_column_int64(q, 0);
	s->files = good && sqlite3_column_int64(q, 1);
	s->columns = good && sqlite3_column_int64(q, 2);
	s->kinds = good && sqlite3_column_int64(q, 3);
	for (unsigned i = 0; good && i < s->count; i++) {
		s->text[i] = sqlite3_column_int(q, (int)(4 + 2 * i));
		s->real[i] = sqlite3_column_int(q, (int)(5 + 2 * i));
	}
	sqlite3_finalize(q);
	text_release(&sql);
	return good || failed(f);
}

static bool has_own(const struct shape *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->names[i] && strcmp(s->names[i], name) == 0)
			return true;
	return false;
}

/* Of a place; where the handler has such a column itself, that one is it. */
static void put_place(struct table *t, struct text *sql, const struct shape *s)
{
	const struct {
		const char *name;
		bool shown;
		enum cell_unit unit;
	} all[] = {{"function", s->places, CELL_TEXT},
		   {"file", s->files, CELL_TEXT},
		   {"line", s->places, CELL_ID},
		   {"column", s->columns, CELL_ID},
		   /* People see it once. */
		   {"what", s->kinds && !has_own(s, "kind") && !has_own(s, "name"), CELL_TEXT}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!has_own(s, all[i].name))
			put_column(t, sql, all[i].name, all[i].shown, all[i].unit);
}

/*
 * A cell. Numbers of 2^63 and more, which SQLite has no integers for, stay the digits that they are: an array of the cell
 * and of one that is not there is JSON, too.
 */
static void put_own(struct text *sql, unsigned i)
{
	text_addf(sql,
		  ", CASE json_type(cells, '$[%u]') WHEN 'integer' THEN trim(json_extract(cells, "
		  "'$[%u]', '$[%u]'), '[,nul]') ELSE json_extract(cells, '$[%u]') END",
		  i, i, COLUMNS_MOST, i);
}

static void put_columns(const struct found *f, struct table *t, struct text *sql,
			const struct shape *s)
{
	put_column(t, sql, "pid", f->processes, CELL_ID);
	put_column(t, sql, "device", f->devices, CELL_TEXT);
	put_column(t, sql, "kernel", true, CELL_TEXT);
	put_column(t, sql, "launch", f->launches, CELL_COUNT);
	put_place(t, sql, s);
	for (unsigned i = 0; i < s->count; i++) {
		table_column(t, s->names[i], s->names[i],
			     unit_of(s->names[i], s->text[i], s->real[i]));
		put_own(sql, i);
	}
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void put_cell(struct table *t, struct cell *c, sqlite3_stmt *q, int i, enum cell_unit unit)
{
	if (sqlite3_column_type(q, i) == SQLITE_NULL)
		return;
	if (unit == CELL_TEXT)
		cell_text(t, c, (const char *)sqlite3_column_text(q, i));
	else if (unit == CELL_NUMBER || unit == CELL_PERCENT || unit == CELL_BYTES_MEAN)
		cell_real(c, sqlite3_column_double(q, i));
	else if (sqlite3_column_type(q, i) == SQLITE_FLOAT)
		cell_number(c, (uint64_t)llround(sqlite3_column_double(q, i)));
	else if (sqlite3_column_type(q, i) == SQLITE_TEXT) /* put_own() */
		cell_number(c, strtoull((const char *)sqlite3_column_text(q, i), NULL, 10));
	else
		cell_number(c, (uint64_t)sqlite3_column_int64(q, i));
}

static bool put_rows(const struct found *f, struct table *t, const struct text *sql,
		     const char *table, const char *columns)
{
	sqlite3_stmt *q = sql->failed ? NULL : prepare(f, sql->s, table, columns);
	int rc = SQLITE_ERROR;

	while (q && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct cell *c = table_row(t);

		for (unsigned i = 0; c && i < t->column_count; i++)
			put_cell(t, &c[i], q, (int)i, (enum cell_unit)t->columns[i].unit);
	}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE || failed(f);
}

static bool put_table(const struct found *f, const char *handler, const char *table,
		      const char *columns)
{
	struct text id = {0}, sql = {0};
	struct shape shape = {0};
	struct table *t;
	bool good;

	text_addf(&id, "%s.%s", handler, table);
	t = id.s ? report_table(f->report, id.s, id.s) : NULL;
	text_release(&id);
	good = t && find_shape(f, t, table, columns, &shape);
	if (good) {
		put_columns(f, t, &sql, &shape);
		text_add(&sql, " FROM temp.handler_rows WHERE name = ?1 AND columns = ?2 "
			       "ORDER BY rowid");
		good = put_rows(f, t, &sql, table, columns);
	}
	text_release(&sql);
	return good && !t->failed;
}

bool handler_tables(struct report *r, struct store *store, const char *handler,
		    struct stream_log *log, uint32_t *count)
{
	struct found f = {.report = r, .db = store_database(store), .log = log};
	bool good = keep_rows(&f, handler);
	int rc = SQLITE_ERROR;
	sqlite3_stmt *q;

	*count = 0;
	if (!good)
		return false;
	q = prepare(&f,
		    "SELECT name, columns FROM temp.handler_rows GROUP BY 1, 2 ORDER BY min(rowid)",
		    NULL, NULL);
	while (q && good && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		good = put_table(&f, handler, (const char *)sqlite3_column_text(q, 0),
				 (const char *)sqlite3_column_text(q, 1));
		++*count;
	}
	if (good && rc != SQLITE_DONE)
		good = failed(&f);
	sqlite3_finalize(q);
	sqlite3_exec(f.db, no_rows, NULL, NULL, NULL);
	return good && !r->failed;
}
