/* SPDX-License-Identifier: Apache-2.0 */
/* SQL over stores; see query.h. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "report/query.h"

#define JOIN_MAX 11u   /* SQLite attaches ten databases to one */
#define MEASURED 1000u /* rows that the widths of columns are chosen from */

/* ---- mistakes ---------------------------------------------------------------------------------- */

/* The shortest of the candidates that have `word` in them, else the one that is nearest to it; "" if none is near. */
static void nearest_candidate(sqlite3 *db, const char *candidates, const char *sql,
			      const char *word, char out[64])
{
	sqlite3_stmt *s = NULL;
	unsigned best = UINT_MAX;
	size_t shortest = SIZE_MAX;

	if (sqlite3_prepare_v2(db, candidates, -1, &s, NULL) != SQLITE_OK)
		return;
	sqlite3_bind_text(s, 1, sql, -1, SQLITE_STATIC);
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);

		if (!name || strcasecmp(word, name) == 0)
			continue;
		if (strlen(word) > 3 && strcasestr(name, word) && strlen(name) < shortest) {
			shortest = strlen(name);
			snprintf(out, 64, "%s", name);
		} else if (shortest == SIZE_MAX && text_nearer(word, name, &best)) {
			snprintf(out, 64, "%s", name);
		}
	}
	sqlite3_finalize(s);
}

/* What is there to be asked first. */
static void add_views(struct text *out, sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	const char *comma = "";

	if (sqlite3_prepare_v2(db,
			       "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name",
			       -1, &s, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(s) == SQLITE_ROW) {
		text_addf(out, "%s%s", *comma ? comma : "the views are ",
			  (const char *)sqlite3_column_text(s, 0));
		comma = ", ";
	}
	sqlite3_finalize(s);
	if (*comma)
		text_add(out, "; ");
}

/* Tables that have a column of that very name, those that the question names first. */
static bool add_holders(struct text *out, sqlite3 *db, const char *sql, const char *word)
{
	sqlite3_stmt *s = NULL;
	const char *comma = "";

	if (sqlite3_prepare_v2(db,
			       "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c "
			       "WHERE t.type IN ('table', 'view') AND lower(c.name) = lower(?1) "
			       "ORDER BY instr(lower(?2), lower(t.name)) = 0, 1 LIMIT 6",
			       -1, &s, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(s, 1, word, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, sql, -1, SQLITE_STATIC);
	while (sqlite3_step(s) == SQLITE_ROW) {
		text_addf(out, "%s%s", *comma ? comma : "it is a column of ",
			  (const char *)sqlite3_column_text(s, 0));
		comma = ", ";
	}
	sqlite3_finalize(s);
	if (*comma)
		text_add(out, "; ");
	return *comma;
}

/* What could have been meant by a name that is not there, and where all names are. */
static void suggest_name(struct text *out, sqlite3 *db, const char *sql)
{
	enum { TABLE, COLUMN };
	static const struct {
		const char *message, *candidates;
	} kinds[] = {
		{"no such table: ",
		 "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
		 "AND ?1 <> '' UNION SELECT name FROM sqlite_temp_schema"},
		/* of the tables that the question names */
		{"no such column: ",
		 "SELECT c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
		 "WHERE t.type IN ('table', 'view') AND "
		 "instr(lower(?1), lower(t.name))"},
		{"no such function: ", "SELECT name FROM pragma_function_list WHERE ?1 <> ''"}};
	const char *message = sqlite3_errmsg(db);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i].message);
		char word[64] = "", near[64] = "", *dot;

		if (strncmp(message, kinds[i].message, n) != 0)
			continue;
		snprintf(word, sizeof(word), "%s", message + n);
		dot = strrchr(word, '.'); /* "k.nme" */
		if (i != COLUMN || !add_holders(out, db, sql, dot ? dot + 1 : word))
			nearest_candidate(db, kinds[i].candidates, sql, dot ? dot + 1 : word, near);
		if (*near)
			text_addf(out, "did you mean \"%s\"? ", near);
		if (i == TABLE)
			add_views(out, db);
		text_add(out, "\"kymo query --schema\" prints all tables and columns");
		return;
	}
}

static unsigned line_of(const char *sql, const char *at)
{
	unsigned line = 1;

	for (; sql < at; sql++)
		line += *sql == '\n';
	return line;
}

