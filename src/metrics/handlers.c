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
	const char *handler;
	/* What stands in front of the handler's own columns. */
	bool processes, launches, devices;
};

/* What comes before the cells in a row of the query. */
enum { Q_PID, Q_DEVICE, Q_KERNEL, Q_LAUNCH, Q_FUNCTION, Q_FILE, Q_LINE, Q_CELLS };

static bool failed(const struct found *f)
{
	stream_error(f->log, "the store cannot be read: %s", sqlite3_errmsg(f->db));
	return false;
}

static sqlite3_stmt *prepare(const struct found *f, const char *sql, const char *table,
			     const char *columns)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(f->db, sql, -1, &q, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_text(q, 1, f->handler, -1, SQLITE_TRANSIENT);
	if (table)
		sqlite3_bind_text(q, 2, table, -1, SQLITE_TRANSIENT);
	if (columns)
		sqlite3_bind_text(q, 3, columns, -1, SQLITE_TRANSIENT);
	return q;
}

static bool more_than_one(const struct found *f, const char *what)
{
	struct text sql = {0};
	sqlite3_stmt *q;
	bool more;

	text_addf(&sql, "SELECT count(DISTINCT %s) FROM kernel_reports WHERE handler = ?1", what);
	q = sql.s ? prepare(f, sql.s, NULL, NULL) : NULL;
	more = q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int64(q, 0) > 1;
	sqlite3_finalize(q);
	text_release(&sql);
	return more;
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

/* The handler's own, by what their cells are; returns how many. */
static unsigned put_columns(const struct found *f, struct table *t, const char *table,
			    const char *columns)
{
	sqlite3_stmt *q =
		prepare(f,
			"SELECT c.key, c.value, max(v.type = 'text'), max(v.type = 'real') "
			"FROM json_each(?3) c LEFT JOIN kernel_reports r ON r.handler = ?1 "
			"AND r.name = ?2 AND r.columns = ?3 "
			"LEFT JOIN json_each(r.cells) v ON v.key = c.key "
			"GROUP BY c.key ORDER BY c.key",
			table, columns);
	unsigned n = 0;

	while (q && n < COLUMNS_MOST && sqlite3_step(q) == SQLITE_ROW) {
		const char *name = table_own(t, (const char *)sqlite3_column_text(q, 1));

		table_column(t, name, name,
			     unit_of(name, sqlite3_column_int(q, 2), sqlite3_column_int(q, 3)));
		n++;
	}
	sqlite3_finalize(q);
	return n;
}

static bool has_places(const struct found *f, const char *table, const char *columns,
		       const char *what)
{
	struct text sql = {0};
	sqlite3_stmt *q;
	bool has;

	text_addf(&sql,
		  "SELECT 1 FROM kernel_reports WHERE handler = ?1 AND name = ?2 AND columns = ?3 "
		  "AND %s LIMIT 1",
		  what);
	q = sql.s ? prepare(f, sql.s, table, columns) : NULL;
	has = q && sqlite3_step(q) == SQLITE_ROW;
	sqlite3_finalize(q);
	text_release(&sql);
	return has;
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
	else
		cell_number(c, (uint64_t)sqlite3_column_int64(q, i));
}

static bool put_rows(const struct found *f, struct table *t, const char *table, const char *columns,
		     unsigned own)
{
	struct text sql = {0};
	const unsigned first = t->column_count - own;
	sqlite3_stmt *q;
	int rc = SQLITE_ERROR;

	text_add(&sql,
		 "SELECT pid, agent_name, kernel_name, launch, function, nullif(file, ''), line");
	for (unsigned i = 0; i < own; i++)
		text_addf(&sql, ", json_extract(cells, '$[%u]')", i);
	text_add(&sql, " FROM kernel_reports WHERE handler = ?1 AND name = ?2 AND columns = ?3 "
		       "ORDER BY id, part_row");
	q = sql.failed ? NULL : prepare(f, sql.s, table, columns);
	while (q && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct cell *c = table_row(t);

		for (unsigned i = 0; c && i < first; i++)
			put_cell(t, &c[i], q, (int)i, (enum cell_unit)t->columns[i].unit);
		for (unsigned i = 0; c && i < own; i++)
			put_cell(t, &c[first + i], q, (int)(Q_CELLS + i),
				 (enum cell_unit)t->columns[first + i].unit);
	}
	sqlite3_finalize(q);
	text_release(&sql);
	return rc == SQLITE_DONE || failed(f);
}

static bool put_table(const struct found *f, const char *table, const char *columns)
{
	struct text id = {0};
	struct table *t;
	bool places = has_places(f, table, columns, "function IS NOT NULL");
	unsigned own;
	bool good;

	text_addf(&id, "%s.%s", f->handler, table);
	t = id.s ? report_table(f->report, id.s, id.s) : NULL;
	text_release(&id);
	if (!t)
		return false;
	table_column_if(t, f->processes, "pid", "pid", CELL_ID);
	table_column_if(t, f->devices, "device", "device", CELL_TEXT);
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column_if(t, f->launches, "launch", "launch", CELL_COUNT);
	table_column_if(t, places, "function", "function", CELL_TEXT);
	table_column_if(t, places && has_places(f, table, columns, "file <> ''"), "file", "file",
			CELL_TEXT);
	table_column_if(t, places, "line", "line", CELL_ID);
	own = put_columns(f, t, table, columns);
	good = put_rows(f, t, table, columns, own);
	return good && !t->failed;
}

bool handler_tables(struct report *r, struct store *store, const char *handler,
		    struct stream_log *log, uint32_t *count)
{
	struct found f = {.report = r, .db = store_database(store), .log = log, .handler = handler};
	sqlite3_stmt *q;
	int rc = SQLITE_ERROR;
	bool good = true;

	*count = 0;
	f.processes = more_than_one(&f, "pid");
	f.devices = more_than_one(&f, "agent_name");
	f.launches = more_than_one(&f, "launch");
	q = prepare(&f,
		    "SELECT name, columns FROM kernel_reports WHERE handler = ?1 "
		    "GROUP BY name, columns ORDER BY min(id)",
		    NULL, NULL);
	while (q && good && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		good = put_table(&f, (const char *)sqlite3_column_text(q, 0),
				 (const char *)sqlite3_column_text(q, 1));
		++*count;
	}
	if (good && rc != SQLITE_DONE)
		good = failed(&f);
	sqlite3_finalize(q);
	return good && !r->failed;
}
