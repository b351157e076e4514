/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: the SQLite database of a trace (schema.sql). Built in one streaming pass, it can
 * always be rebuilt from the raw files it was made of.
 */
#ifndef FORMATS_STORE_STORE_H
#define FORMATS_STORE_STORE_H

#include "formats/format.h"
#include "sql/sqlite.h"
#include "tally/tally.h"

#define STORE_SCHEMA_VERSION "42"
#define STORE_FILE           "store.db" /* in the trace directory */

/* Correlation ids at or above this have no row of their own; they are counted. */
#define STORE_ID_BITS 40

static inline int64_t store_call_id(uint32_t process, uint64_t id)
{
	return id && id >> STORE_ID_BITS == 0 && process
		       ? (int64_t)((uint64_t)(process - 1) << STORE_ID_BITS | id)
		       : INT64_MIN;
}

extern const char store_schema[]; /* schema.sql */

/* ---- writing ----------------------------------------------------------------------------------- */

/*
 * A sink that fills a new database at `path`, which must not exist. `trace_path` is the trace
 * directory whose raw files the store will be compared with later, or NULL. The file is complete
 * once the sink's end() has returned KYMO_OK; until then store_writer_free() removes it.
 */
kymo_status_t store_writer_new(const char *path, const char *trace_path, struct stream_log *log,
			       struct stream_sink **out);
void store_writer_free(struct stream_sink *s);

/* ---- reading ----------------------------------------------------------------------------------- */

struct store;

/* Opens read-only, reads the definitions and registers the SQL functions. */
kymo_status_t store_open(const char *path, struct stream_log *log, struct store **out);
void store_close(struct store *s);

/*
 * The store lies in a folder of its own, held by `hold` (temporary_folder()), and is for this process alone: the folder
 * goes when the store is closed, or before, when no other connection need open it by its name.
 */
void store_set_temporary(struct store *s, const char *folder, int hold);
void store_remove_temporary(struct store *s);

sqlite3 *store_database(struct store *s);
const char *store_path(const struct store *s);
const struct trace *store_trace(const struct store *s);
kymo_status_t store_tallies(struct store *s, struct tallies **out);

/* True when the store at `path` is whole, of this schema and made of the raw files as they are. */
bool store_fresh(const char *path, const char *trace_path);

/* True when `path` looks like a store. */
bool store_probe(const char *path);

struct arguments_reader;

/* SQL functions kymo_arg() and so on; both must outlive the connection's last statement. */
bool store_functions(sqlite3 *db, const struct trace *t, struct arguments_reader *side);

/* The same on a connection of somebody else's: the definitions are read at the first use. */
bool store_functions_late(sqlite3 *db);

/* sources.c: the raw files of a trace, in table `source`. False: the database says why, or, where that is well, errno. */
bool store_sources_write(sqlite3 *db, const char *trace_path);
bool store_sources_match(sqlite3 *db, const char *trace_path);

extern const struct format format_store;

#endif
