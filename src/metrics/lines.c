/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that were instrumented, by source line: how often it is executed, what it moves and computes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/store/store.h"
#include "metrics/report.h"

enum { SOURCE_MOST = 8 << 20, LINE_MOST = 80 };

/* The text of the program: of one that was made several times it is the same. */
#define SOURCE "(SELECT q.source FROM program q WHERE q.id = p.program) AS text"

/*
 * A line is executed as often as the part of it that is executed most. What instructions tell besides, of machine code, is of
 * each line alone: its programs have no text here. Processes have rows of their own: what each ran may differ.
 */
static const char query[] =
	"WITH launched AS (SELECT pid, kernel_name, agent_name, " SOURCE ", file, line, "
	"max(executed / times) AS executed, "
	"sum(executed) FILTER (WHERE what IN ('load', 'rw')) AS loads, "
	"sum(executed) FILTER (WHERE what IN ('store', 'rw')) AS stores, "
	"sum(executed) FILTER (WHERE what = 'atomic') AS atomics, "
	"sum(bytes) FILTER (WHERE kind IN ('global', 'constant', 'generic', 'image')) AS global, "
	"sum(bytes) FILTER (WHERE kind = 'local') AS local, "
	"sum(bytes) FILTER (WHERE kind = 'private') AS private, "
	"sum(executed) FILTER (WHERE what LIKE 'flop%') AS flops, "
	"sum(executed) FILTER (WHERE what = 'branch') AS branches "
	"FROM kernel_parts p GROUP BY pid, call_id, kernel_name, agent_name, text, file, line), "
	"accesses AS (SELECT pid, kernel_name, agent_name, " SOURCE ", file, line, "
	"100.0 * sum(accesses) / sum(lanes) AS lanes, "
	"sum(needed) FILTER (WHERE unit = 'line' AND used) AS needed, "
	"sum(used) FILTER (WHERE unit = 'line' AND used) AS used, "
	"sum(needed) FILTER (WHERE unit = 'sector' AND used) AS sectors_needed, "
	"sum(used) FILTER (WHERE unit = 'sector' AND used) AS sectors_used, "
	"sum(used - needed) FILTER (WHERE unit = 'round') AS conflicts, "
	"sum(misaligned) AS misaligned FROM kernel_accesses p GROUP BY 1, 2, 3, 4, 5, 6), "
	"machine AS (SELECT pid, kernel_name, agent_name, file, line, "
	"100.0 * sum(items) / sum(warps * warp) AS lanes, sum(uniform + divergent) AS "
	"warp_branches, "
	"sum(divergent) AS divergent FROM kernel_instructions GROUP BY 1, 2, 3, 4, 5) "
	"SELECT l.pid, l.kernel_name, l.agent_name, l.text, l.file, l.line, sum(executed), "
	"sum(loads), "
	"sum(stores), sum(atomics), sum(global), sum(local), sum(private), sum(flops), "
	"sum(branches), ifnull(m.lanes, a.lanes), a.needed, a.used, a.sectors_needed, "
	"a.sectors_used, a.conflicts, a.misaligned, nullif(m.warp_branches, 0), "
	"CASE WHEN m.warp_branches THEN m.divergent END "
	"FROM launched l LEFT JOIN accesses a ON a.pid IS l.pid AND a.kernel_name IS l.kernel_name "
	"AND a.agent_name "
	"IS l.agent_name "
	"AND a.text IS l.text AND a.file IS l.file AND a.line IS l.line "
	"LEFT JOIN machine m ON m.pid IS l.pid AND m.kernel_name IS l.kernel_name AND m.agent_name "
	"IS l.agent_name "
	"AND m.file IS l.file AND m.line IS l.line AND l.text IS NULL "
	"GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 2, 3, 1, 4, 5, 6";
enum {
	Q_PROCESS,
	Q_KERNEL,
	Q_DEVICE,
	Q_TEXT,
	Q_FILE,
	Q_LINE,
	Q_EXECUTED,
	Q_LANES = Q_EXECUTED + 9,
	Q_NEEDED,
	Q_END = Q_NEEDED + 8
};

static const char source_query[] = "SELECT data FROM blob WHERE id = ?";

/* What was read last: lines of one are near each other. */
struct source {
	int64_t id; /* the text's id, 0: it is that of a file */
	char *path, *text;
};

static void release(struct source *s)
{
	free(s->path);
	free(s->text);
	*s = (struct source){0};
}

