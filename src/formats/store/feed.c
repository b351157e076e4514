/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk insertion through an eponymous virtual table; see feed.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/store/feed.h"

struct feed_table {
	sqlite3_vtab base;
	struct feed *feed;
};

struct feed_cursor {
	sqlite3_vtab_cursor base;
	struct feed *feed;
	uint32_t row;
};

static int feed_connect(sqlite3 *db, void *data, int argc, const char *const *argv,
			sqlite3_vtab **out, char **error)
{
	struct feed *f = data;
	struct feed_table *t = sqlite3_malloc(sizeof(*t));
	char sql[512];
	int at = snprintf(sql, sizeof(sql), "CREATE TABLE x(c0");

	if (!t)
		return SQLITE_NOMEM;
	for (unsigned i = 1; i < f->columns; i++)
		at += snprintf(sql + at, sizeof(sql) - (size_t)at, ",c%u", i);
	snprintf(sql + at, sizeof(sql) - (size_t)at, ")");
	*t = (struct feed_table){.feed = f};
	*out = &t->base;
	return sqlite3_declare_vtab(db, sql);
}

static int feed_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

static int feed_best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	info->estimatedCost = FEED_ROWS;
	return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct feed_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct feed_cursor){.feed = ((struct feed_table *)t)->feed};
	*out = &c->base;
	return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int feed_filter(sqlite3_vtab_cursor *c, int number, const char *name, int argc,
		       sqlite3_value **argv)
{
	((struct feed_cursor *)c)->row = 0;
	return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *c)
{
	((struct feed_cursor *)c)->row++;
	return SQLITE_OK;
}

static int feed_eof(sqlite3_vtab_cursor *c)
{
	const struct feed_cursor *cursor = (struct feed_cursor *)c;

	return cursor->row >= cursor->feed->rows;
}

static int feed_column(sqlite3_vtab_cursor *c, sqlite3_context *out, int i)
{
	const struct feed_cursor *cursor = (struct feed_cursor *)c;
	const struct feed *f = cursor->feed;
	int64_t v = f->cells[(uint64_t)cursor->row * f->columns + (unsigned)i];

	if (v == FEED_NULL)
		return SQLITE_OK;
	if (f->blob && (unsigned)i == f->columns - 1)
		sqlite3_result_blob(out, f->bytes + (v >> 16), (int)(v & 0xffff), SQLITE_STATIC);
	else if (f->reals >> i & 1) {
		double real;

		memcpy(&real, &v, sizeof(real));
		sqlite3_result_double(out, real);
	} else
		sqlite3_result_int64(out, v);
	return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	*out = ((struct feed_cursor *)c)->row;
	return SQLITE_OK;
}

static const sqlite3_module feed_module = {
	.xConnect = feed_connect,
	.xBestIndex = feed_best_index,
	.xDisconnect = feed_disconnect,
	.xOpen = feed_open,
	.xClose = feed_close,
	.xFilter = feed_filter,
	.xNext = feed_next,
	.xEof = feed_eof,
	.xColumn = feed_column,
	.xRowid = feed_rowid,
};

bool feed_init(struct feed *f, sqlite3 *db, const char *table, unsigned columns, bool blob,
	       uint64_t reals)
{
	char module[64], sql[512];
	int at;

	*f = (struct feed){.db = db, .columns = columns, .reals = reals, .blob = blob};
	f->cells = malloc(sizeof(*f->cells) * FEED_ROWS * columns);
	f->bytes = malloc(blob ? FEED_BYTES : 1);
	if (!f->cells || !f->bytes)
		return false;
	snprintf(module, sizeof(module), "kymo_feed_%s", table);
	if (sqlite3_create_module(db, module, &feed_module, f) != SQLITE_OK)
		return false;
	at = snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO main.\"%s\" SELECT c0", table);
	for (unsigned i = 1; i < columns; i++)
		at += snprintf(sql + at, sizeof(sql) - (size_t)at, ",c%u", i);
	snprintf(sql + at, sizeof(sql) - (size_t)at, " FROM %s", module);
	return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &f->insert, NULL) ==
	       SQLITE_OK;
}

bool feed_flush(struct feed *f)
{
	int64_t before = sqlite3_total_changes64(f->db);
	uint64_t added;
	int rc;

	if (f->rows == 0)
		return true;
	rc = sqlite3_step(f->insert);
	sqlite3_reset(f->insert);
	added = (uint64_t)(sqlite3_total_changes64(f->db) - before);
	f->inserted += added;
	f->refused += f->rows - added;
	f->rows = 0;
	f->used = 0;
	return rc == SQLITE_DONE;
}

void feed_release(struct feed *f)
{
	sqlite3_finalize(f->insert);
	free(f->cells);
	free(f->bytes);
	*f = (struct feed){0};
}
