/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store for reading, and telling whether it is still good. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/store/definitions.h"
#include "formats/store/side.h"
#include "formats/store/store.h"
#include "stream/trace.h"

struct store {
	sqlite3 *db;
	char *path;
	struct trace *trace;
	struct side_reader *side; /* arguments of calls */
	struct stream_log *log;
};

static const char *keep_nothing(void *out, const char *text)
{
	char *version = out;

	strncpy(version, text ? text : "", 15);
	return version;
}

/* The schema version of an open database; "" if it is no store or not whole. */
static void schema_version(sqlite3 *db, char version[16])
{
	struct sql_context c = {.db = db, .keep = keep_nothing, .owner = version};

	memset(version, 0, 16);
	metadata_text(&c, "schema_version");
}

static bool open_read_only(const char *path, sqlite3 **db)
{
	*db = NULL;
	return sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
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

bool store_fresh(const char *path, const char *trace_path)
{
	char version[16];
	sqlite3 *db;
	bool fresh = false;

	if (open_read_only(path, &db)) {
		schema_version(db, version);
		fresh = strcmp(version, STORE_SCHEMA_VERSION) == 0 &&
			store_sources_match(db, trace_path);
	}
	sqlite3_close(db);
	return fresh;
}

static kymo_status_t refuse(struct store *s, const char *why)
{
	stream_error(s->log, "%s: %s", s->path, why);
	return KYMO_ERROR_CORRUPT;
}

static kymo_status_t load(struct store *s)
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
	s->trace = definitions_read(&c);
	sql_release(&c);
	if (!s->trace)
		return refuse(s, "the store is damaged; remove it, and it is built again from the "
				 "raw files");
	s->trace->path = trace_string(s->trace, s->path, strlen(s->path));
	s->side = side_reader_new(s->db);
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
		status = load(s);
	} else {
		stream_error(log, "%s: %s", path, sqlite3_errmsg(s->db));
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
	side_reader_free(s->side);
	sqlite3_close(s->db);
	trace_free(s->trace);
	free(s->path);
	free(s);
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

	definitions_reader(&c, s->trace);
	*out = tallies_read(&c, s->trace);
	sql_release(&c);
	return *out ? KYMO_OK : refuse(s, "the tallies are damaged; remove the store, and it is "
					  "built again from the raw files");
}