static void read_text(struct source *s, sqlite3 *db, int64_t id)
{
	sqlite3_stmt *q = NULL;

	if (s->id == id)
		return;
	release(s);
	s->id = id;
	if (sqlite3_prepare_v2(db, source_query, -1, &q, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(q, 1, id);
		if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
			s->text = strdup((const char *)sqlite3_column_text(q, 0));
	}
	sqlite3_finalize(q);
}

static void read_file(struct source *s, const char *path)
{
	if (s->path && strcmp(s->path, path) == 0)
		return;
	release(s);
	s->path = strdup(path);
	s->text = *path == '/' ? file_read_limited(path, SOURCE_MOST) : NULL;
}

static void put_text(struct table *t, struct cell *c, const char *s, size_t length)
{
	char *copy = length ? strndup(s, length) : NULL;

	if (copy)
		cell_text(t, c, copy);
	free(copy);
}

static void put_line(struct table *t, struct cell *c, const struct source *s, int64_t line)
{
	const char *at = s->text;

	while (at && *at && --line > 0) {
		at = strchr(at, '\n');
		at += at != NULL;
	}
	if (!at)
		return;
	at += strspn(at, " \t");
	put_text(t, c, at, strcspn(at, "\n") < LINE_MOST ? strcspn(at, "\n") : LINE_MOST);
}

static void put_row(struct table *t, sqlite3_stmt *q, struct source *s, sqlite3 *db)
{
	const char *file = (const char *)sqlite3_column_text(q, Q_FILE);
	struct cell *c = table_row(t);

	if (!c)
		return;
	if (sqlite3_column_type(q, Q_PROCESS) != SQLITE_NULL)
		cell_number(c, (uint64_t)sqlite3_column_int64(q, Q_PROCESS));
	c++;
	for (int i = Q_KERNEL; i <= Q_DEVICE; i++, c++)
		if (sqlite3_column_text(q, i))
			cell_text(t, c, (const char *)sqlite3_column_text(q, i));
	if (file && *file)
		cell_text(t, c, file);
	c++;
	if (sqlite3_column_int64(q, Q_LINE)) /* machine code may have none */
		cell_number(c, (uint64_t)sqlite3_column_int64(q, Q_LINE));
	c++;
	for (int i = Q_EXECUTED; i < Q_END; i++, c++)
		if (sqlite3_column_type(q, i) != SQLITE_NULL && i != Q_LANES)
			cell_number(c, (uint64_t)sqlite3_column_int64(q, i));
		else if (sqlite3_column_type(q, i) != SQLITE_NULL)
			cell_real(c, sqlite3_column_double(q, i));
	if (file && *file)
		read_file(s, file);
	else
		read_text(s, db, sqlite3_column_int64(q, Q_TEXT));
	put_line(t, c, s, sqlite3_column_int64(q, Q_LINE));
}

bool report_any(sqlite3 *db, const char *rows)
{
	sqlite3_stmt *q = NULL;
	bool found = sqlite3_prepare_v2(db, rows, -1, &q, NULL) == SQLITE_OK &&
		     sqlite3_step(q) == SQLITE_ROW;

	sqlite3_finalize(q);
	return found;
}

static void put_columns(struct table *t, sqlite3 *db)
{
	bool files = report_any(db, "SELECT 1 FROM kernel_parts WHERE file <> '' LIMIT 1");
	bool accesses = report_any(db, "SELECT 1 FROM kernel_access LIMIT 1");
	bool machine = report_any(db, "SELECT 1 FROM kernel_instruction LIMIT 1");

	/* More than one. */
	table_column_if(t, report_any(db, "SELECT DISTINCT pid FROM kernel_parts LIMIT 1 OFFSET 1"),
			"pid", "pid", CELL_ID);
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column_optional(t, 1, "device", "device", CELL_TEXT);
	table_column_if(t, files, "file", "file", CELL_TEXT);
	table_column(t, "line", "line", CELL_ID);
	table_column(t, "executed", "executed", CELL_COUNT);
	table_column(t, "loads", "loads", CELL_COUNT);
	table_column(t, "stores", "stores", CELL_COUNT);
	table_column_if(t, false, "atomics", "atomics", CELL_COUNT);
	table_column(t, "global_bytes", "global", CELL_BYTES);
	table_column_if(t, false, "local_bytes", "local", CELL_BYTES);
	table_column_if(t, false, "private_bytes", "private", CELL_BYTES);
	table_column(t, "flops", "FLOP", CELL_COUNT);
	table_column(t, "branches", "branches", CELL_COUNT);
	table_column_if(t, accesses || machine, "lanes_percent", "lanes %", CELL_PERCENT);
	table_column_if(t, accesses, "lines_needed", "lines needed", CELL_COUNT);
	table_column_if(t, accesses, "lines_used", "used", CELL_COUNT);
	table_column_if(t, machine, "sectors_needed", "sectors needed", CELL_COUNT);
	table_column_if(t, machine, "sectors_used", "used", CELL_COUNT);
	table_column_if(t, accesses || machine, "conflicts", "conflicts", CELL_COUNT);
	table_column_if(t, accesses, "misaligned", "misaligned", CELL_COUNT);
	table_column_if(t, machine, "warp_branches", "branches of warps", CELL_COUNT);
	table_column_if(t, machine, "divergent_branches", "divergent", CELL_COUNT);
	table_column_optional(t, 2, "source", "source", CELL_TEXT);
}

bool lines_table(struct report *r, const struct kernel_report *k, const char *id, const char *title)
{
	struct table *t = report_table(r, id, title);
	sqlite3 *db = store_database(k->store);
	struct source source = {0};
	sqlite3_stmt *q = NULL;
	int rc;

	if (!t)
		return false;
	put_columns(t, db);
	rc = sqlite3_prepare_v2(db, query, -1, &q, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		put_row(t, q, &source, db);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_DONE)
		stream_error(k->log, "the store cannot be read: %s", sqlite3_errmsg(db));
	sqlite3_finalize(q);
	release(&source);
	if (!k->panels)
		report_drop_empty(r);
	else if (!t->row_count)
		table_note(t, "N/A: no kernels were instrumented: kymo run --instrument-kernels");
	return rc == SQLITE_DONE;
}
