/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store for reading, and telling whether it is still good. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "formats/store/definitions.h"
#include "formats/store/arguments.h"
#include "formats/store/store.h"
#include "stream/trace.h"

struct store {
	sqlite3 *db;
	char *path;
	struct trace *trace;
	struct arguments_reader *side; /* arguments of calls */
	struct stream_log *log;
	int64_t left; /* see bound_work() */
	char *folder; /* temporary; NULL: none */
	int hold;     /* of the folder */
};

static const char *keep_nothing(void *out, const char *text)
{
	char *version = out;

	strncpy(version, text ? text : "", 15);
	return version;
}

enum { STEPS = 1000000 }; /* of SQLite's machine between two looks at the bound */

/* Pages that point at each other make a file of a few pages a table without end. */
static int count_down(void *left)
{
	return --*(int64_t *)left < 0;
}

/* The work that reading a file of this size can take. */
static void bound_work(sqlite3 *db, int64_t *left, const char *path)
{
	enum { BYTES = 10000 };
	struct stat st = {0};

	stat(path, &st);
	*left = 100 + st.st_size / BYTES;
	sqlite3_progress_handler(db, STEPS, count_down, left);
}

/* The schema version of an open database; "" if it is no store or not whole. */
static void schema_version(sqlite3 *db, char version[16])
{
	struct sql_context c = {.db = db, .keep = keep_nothing, .owner = version};
	int64_t left = 3; /* one row: whatever takes longer is none of ours */

	memset(version, 0, 16);
	sqlite3_progress_handler(db, STEPS, count_down, &left);
	metadata_text(&c, "schema_version");
	sqlite3_progress_handler(db, 0, NULL, NULL);
}

/* ---- what is there is ours ---------------------------------------------------------------------
 */

#define SCHEMA_ROWS "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

static bool same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
	const char *x = (const char *)sqlite3_column_text(a, column);
	const char *y = (const char *)sqlite3_column_text(b, column);

	return x && y ? strcmp(x, y) == 0 : x == y;
}

static bool same_rows(sqlite3_stmt *a, sqlite3_stmt *b)
{
	int x, y;

	while ((x = sqlite3_step(a)) == SQLITE_ROW && (y = sqlite3_step(b)) == SQLITE_ROW)
		for (int i = 0; i < 4; i++)
			if (!same_text(a, b, i))
				return false;
	return x == SQLITE_DONE && sqlite3_step(b) == SQLITE_DONE;
}

/* Every table is a table, every view is one of ours, and there is nothing else: no trigger. */
static bool has_our_schema(sqlite3 *db)
{
	sqlite3_stmt *theirs = NULL, *ours = NULL;
	sqlite3 *fresh = NULL;
	bool same = sqlite3_open_v2(":memory:", &fresh, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
				    NULL) == SQLITE_OK &&
		    sqlite3_exec(fresh, store_schema, NULL, NULL, NULL) == SQLITE_OK &&
		    sqlite3_prepare_v2(fresh, SCHEMA_ROWS, -1, &ours, NULL) == SQLITE_OK &&
		    sqlite3_prepare_v2(db, SCHEMA_ROWS, -1, &theirs, NULL) == SQLITE_OK &&
		    same_rows(theirs, ours);

	sqlite3_finalize(theirs);
	sqlite3_finalize(ours);
	sqlite3_close(fresh);
	return same;
}

