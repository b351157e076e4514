/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a store that somebody has changed, as a database and as bytes. The first byte says whether it is summed
 * up, or which view is asked for. What was changed begins with a byte: CHANGE_CELL, then the
 * numbers (modulo how many there are) of a table, a row and a column, and a value; CHANGE_ROW, a table and a row that goes;
 * CHANGE_BYTES, a place in the file, a length of one byte and so many bytes; CHANGE_LENGTH, the bytes that are left. It is
 * refused, or its definitions, tallies, arguments, views and summary are read.
 */
#include "formats/store/store.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/summary.h"
#include "base/file.h"
#include "fuzz/input.h"
#include "support/memory_file.h"
#include "support/synth.h"

extern const struct format format_raw;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANGE_CELL, CHANGE_ROW, CHANGE_BYTES, CHANGE_LENGTH, CHANGES };
enum { TABLES = 128, CHANGES_MOST = 40, ROWS = 40 };

static char work[] = "/tmp/kymo-fuzz-store-XXXXXX";
static char path[PATH_MAX]; /* SQLite wants a name that is one */
static uint8_t *base;       /* a store as it was written */
static size_t base_size;
static char *tables[TABLES], *views[TABLES];
static unsigned table_count, view_count;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};

/* ---- the store as it was ----------------------------------------------------------------------- */

static sqlite3 *open_copy(uint8_t *bytes)
{
	sqlite3 *db;

	memcpy(bytes, base, base_size);
	check(sqlite3_open(":memory:", &db) == SQLITE_OK &&
	      sqlite3_deserialize(
		      db, "main", bytes, (sqlite3_int64)base_size, (sqlite3_int64)base_size,
		      SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK);
	return db;
}

static void list_names(sqlite3 *db, const char *type, char **names, unsigned *count)
{
	sqlite3_stmt *s;

	check(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = ? ORDER BY name",
				 -1, &s, NULL) == SQLITE_OK);
	sqlite3_bind_text(s, 1, type, -1, SQLITE_STATIC);
	while (*count < TABLES && sqlite3_step(s) == SQLITE_ROW)
		names[(*count)++] = strdup((const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
}

static void forget(void)
{
	for (unsigned i = 0; i < TABLES; i++) {
		free(tables[i]);
		free(views[i]);
	}
	free(base);
	file_remove_tree(work);
}

static void write_store(void)
{
	const struct format_options o = {.log = &quiet};
	struct stream_sink *sink;

	synth_demo(work, false);
	check(store_writer_new(path, NULL, &quiet, &sink) == KYMO_OK);
	check(format_raw.read(work, NULL, false, sink, &o) == KYMO_OK);
	store_writer_free(sink);
}

static void prepare(void)
{
	sqlite3 *db;

	check(mkdtemp(work) != NULL);
	snprintf(path, sizeof(path), "%s/store.db", work);
	write_store();
	base = memory_file_load(path, &base_size);
	check(base != NULL);
	db = open_copy(sqlite3_malloc64(base_size));
	list_names(db, "table", tables, &table_count);
	list_names(db, "view", views, &view_count);
	sqlite3_close(db);
	check(table_count && view_count);
	atexit(forget);
}

/* ---- changes ----------------------------------------------------------------------------------- */

static void bind_value(sqlite3_stmt *s, int at, struct input *in)
{
	uint64_t what = input_bytes(in, 1), number;
	size_t length;
	const void *text;
	double real;

	switch (what % 5) {
	case 0:
		sqlite3_bind_int64(s, at, (sqlite3_int64)input_number(in));
		break;
	case 1:
		number = input_bytes(in, 8);
		memcpy(&real, &number, sizeof(real));
		sqlite3_bind_double(s, at, real);
		break;
	case 2:
	case 3:
		length = input_bytes(in, 1);
		text = input_text(in, &length);
		if (what % 5 == 2)
			sqlite3_bind_text(s, at, text, (int)length, SQLITE_TRANSIENT);
		else
			sqlite3_bind_blob(s, at, text, (int)length, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_bind_null(s, at);
	}
}

static sqlite3_int64 row_of(sqlite3 *db, const char *table, uint64_t number)
{
	sqlite3_int64 row = 0, count = 0;
	sqlite3_stmt *s = NULL;
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT rowid, count(*) OVER () FROM \"%s\"", table);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
		while (sqlite3_step(s) == SQLITE_ROW) {
			row = sqlite3_column_int64(s, 0);
			count = sqlite3_column_int64(s, 1);
			if (number-- % (uint64_t)count == 0)
				break;
		}
	sqlite3_finalize(s);
	return row;
}

static bool column_of(sqlite3 *db, const char *table, uint64_t number, char name[64])
{
	sqlite3_stmt *s = NULL;
	char sql[256];
	int columns;

	snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" LIMIT 0", table);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return false;
	columns = sqlite3_column_count(s);
	snprintf(name, 64, "%s", sqlite3_column_name(s, (int)(number % (uint64_t)columns)));
	sqlite3_finalize(s);
	return true;
}

static void change(sqlite3 *db, struct input *in, bool whole_row)
{
	const char *table = tables[input_bytes(in, 1) % table_count];
	sqlite3_int64 row = row_of(db, table, input_bytes(in, 1));
	sqlite3_stmt *s = NULL;
	char sql[512], column[64] = "";

	if (whole_row)
		snprintf(sql, sizeof(sql), "DELETE FROM \"%s\" WHERE rowid = ?1", table);
	else if (column_of(db, table, input_bytes(in, 1), column))
		snprintf(sql, sizeof(sql), "UPDATE \"%s\" SET \"%s\" = ?2 WHERE rowid = ?1", table,
			 column);
	else
		return;
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, row);
		if (!whole_row)
			bind_value(s, 2, in);
		sqlite3_step(s);
	}
	sqlite3_finalize(s);
}

