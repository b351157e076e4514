/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the rules of a site; see site_rules.h. A query may be anything: it reads tables and views and calls functions, all
 * else is refused; it gets so much time, memory and rows, and no more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/site_rules.h"
#include "base/plain.h"
#include "base/units.h"
#include "formats/store/store.h"

enum {
	MOST_SECONDS = 10, /* of a processor */
	MOST_FINDINGS = 20,
	MOST_VALUE = 1 << 20, /* bytes of one value */
	STEPS = 100000        /* of SQLite's machine between two looks at the clock */
};

#define MOST_MEMORY ((int64_t)256 << 20)

struct asking {
	const struct site_rule *rule;
	struct diagnosis *d;
	struct stream_log *log;
	sqlite3 *db;
	sqlite3_stmt *query;
	int64_t until; /* of the thread's processor time */
};

static int64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int is_over(void *asking)
{
	return processor_time() > ((const struct asking *)asking)->until;
}

/* Writing, attaching, settings and libraries are none of a rule's. */
static int authorize(void *unused, int action, const char *first, const char *second,
		     const char *database, const char *view)
{
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return second && strcmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

/* ---- mistakes ------------------------------------------------------------------------------------ */

static uint32_t line_at(const char *sql, const char *at)
{
	uint32_t line = 1;

	for (; sql < at; sql++)
		line += *sql == '\n';
	return line;
}

/* Where SQLite stopped, or, where it does not say, where the query begins. */
static uint32_t line_of_error(const struct asking *a)
{
	const char *sql = a->rule->sql;
	int offset = -1;

#if SQLITE_VERSION_NUMBER >= 3038000
	offset = sqlite3_error_offset(a->db);
#endif
	if (offset >= 0)
		return line_at(sql, sql + offset);
	while (strncmp(sql, "--", 2) == 0 || *sql == '\n')
		sql += strcspn(sql, "\n") + (sql[strcspn(sql, "\n")] != '\0');
	return line_at(a->rule->sql, sql);
}

static void tell_error(const struct asking *a, int rc)
{
	const char *path = a->rule->path;
	uint32_t line = line_of_error(a);

	if (rc == SQLITE_INTERRUPT)
		stream_error(a->log, "%s:%u: the query was ended after %d s of processor time",
			     path, line, MOST_SECONDS);
	else if (rc == SQLITE_AUTH)
		stream_error(a->log,
			     "%s:%u: %s: the query of a rule reads tables and views, and does "
			     "nothing else",
			     path, line, sqlite3_errmsg(a->db));
	else
		stream_error(a->log, "%s:%u: %s", path, line, sqlite3_errmsg(a->db));
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static int column(const struct asking *a, const char *name, size_t n)
{
	for (int i = 0; i < sqlite3_column_count(a->query); i++) {
		const char *is = sqlite3_column_name(a->query, i);

		if (is && strlen(is) == n && strncmp(is, name, n) == 0)
			return i;
	}
	return -1;
}

static bool ends(const char *name, size_t n, const char *with)
{
	size_t m = strlen(with);

	return n > m && strncmp(name + n - m, with, m) == 0;
}

/* Times and bytes as people read them. */
static void add_value(const struct asking *a, struct text *out, int c, const char *name, size_t n)
{
	double number = sqlite3_column_double(a->query, c);
	int type = sqlite3_column_type(a->query, c);
	bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
	char units[UNITS_TEXT];
	const char *text;

	if (is_number && ends(name, n, "_ns") && number >= 0 && number < 1e18) {
		text_add(out, units_time((uint64_t)number, units));
	} else if (is_number && ends(name, n, "_bytes") && number >= 0) {
		text_add(out, units_bytes(number, units));
	} else {
		text = (const char *)sqlite3_column_text(a->query, c);
		text_add(out, text ? text : "?");
	}
}

/* The rule's text with the columns that it names; false: there is no such column. */
static bool add_title(const struct asking *a, struct text *out)
{
	const char *at = a->rule->text;

	while (*at) {
		size_t n = strcspn(at, "{"), name;
		int c;

		text_add_bytes(out, at, n);
		at += n;
		name = *at ? strcspn(at + 1, "}") : 0;
		if (!*at || !at[name + 1]) {
			text_add(out, at);
			return true;
		}
		c = column(a, at + 1, name);
		if (c < 0) {
			stream_error(a->log, "%s:%u: the query has no column \"%.*s\"",
				     a->rule->path, a->rule->text_line, (int)name, at + 1);
			return false;
		}
		add_value(a, out, c, at + 1, name);
		at += name + 2;
	}
	return true;
}

static int64_t number_of(const struct asking *a, const char *name)
{
	int c = column(a, name, strlen(name));
	double value = c < 0 ? 0 : sqlite3_column_double(a->query, c);

	if (value >= 9e18)
		return INT64_MAX;
	return value > 0 ? (int64_t)value : 0;
}

static void add_text(const struct asking *a, struct text *out, const char *name, const char *end)
{
	int c = column(a, name, strlen(name));
	const char *text = c < 0 ? NULL : (const char *)sqlite3_column_text(a->query, c);

	if (text && *text) {
		plain_add(out, text, strlen(text));
		text_add(out, end);
	}
}

/* A finding, or NULL: it is below the threshold, or *wrong. Without a column for the gain it has none. */
static struct finding *add_finding(const struct asking *a, const char *title, bool *wrong)
{
	int c = column(a, "gain_ns", 7);
	int type = c < 0 ? SQLITE_INTEGER : sqlite3_column_type(a->query, c);

	if (c < 0)
		return finding_add_fact(a->d, "%s", title);
	if (type == SQLITE_NULL) /* of nothing at all */
		return NULL;
	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) ||
	    sqlite3_column_double(a->query, c) < 0) {
		stream_error(a->log, "%s:%u: gain_ns is \"%s\", which is no time", a->rule->path,
			     line_of_error(a), (const char *)sqlite3_column_text(a->query, c));
		*wrong = true;
		return NULL;
	}
	return finding_add(a->d, (uint64_t)number_of(a, "gain_ns"), "%s", title);
}