/* As SQLite advises for files that somebody else may have made. */
static bool open_read_only(const char *path, sqlite3 **db)
{
	int fd = file_open_regular(path);

	*db = NULL;
	if (fd < 0)
		return false;
	close(fd);
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return false;
	sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_exec(*db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
	return true;
}

bool store_probe(const char *path)
{
	char version[16];
	sqlite3 *db;

	version[0] = '\0';
	if (open_read_only(path, &db))
		schema_version(db, version);
	sqlite3_close(db);
	return version[0] != '\0';
}

/*
 * As raw files, stores come from anywhere: counts of what is not there that cannot be. Of NULL
 * nothing is said.
 */
static bool counts_can_be(sqlite3 *db)
{
	static const char *const columns[][2] = {{"process", "lost_records"},
						 {"process", "overwritten_records"},
						 {"process", "lost_definitions"},
						 {"process", "unwritten_records"},
						 {"process", "no_memory_records"},
						 {"process", "dropped_records"},
						 {"process", "left_out_rows"},
						 {"process", "untraced_calls"},
						 {"process", "untimed"},
						 {"process", "damaged_blocks"},
						 {"process", "unlisted"},
						 {"thread", "lost"},
						 {"thread", "records"},
						 {"left_out", "calls"},
						 {"loss", "count"},
						 {"tally_loss", "calls"},
						 {"tally_loss", "gaps"},
						 {"tally_sample", "lost"},
						 {"tally_device_sample", "lost"},
						 {"tally_device_sample", "buffer_full"}};
	bool ok = true;

	for (size_t i = 0; ok && i < sizeof(columns) / sizeof(*columns); i++) {
		sqlite3_stmt *s = NULL;
		char sql[160];

		snprintf(sql, sizeof(sql),
			 "SELECT 1 FROM %s WHERE %s NOT BETWEEN 0 AND %llu LIMIT 1", columns[i][0],
			 columns[i][1], (unsigned long long)COUNT_MAX);
		ok = sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
		     sqlite3_step(s) == SQLITE_DONE;
		sqlite3_finalize(s);
	}
	return ok;
}

/* It said so when the store was built; whether it is so is to be looked at again. */
static bool still_recording(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	bool yes = sqlite3_prepare_v2(db, "SELECT 1 FROM process WHERE recording LIMIT 1", -1, &s,
				      NULL) == SQLITE_OK &&
		   sqlite3_step(s) == SQLITE_ROW;

	sqlite3_finalize(s);
	return yes;
}

bool store_fresh(const char *path, const char *trace_path)
{
	char version[16];
	sqlite3 *db;
	int64_t left;
	bool fresh = false;

	if (open_read_only(path, &db)) {
		schema_version(db, version);
		bound_work(db, &left, path);
		fresh = strcmp(version, STORE_SCHEMA_VERSION) == 0 && has_our_schema(db) &&
			store_sources_match(db, trace_path) && !still_recording(db) &&
			counts_can_be(db);
	}
	sqlite3_close(db);
	return fresh;
}

static kymo_status_t refuse(struct store *s, const char *why)
{
	stream_error(s->log, "%s: %s", s->path, why);
	return KYMO_ERROR_CORRUPT;
}

static kymo_status_t load_store(struct store *s)
{
	struct sql_context c = {.db = s->db};
	char version[16];

	schema_version(s->db, version);
	if (!version[0])
		return refuse(s, "this is not a store of Kymo, or it is damaged");
	if (strcmp(version, STORE_SCHEMA_VERSION) != 0) {
		stream_error(s->log,
			     "%s: the store has schema version %s, this Kymo reads %s; remove it, "
			     "and it is built again from the raw files",
			     s->path, version, STORE_SCHEMA_VERSION);
		return KYMO_ERROR_INCOMPATIBLE;
	}
	if (!has_our_schema(s->db))
		return refuse(s, "its tables and views are not those that Kymo makes");
	/* They are our own text, letter by letter: what they call may be called (JSON, before 3.41). */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL);
	bound_work(s->db, &s->left, s->path);
	s->trace = counts_can_be(s->db) ? definitions_read(&c) : NULL;
	sql_release(&c);
	sqlite3_progress_handler(s->db, 0, NULL, NULL); /* questions may take what they need */
	if (!s->trace || !tallies_loads_sound(s->trace))
		return refuse(s, "the store is damaged; remove it, and it is built again from the "
				 "raw files");
	s->trace->path = trace_string(s->trace, s->path, strlen(s->path));
	s->side = arguments_reader_new(s->db);
	if (!s->side || !store_functions(s->db, s->trace, s->side))
		return KYMO_ERROR_NO_MEMORY;
	return KYMO_OK;
}

kymo_status_t store_open(const char *path, struct stream_log *log, struct store **out)
{
	struct store *s = calloc(1, sizeof(*s));
	kymo_status_t status;

	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	s->log = log;
	s->path = strdup(path);
	if (s->path && open_read_only(path, &s->db)) {
		status = load_store(s);
	} else {
		stream_error(log, "%s: %s", path, s->db ? sqlite3_errmsg(s->db) : strerror(errno));
		status = KYMO_ERROR_SYSTEM;
	}
	if (status != KYMO_OK) {
		store_close(s);
		return status;
	}
	*out = s;
	return KYMO_OK;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	arguments_reader_free(s->side);
	sqlite3_close(s->db);
	store_remove_temporary(s);
	trace_free(s->trace);
	free(s->path);
	free(s);
}

void store_set_temporary(struct store *s, const char *folder, int hold)
{
	s->folder = strdup(folder);
	s->hold = hold;
}

void store_remove_temporary(struct store *s)
{
	if (!s->folder)
		return;
	file_remove_tree(s->folder);
	temporary_done(s->folder);
	if (s->hold >= 0)
		close(s->hold);
	free(s->folder);
	s->folder = NULL;
}

sqlite3 *store_database(struct store *s)
{
	return s->db;
}

const char *store_path(const struct store *s)
{
	return s->path;
}

const struct trace *store_trace(const struct store *s)
{
	return s->trace;
}

kymo_status_t store_tallies(struct store *s, struct tallies **out)
{
	struct sql_context c = {.db = s->db, .origin = s->trace->origin};

	bound_work(s->db, &s->left, s->path);
	definitions_reader(&c, s->trace);
	*out = tallies_read(&c, s->trace);
	sql_release(&c);
	sqlite3_progress_handler(s->db, 0, NULL, NULL);
	return *out ? KYMO_OK
		    : refuse(s, "the tallies are damaged; remove the store, and it is "
				"built again from the raw files");
}