/* The file; freed by sqlite3_free(). */
static uint8_t *make_file(struct input *in, size_t *size)
{
	sqlite3 *db = open_copy(sqlite3_malloc64(base_size));
	struct input rest;
	sqlite3_int64 n;
	uint8_t *file;

	for (unsigned i = 0; i < CHANGES_MOST && input_left(in) && *in->p % CHANGES < CHANGE_BYTES;
	     i++) {
		uint64_t what = input_bytes(in, 1) % CHANGES;

		change(db, in, what == CHANGE_ROW);
	}
	rest = *in;
	file = sqlite3_serialize(db, "main", &n, 0);
	check(file != NULL);
	*size = (size_t)n;
	sqlite3_close(db);
	while (input_left(&rest) && *size) {
		uint64_t what = input_bytes(&rest, 1) % CHANGES, at = input_bytes(&rest, 4) % *size;
		size_t length = what == CHANGE_LENGTH ? 0 : input_bytes(&rest, 1);
		const uint8_t *bytes = input_text(&rest, &length);

		if (what == CHANGE_LENGTH)
			*size = at;
		else
			memcpy(file + at, bytes, length < *size - at ? length : *size - at);
	}
	return file;
}

static void put(const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static int enough(void *left)
{
	return --*(int *)left < 0;
}

static void ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int left = 50;

	sqlite3_progress_handler(db, 10000, enough, &left);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
		for (unsigned i = 0; i < ROWS && sqlite3_step(s) == SQLITE_ROW; i++)
			(void)sqlite3_column_bytes(s, 0);
	sqlite3_finalize(s);
	sqlite3_progress_handler(db, 0, NULL, NULL);
}

/* Of the views one. */
static void ask_some(sqlite3 *db, unsigned view)
{
	char sql[256];

	ask(db, "SELECT kymo_args(id), kymo_status(op, status) FROM call");
	ask(db, "SELECT kymo_args(op, args), kymo_arg(op, args, 'bytes') FROM activity");
	snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", views[view % view_count]);
	ask(db, view < view_count ? sql : "SELECT * FROM region_args");
}

static void summarise(void)
{
	const struct format_options o = {.log = &quiet};
	struct summary s;
	struct report r = {0};

	if (summary_read(&s, path, SUMMARY_STORE, &o) != KYMO_OK)
		return;
	(void)summary_report(&r, &s, 1, BY_OP | BY_DEVICE);
	report_release(&r);
	summary_release(&s);
}

static void read_store(unsigned view)
{
	struct tallies *tallies = NULL;
	struct store *s;

	if (!store_probe(path) || store_open(path, &quiet, &s) != KYMO_OK)
		return;
	if (store_tallies(s, &tallies) == KYMO_OK)
		tallies_free(tallies);
	ask_some(store_database(s), view);
	store_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	unsigned first = (unsigned)input_bytes(&in, 1);
	size_t bytes;
	uint8_t *made;

	if (!base)
		prepare();
	made = make_file(&in, &bytes);
	put(made, bytes);
	sqlite3_free(made);
	/* Either: most of the time goes for SQLite's look at the schema. */
	if (first % 2)
		summarise();
	else
		read_store(first / 2);
	return 0;
}
