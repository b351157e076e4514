/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of kernels by source line, with the line's text where its file can be read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/store/store.h"
#include "metrics/report.h"

enum { SOURCE_MOST = 8 << 20, LINE_MOST = 80 };

static const char query[] =
	"WITH lines AS (SELECT function, file, line, agent_name, reason, sum(samples) AS samples, "
	"sum(idle) AS idle FROM device_samples GROUP BY 1, 2, 3, 4, 5) "
	"SELECT function, file, line, agent_name, sum(samples), sum(idle), (SELECT w.reason FROM "
	"lines "
	"w WHERE w.function IS l.function AND w.file IS l.file AND w.line IS l.line AND "
	"w.agent_name IS "
	"l.agent_name AND w.reason <> 'selected' ORDER BY w.samples DESC LIMIT 1), 100.0 * "
	"sum(samples) / (SELECT sum(samples) FROM lines) FROM lines l "
	"GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC";

/* The file that was read last: lines of one are near each other. */
struct source {
	char *path, *text;
};

static void release(struct source *s)
{
	free(s->path);
	free(s->text);
	*s = (struct source){0};
}

static void line_text(struct source *s, const char *path, int64_t line, struct text *out)
{
	const char *at;

	if (!path || *path != '/' || line < 1)
		return;
	if (!s->path || strcmp(s->path, path) != 0) {
		release(s);
		s->path = strdup(path);
		s->text = file_read_limited(path, SOURCE_MOST);
	}
	for (at = s->text; at && *at && --line;) {
		at = strchr(at, '\n');
		at += at != NULL;
	}
	if (!at)
		return;
	at += strspn(at, " \t");
	text_add_bytes(out, at, strcspn(at, "\n") < LINE_MOST ? strcspn(at, "\n") : LINE_MOST);
}

static void put_text(struct table *t, struct cell *c, const char *s)
{
	if (s && *s)
		cell_text(t, c, s);
}

static void put_row(struct table *t, sqlite3_stmt *s, struct source *source)
{
	const char *file = (const char *)sqlite3_column_text(s, 1);
	struct cell *c = table_row(t);
	double samples = sqlite3_column_double(s, 4);
	struct text line = {0};

	if (!c)
		return;
	put_text(t, c++, (const char *)sqlite3_column_text(s, 0));
	put_text(t, c++, (const char *)sqlite3_column_text(s, 3));
	put_text(t, c++, file);
	if (sqlite3_column_int64(s, 2) > 0)
		cell_number(c, (uint64_t)sqlite3_column_int64(s, 2));
	c++;
	cell_number(c++, (uint64_t)sqlite3_column_int64(s, 4));
	cell_real(c++, sqlite3_column_double(s, 7));
	if (samples > 0)
		cell_real(c, 100 * sqlite3_column_double(s, 5) / samples);
	c++;
	put_text(t, c++, (const char *)sqlite3_column_text(s, 6));
	line_text(source, file, sqlite3_column_int64(s, 2), &line);
	put_text(t, c, line.s);
	text_release(&line);
}

bool samples_table(struct report *r, const struct kernel_report *k, const char *id,
		   const char *title)
{
	struct table *t = report_table(r, id, title);
	struct source source = {0};
	sqlite3_stmt *s = NULL;
	int rc;

	if (!t)
		return false;
	t->ranked = true;
	table_column(t, "function", "function", CELL_TEXT);
	table_column_optional(t, 1, "device", "device", CELL_TEXT);
	table_column(t, "file", "file", CELL_TEXT);
	table_column(t, "line", "line", CELL_ID);
	table_column(t, "samples", "samples", CELL_COUNT);
	table_column(t, "share_percent", "share %", CELL_PERCENT);
	table_column(t, "idle_percent", "idle %", CELL_PERCENT);
	table_column(t, "stall", "stalled most by", CELL_TEXT);
	table_column_optional(t, 2, "source", "source", CELL_TEXT);
	rc = sqlite3_prepare_v2(store_database(k->store), query, -1, &s, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		put_row(t, s, &source);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_DONE)
		stream_error(k->log, "the store cannot be read: %s",
			     sqlite3_errmsg(store_database(k->store)));
	sqlite3_finalize(s);
	release(&source);
	if (!k->panels)
		report_drop_empty(r);
	else if (!t->row_count)
		table_note(t, NO_KERNEL_SAMPLES);
	return rc == SQLITE_DONE;
}