static bool add_row(const struct asking *a)
{
	struct text title = {0};
	struct finding *f = NULL;
	bool wrong = false;

	if (!add_title(a, &title)) {
		text_release(&title);
		return false;
	}
	f = add_finding(a, title.s ? title.s : "", &wrong);
	text_release(&title);
	if (!f)
		return !wrong;
	f->count = (uint64_t)number_of(a, "count");
	if (number_of(a, "end_ns") > number_of(a, "start_ns")) {
		f->start = a->d->trace->origin + number_of(a, "start_ns");
		f->end = a->d->trace->origin + number_of(a, "end_ns");
	}
	add_text(a, &f->where, "place", "");
	add_text(a, &f->evidence, "evidence", "\n");
	if ((uint64_t)number_of(a, "gain_ns") > f->gain)
		text_add(&f->evidence, "the rule's gain is more than the run: told is the run\n");
	plain_addf(&f->evidence, "a rule of this site: %s\n", a->rule->path);
	text_add(&f->show, "kymo query -- ");
	text_add_shell(&f->show, a->d->path);
	text_add(&f->show, " \"$(cat ");
	text_add_shell(&f->show, a->rule->path);
	text_add(&f->show, ")\"");
	if (a->rule->advice)
		text_add(&f->advice, a->rule->advice);
	return true;
}

static void add_rows(const struct asking *a)
{
	uint32_t before = a->d->count;
	int rc;

	while ((rc = sqlite3_step(a->query)) == SQLITE_ROW) {
		if (a->d->count - before == MOST_FINDINGS) {
			diagnosis_abstain(a->d, "it has more than %d findings: those are the first",
					  MOST_FINDINGS);
			return;
		}
		if (!add_row(a))
			return;
	}
	if (rc != SQLITE_DONE)
		tell_error(a, rc);
}

/* One statement, and nothing after it. */
static void ask(struct asking *a)
{
	const char *sql = a->rule->sql, *rest = sql;
	sqlite3_stmt *more = NULL;
	int rc = sqlite3_prepare_v2(a->db, sql, -1, &a->query, &rest);

	if (rc != SQLITE_OK) {
		tell_error(a, rc);
		return;
	}
	rc = sqlite3_prepare_v2(a->db, rest, -1, &more, NULL);
	if (rc != SQLITE_OK || more || !a->query)
		stream_error(a->log, "%s:%u: a rule is one query, and here is another or none",
			     a->rule->path, line_at(sql, rest));
	else
		add_rows(a);
	sqlite3_finalize(more);
	sqlite3_finalize(a->query);
}

bool site_rules_ask(const struct site_rules *r, struct diagnosis *d, struct store *store,
		    struct stream_log *log)
{
	struct asking a = {.d = d, .log = log, .db = store_database(store)};
	int64_t memory = sqlite3_hard_heap_limit64(MOST_MEMORY);
	uint32_t before = d->count;

	/* What is sorted is in memory, of which there is so much, and not in files. */
	sqlite3_exec(a.db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	sqlite3_limit(a.db, SQLITE_LIMIT_LENGTH, MOST_VALUE);
	sqlite3_set_authorizer(a.db, authorize, NULL);
	sqlite3_progress_handler(a.db, STEPS, is_over, &a);
	for (uint32_t i = 0; i < r->count && !d->failed; i++) {
		a.rule = r->at[i];
		a.until = processor_time() + MOST_SECONDS * 1000000000LL;
		d->rule = &a.rule->rule;
		ask(&a);
	}
	sqlite3_progress_handler(a.db, 0, NULL, NULL);
	sqlite3_set_authorizer(a.db, NULL, NULL);
	sqlite3_hard_heap_limit64(memory);
	diagnosis_settle(d, before);
	return !d->failed;
}