/* The line of the SQL in which the mistake is, and a mark under it. */
static void explain_error(struct stream_log *log, sqlite3 *db, const struct query_script *script,
			  const char *statement)
{
	const char *sql = script->sql;
	int offset = -1;
	const char *at, *begin, *end;
	struct text message = {0}, hint = {0}, place = {0};

#if SQLITE_VERSION_NUMBER >= 3038000
	offset = sqlite3_error_offset(db);
#endif
	text_add(&message, sqlite3_errmsg(db));
	suggest_name(&hint, db, sql);
	if (offset < 0 && script->file) {
		stream_error(log, "%s:%u: %s", script->file, line_of(sql, statement),
			     message.s ? message.s : "");
	} else if (offset < 0) {
		stream_error(log, "in the SQL: %s", message.s ? message.s : "");
	} else {
		begin = at = statement + offset;
		while (begin > sql && begin[-1] != '\n')
			begin--;
		end = at + strcspn(at, "\n");
		if (script->file)
			text_addf(&place, "%s:%u: ", script->file, line_of(sql, at));
		else
			text_add(&place, "in the SQL: ");
		stream_error(log, "%s%s (character %d)\n  %.*s\n  %*s^", place.s ? place.s : "",
			     message.s ? message.s : "",
			     (int)(at - (script->file ? begin : sql)) + 1, (int)(end - begin),
			     begin, (int)(at - begin), "");
	}
	if (hint.s)
		stream_error(log, "%s", hint.s);
	text_release(&message);
	text_release(&hint);
	text_release(&place);
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* A value as text; blobs as x'..'. Adds nothing for NULL. */
static void add_value(struct text *out, sqlite3_stmt *s, int c)
{
	const unsigned char *bytes;
	int n;

	if (sqlite3_column_type(s, c) != SQLITE_BLOB) {
		const char *text = (const char *)sqlite3_column_text(s, c);

		text_add(out, text ? text : "");
		return;
	}
	bytes = sqlite3_column_blob(s, c);
	n = sqlite3_column_bytes(s, c);
	text_add(out, "x'");
	for (int i = 0; i < n; i++)
		text_addf(out, "%02x", bytes[i]);
	text_add(out, "'");
}

static void separated_rows(sqlite3_stmt *s, int *rc, enum report_format format, FILE *out)
{
	struct text value = {0};
	int columns = sqlite3_column_count(s);

	for (int c = 0; c < columns; c++) {
		if (c)
			separated_next(format, out);
		separated_field(format, out, sqlite3_column_name(s, c));
	}
	separated_end(format, out);
	while (!ferror(out) && (*rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int c = 0; c < columns; c++) {
			value.length = 0;
			text_add(&value, "");
			add_value(&value, s, c);
			if (c)
				separated_next(format, out);
			separated_field(format, out, value.failed ? "" : value.s);
		}
		separated_end(format, out);
	}
	text_release(&value);
}

static void json_value(sqlite3_stmt *s, int c, struct text *value, FILE *out)
{
	int type = sqlite3_column_type(s, c);

	value->length = 0;
	text_add(value, "");
	add_value(value, s, c);
	if (type == SQLITE_NULL || value->failed)
		fputs("null", out);
	else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
		fputs(strstr(value->s, "Inf") ? "null" : value->s, out);
	else
		json_string(out, value->s);
}

static void json_rows(sqlite3_stmt *s, int *rc, FILE *out)
{
	struct text value = {0};
	int columns = sqlite3_column_count(s);
	bool first = true;

	fputs("[", out);
	while (!ferror(out) && (*rc = sqlite3_step(s)) == SQLITE_ROW) {
		fputs(first ? "\n  {" : ",\n  {", out);
		first = false;
		for (int c = 0; c < columns; c++) {
			fputs(c ? ", " : "", out);
			json_string(out, sqlite3_column_name(s, c));
			fputs(": ", out);
			json_value(s, c, &value, out);
		}
		fputs("}", out);
	}
	fputs("\n]", out);
	text_release(&value);
}

/* Numbers are aligned to the right: a column whose first value is one is a column of numbers. */
static bool is_number(sqlite3_stmt *s, int c)
{
	int type = sqlite3_column_type(s, c);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void table_add(struct table *t, sqlite3_stmt *s, struct text *value)
{
	struct cell *cells = table_row(t);

	for (unsigned c = 0; cells && c < t->column_count; c++) {
		if (sqlite3_column_type(s, (int)c) == SQLITE_NULL)
			continue;
		value->length = 0;
		text_add(value, "");
		add_value(value, s, (int)c);
		if (!value->failed)
			cell_text(t, &cells[c], value->s);
	}
}

/* Adds rows until the table has `most`. The first one of all says which columns are of numbers. */
static void table_fill(struct table *t, sqlite3_stmt *s, int *rc, uint32_t most)
{
	struct text value = {0};

	while (!t->failed && t->row_count < most && (*rc = sqlite3_step(s)) == SQLITE_ROW) {
		if (t->row_count == 0 && most == MEASURED) {
			for (unsigned c = 0; c < t->column_count; c++)
				t->columns[c].right = is_number(s, (int)c);
		}
		table_add(t, s, &value);
	}
	t->failed |= value.failed;
	text_release(&value);
}

/* What comes after the first rows is printed as it comes: there may be no end of it. */
static void table_stream(struct table *t, sqlite3_stmt *s, int *rc, enum report_format format,
			 FILE *out)
{
	struct text_portions *p = NULL;

	if (format == REPORT_TEXT) {
		p = text_portions_begin(t, out);
		t->failed |= !p;
	} else if (format == REPORT_HTML) {
		html_heading(t, out);
		html_rows(t, t->row_count, out);
	} else {
		markdown_heading(t, out);
		markdown_rows(t, t->row_count, out);
	}
	while (!t->failed && *rc == SQLITE_ROW && !ferror(out)) {
		table_drop_rows(t);
		table_fill(t, s, rc, 1);
		if (p)
			text_portions_add(p, t);
		else if (format == REPORT_HTML)
			html_rows(t, t->row_count, out);
		else
			markdown_rows(t, t->row_count, out);
	}
	if (p)
		text_portions_end(p, t);
	if (format == REPORT_HTML)
		html_table_end(out);
}

static kymo_status_t table_rows(sqlite3_stmt *s, int *rc, const char *heading,
				enum report_format format, FILE *out)
{
	struct report r = {0};
	struct table *t = report_table(&r, "query", heading);
	int columns = sqlite3_column_count(s);
	kymo_status_t status = KYMO_OK;

	for (int c = 0; t && c < columns; c++)
		table_column(t, sqlite3_column_name(s, c), sqlite3_column_name(s, c), CELL_TEXT);
	if (t)
		table_fill(t, s, rc, MEASURED);
	/* A page holds the tables of all statements, so that it is not report_print()'s. */
	if (t && (*rc == SQLITE_ROW || (format == REPORT_HTML && *rc == SQLITE_DONE)))
		table_stream(t, s, rc, format, out);
	else if (t && !t->failed && *rc == SQLITE_DONE)
		report_print(&r, format, out);
	if (!t || t->failed)
		status = KYMO_ERROR_NO_MEMORY;
	report_release(&r);
	return status;
}

/* ---- statements -------------------------------------------------------------------------------- */

/* What is printed where, and how much was. */
struct printing {
	enum report_format format;
	FILE *out;
	bool headings; /* each result has one */
	unsigned results;
};

/* White space as blanks, and not too much of it. */
static void add_beginning(struct text *out, const char *s, const char *end)
{
	enum { MOST = 72 };
	bool blank = false;

	while (end > s && strchr("; \t\r\n", end[-1]))
		end--;
	for (; s < end && (out->length < MOST || (*s & 0xc0) == 0x80); s++) {
		if (strchr(" \t\r\n", *s)) {
			blank = true;
			continue;
		}
		text_addf(out, "%s%c", blank ? " " : "", *s);
		blank = false;
	}
	text_add(out, s < end ? "..." : "");
}

/* The first line of the comment right before the statement, else how the statement begins. */
static void find_heading(struct text *heading, const struct query_script *script, const char *at,
			 const char *next)
{
	/* A comment behind the statement before is of that. */
	if (at > script->sql && strncmp(at + strspn(at, " \t"), "--", 2) == 0)
		at += strcspn(at, "\n");
	while (at < next) {
		at += strspn(at, " \t\r");
		if (*at == '\n') {
			heading->length = 0;
		} else if (strncmp(at, "--", 2) == 0) {
			at += 2 + strspn(at + 2, " \t");
			if (!heading->length)
				text_add_bytes(heading, at, strcspn(at, "\r\n"));
			at += strcspn(at, "\n");
		} else {
			break;
		}
		at += *at == '\n';
	}
	if (!heading->length)
		add_beginning(heading, at, next);
}

/* What stands before a result; a table of text, Markdown and HTML has its heading itself. */
static void begin_result(struct printing *p, const char *heading)
{
	if (p->headings && p->format == REPORT_JSON) {
		fputs(p->results ? ",\n  {\"name\": " : "{\"results\": [\n  {\"name\": ", p->out);
		json_string(p->out, heading);
		fputs(", \"rows\": ", p->out);
	} else if (p->headings && (p->format == REPORT_CSV || p->format == REPORT_TSV)) {
		if (p->results)
			separated_end(p->format, p->out);
		separated_field(p->format, p->out, heading);
		separated_end(p->format, p->out);
	} else if (!p->results && p->format == REPORT_HTML) {
		html_begin("Kymo: query", p->out);
	}
	p->results++;
}

static void end_result(const struct printing *p)
{
	if (p->format == REPORT_JSON)
		fputs(p->headings ? "}" : "\n", p->out);
}

static void end_results(const struct printing *p)
{
	if (p->format == REPORT_JSON && p->headings)
		fputs(p->results ? "\n]}\n" : "{\"results\": []}\n", p->out);
	else if (p->format == REPORT_HTML && p->results)
		html_end(p->out);
}

/* One statement: nothing is printed for those that have no result. */
static kymo_status_t run_statement(struct printing *p, sqlite3_stmt *s, const char *heading,
				   int *rc)
{
	kymo_status_t status = KYMO_OK;

	if (sqlite3_column_count(s) == 0) {
		*rc = sqlite3_step(s);
		return KYMO_OK;
	}
	begin_result(p, heading);
	if (p->format == REPORT_CSV || p->format == REPORT_TSV)
		separated_rows(s, rc, p->format, p->out);
	else if (p->format == REPORT_JSON)
		json_rows(s, rc, p->out);
	else
		status = table_rows(s, rc, p->headings ? heading : "", p->format, p->out);
	end_result(p);
	return status;
}

/* It went wrong while it was running. */
static kymo_status_t explain_failure(struct stream_log *log, struct store *store,
				     const struct query_script *script, const char *statement,
				     int rc)
{
	const char *why = sqlite3_errmsg(store_database(store));

	if (script->file)
		stream_error(log, "%s:%u: %s: %s", script->file,
			     line_of(script->sql, statement + strspn(statement, " \t\r\n")),
			     store_path(store), why);
	else
		stream_error(log, "%s: %s", store_path(store), why);
	return rc == SQLITE_CORRUPT ? KYMO_ERROR_CORRUPT : KYMO_ERROR_INVALID_ARGUMENT;
}

static kymo_status_t run_script(struct printing *p, struct store *store,
				const struct query_script *script, void (*begin)(void),
				struct stream_log *log)
{
	sqlite3 *db = store_database(store);
	const char *at = script->sql, *next;

	for (; *at; at = next) {
		struct text heading = {0};
		sqlite3_stmt *s = NULL;
		kymo_status_t status;
		int rc = SQLITE_DONE;

		if (sqlite3_prepare_v2(db, at, -1, &s, &next) != SQLITE_OK) {
			explain_error(log, db, script, at);
			return KYMO_ERROR_INVALID_ARGUMENT;
		}
		if (!s)
			continue; /* a comment or white space */
		if (begin)
			begin();
		if (p->headings)
			find_heading(&heading, script, at, next);
		status = run_statement(p, s, heading.s ? heading.s : "", &rc);
		text_release(&heading);
		if (status == KYMO_OK && ferror(p->out))
			status = KYMO_ERROR_SYSTEM;
		else if (status == KYMO_OK && rc != SQLITE_DONE)
			status = explain_failure(log, store, script, at, rc);
		sqlite3_finalize(s);
		if (status != KYMO_OK)
			return status;
	}
	return KYMO_OK;
}

kymo_status_t query_print(struct store *store, const struct query_script *scripts, unsigned count,
			  enum report_format format, FILE *out, void (*begin)(void),
			  struct stream_log *log)
{
	struct printing p = {.format = format, .out = out, .headings = count && scripts[0].file};
	kymo_status_t status = KYMO_OK;

	for (unsigned i = 0; i < count && status == KYMO_OK; i++)
		status = run_script(&p, store, &scripts[i], begin, log);
	end_results(&p);
	if (fflush(out) != 0 || ferror(out))
		return KYMO_ERROR_SYSTEM;
	return status;
}

/* ---- several traces ---------------------------------------------------------------------------- */

static void no_arguments(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	sqlite3_result_error(c,
			     "arguments and statuses can be decoded when one trace is queried, "
			     "not several",
			     -1);
}

static bool attach_store(sqlite3 *db, const char *path, unsigned number)
{
	char *sql = sqlite3_mprintf("ATTACH %Q AS t%u", path, number);
	bool ok = sql && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

	sqlite3_free(sql);
	return ok;
}

static bool unite_tables(sqlite3 *db, const char *name, unsigned count)
{
	struct text sql = {0};
	bool ok;

	text_addf(&sql, "CREATE TEMP VIEW \"%s\" AS SELECT 1 AS trace, * FROM main.\"%s\"", name,
		  name);
	for (unsigned i = 2; i <= count; i++)
		text_addf(&sql, " UNION ALL SELECT %u, * FROM t%u.\"%s\"", i, i, name);
	ok = !sql.failed && sqlite3_exec(db, sql.s, NULL, NULL, NULL) == SQLITE_OK;
	text_release(&sql);
	return ok;
}

static bool unite_all(sqlite3 *db, unsigned count)
{
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db,
				     "SELECT name FROM main.sqlite_schema WHERE type IN "
				     "('table', 'view') AND name NOT LIKE 'sqlite_%'",
				     -1, &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW)
		ok = unite_tables(db, (const char *)sqlite3_column_text(s, 0), count);
	sqlite3_finalize(s);
	return ok;
}

static bool name_traces(sqlite3 *db, const char *const *paths, unsigned count)
{
	struct text sql = {0};
	bool ok;

	for (unsigned i = 0; i < count; i++) {
		char *row = sqlite3_mprintf("%s SELECT %u AS trace, %Q AS path",
					    i ? " UNION ALL" : "CREATE TEMP VIEW traces AS", i + 1,
					    paths[i]);

		text_add(&sql, row ? row : "");
		sqlite3_free(row);
	}
	ok = !sql.failed && sqlite3_exec(db, sql.s, NULL, NULL, NULL) == SQLITE_OK;
	text_release(&sql);
	return ok;
}

kymo_status_t query_join(struct store *const *stores, const char *const *paths, unsigned count,
			 struct stream_log *log)
{
	static const struct {
		const char *name;
		int argc;
	} functions[] = {{"kymo_arg", 2},
			 {"kymo_arg", 3},
			 {"kymo_args", 1},
			 {"kymo_args", 2},
			 {"kymo_status", 2}};
	sqlite3 *db = store_database(stores[0]);
	bool ok = true;

	if (count > JOIN_MAX) {
		stream_error(log, "%u traces at once are too many: at most %u", count, JOIN_MAX);
		return KYMO_ERROR_LIMIT;
	}
	for (unsigned i = 1; ok && i < count; i++)
		ok = attach_store(db, store_path(stores[i]), i + 1);
	for (unsigned i = 0; ok && i < sizeof(functions) / sizeof(*functions); i++)
		ok = sqlite3_create_function(db, functions[i].name, functions[i].argc, SQLITE_UTF8,
					     NULL, no_arguments, NULL, NULL) == SQLITE_OK;
	ok = ok &&
	     sqlite3_exec(db, "DROP VIEW IF EXISTS temp.region_args", NULL, NULL, NULL) ==
		     SQLITE_OK &&
	     unite_all(db, count) && name_traces(db, paths, count);
	if (!ok)
		stream_error(log, "the traces cannot be queried together: %s", sqlite3_errmsg(db));
	return ok ? KYMO_OK : KYMO_ERROR_SYSTEM;
}
