/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the SQL functions of a store with any arguments, in the store's own reader and in the extension for others. A call
 * begins with the number of a question; then come its arguments, each a byte for its type and the value.
 */
#include "formats/store/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz/input.h"
#include "support/synth.h"

extern const struct format format_raw;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS = 64 };

static const char *const questions[] = {
	"SELECT kymo_arg(?, ?)",
	"SELECT kymo_arg(?, ?, ?)",
	"SELECT kymo_args(?)",
	"SELECT kymo_args(?, ?)",
	"SELECT kymo_status(?, ?)",
	"SELECT json_valid(coalesce(kymo_args(?, ?), '{}'))",
	"SELECT value FROM json_each(kymo_args(?, ?)) WHERE key = ?",
	"SELECT count(*), max(kymo_status(op, ?)), max(kymo_arg(id, ?)) FROM call WHERE id > ?",
};
enum { QUESTIONS = sizeof(questions) / sizeof(*questions) };

static struct store *store;
static sqlite3 *databases[2]; /* the reader's, and one of somebody else */
static sqlite3_stmt *statements[2][QUESTIONS];

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};

static void finish(void)
{
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < QUESTIONS; k++)
			sqlite3_finalize(statements[i][k]);
	sqlite3_close(databases[1]);
	store_close(store);
}

static void write_store(const char *folder, const char *path)
{
	const struct format_options o = {.log = &quiet};
	struct stream_sink *sink;

	synth_demo(folder, false);
	check(store_writer_new(path, NULL, &quiet, &sink) == KYMO_OK);
	check(format_raw.read(folder, NULL, false, sink, &o) == KYMO_OK);
	store_writer_free(sink);
}

static void prepare(void)
{
	char work[] = "/tmp/kymo-fuzz-sql-XXXXXX", path[PATH_MAX];

	check(mkdtemp(work) != NULL);
	snprintf(path, sizeof(path), "%s/store.db", work);
	write_store(work, path);
	check(store_open(path, &quiet, &store) == KYMO_OK);
	databases[0] = store_database(store);
	check(sqlite3_open_v2(path, &databases[1], SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	      store_functions_late(databases[1]));
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < QUESTIONS; k++)
			check(sqlite3_prepare_v2(databases[i], questions[k], -1, &statements[i][k],
						 NULL) == SQLITE_OK);
	file_remove_tree(work); /* both have it open */
	atexit(finish);
}

static void bind_value(sqlite3_stmt *s, int at, struct input *in)
{
	uint64_t what = input_bytes(in, 1) % 5, bits;
	size_t length;
	const void *bytes;
	double real;

	switch (what) {
	case 0:
		sqlite3_bind_int64(s, at, (sqlite3_int64)input_number(in));
		break;
	case 1:
		bits = input_bytes(in, 8);
		memcpy(&real, &bits, sizeof(real));
		sqlite3_bind_double(s, at, real);
		break;
	case 2:
	case 3:
		length = input_bytes(in, 1);
		bytes = input_text(in, &length);
		if (what == 2)
			sqlite3_bind_text(s, at, bytes, (int)length, SQLITE_TRANSIENT);
		else
			sqlite3_bind_blob(s, at, bytes, (int)length, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_bind_null(s, at);
	}
}

/* Both answer the same. */
static void ask(unsigned question, struct input *in)
{
	struct input from = *in;
	int code[2];

	for (unsigned i = 0; i < 2; i++) {
		sqlite3_stmt *s = statements[i][question];

		*in = from;
		for (int at = 1; at <= sqlite3_bind_parameter_count(s); at++)
			bind_value(s, at, in);
		code[i] = sqlite3_step(s);
	}
	check(code[0] == code[1]);
	if (code[0] == SQLITE_ROW) {
		const void *a = sqlite3_column_blob(statements[0][question], 0);
		const void *b = sqlite3_column_blob(statements[1][question], 0);
		int n = sqlite3_column_bytes(statements[0][question], 0);

		check(n == sqlite3_column_bytes(statements[1][question], 0) &&
		      (n == 0 || memcmp(a, b, (size_t)n) == 0));
		/* What kymo_args() makes is JSON, or there is nothing. */
		if (strstr(questions[question], "json_valid"))
			check(sqlite3_column_int(statements[0][question], 0) == 1);
	}
	for (unsigned i = 0; i < 2; i++) {
		sqlite3_reset(statements[i][question]);
		sqlite3_clear_bindings(statements[i][question]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};

	if (!store)
		prepare();
	for (unsigned i = 0; i < CALLS && input_left(&in); i++)
		ask((unsigned)input_bytes(&in, 1) % QUESTIONS, &in);
	return 0;
}
