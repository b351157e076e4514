/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk insertion through an eponymous virtual table; see bulk_insert.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sql/bulk_insert.h"

struct bulk_insert_table {
	sqlite3_vtab base;
	struct bulk_insert *feed;
};

struct bulk_insert_cursor {
	sqlite3_vtab_cursor base;
	struct bulk_insert *feed;
	uint32_t row;
};

static int bulk_insert_connect(sqlite3 *db, void *data, int argc, const char *const *argv,
			       sqlite3_vtab **out, char **error)
{
	struct bulk_insert *f = data;
	struct bulk_insert_table *t = sqlite3_malloc(sizeof(*t));
	char sql[1024];
	int at = snprintf(sql, sizeof(sql), "CREATE TABLE x(c0");

	if (!t)
		return SQLITE_NOMEM;
	for (unsigned i = 1; i < f->columns; i++)
		at += snprintf(sql + at, sizeof(sql) - (size_t)at, ",c%u", i);
	snprintf(sql + at, sizeof(sql) - (size_t)at, ")");
	*t = (struct bulk_insert_table){.feed = f};
	*out = &t->base;
	return sqlite3_declare_vtab(db, sql);
}

static int bulk_insert_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

static int bulk_insert_best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	info->estimatedCost = FEED_ROWS;
	return SQLITE_OK;
}

static int bulk_insert_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct bulk_insert_cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct bulk_insert_cursor){.feed = ((struct bulk_insert_table *)t)->feed};
	*out = &c->base;
	return SQLITE_OK;
}

static int bulk_insert_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int bulk_insert_filter(sqlite3_vtab_cursor *c, int number, const char *name, int argc,
			      sqlite3_value **argv)
{
	((struct bulk_insert_cursor *)c)->row = 0;
	return SQLITE_OK;
}

static int bulk_insert_next(sqlite3_vtab_cursor *c)
{
	((struct bulk_insert_cursor *)c)->row++;
	return SQLITE_OK;
}

static int bulk_insert_eof(sqlite3_vtab_cursor *c)
{
	const struct bulk_insert_cursor *cursor = (struct bulk_insert_cursor *)c;

	return cursor->row >= cursor->feed->rows;
}

static int bulk_insert_column(sqlite3_vtab_cursor *c, sqlite3_context *out, int i)
{
	const struct bulk_insert_cursor *cursor = (struct bulk_insert_cursor *)c;
	const struct bulk_insert *f = cursor->feed;
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

static int bulk_insert_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	*out = ((struct bulk_insert_cursor *)c)->row;
	return SQLITE_OK;
}

static const sqlite3_module bulk_insert_module = {
	.xConnect = bulk_insert_connect,
	.xBestIndex = bulk_insert_best_index,
	.xDisconnect = bulk_insert_disconnect,
	.xOpen = bulk_insert_open,
	.xClose = bulk_insert_close,
	.xFilter = bulk_insert_filter,
	.xNext = bulk_insert_next,
	.xEof = bulk_insert_eof,
	.xColumn = bulk_insert_column,
	.xRowid = bulk_insert_rowid,
};

/* The virtual table that rows come from, and the statement that copies them. */
static bool prepare_insert(struct bulk_insert *f, const char *table)
{
	struct text module = {0}, sql = {0};
	bool ok;

	text_addf(&module, "kymo_feed_%s", table);
	text_addf(&sql, "INSERT OR IGNORE INTO main.\"%s\" SELECT c0", table);
	for (unsigned i = 1; i < f->columns; i++)
		text_addf(&sql, ",c%u", i);
	text_addf(&sql, " FROM \"%s\"", module.s ? module.s : "");
	ok = !module.failed && !sql.failed &&
	     sqlite3_create_module(f->db, module.s, &bulk_insert_module, f) == SQLITE_OK &&
	     sqlite3_prepare_v3(f->db, sql.s, -1, SQLITE_PREPARE_PERSISTENT, &f->insert, NULL) ==
		     SQLITE_OK;
	text_release(&module);
	text_release(&sql);
	return ok;
}

bool bulk_insert_init(struct bulk_insert *f, sqlite3 *db, const char *table, unsigned columns,
		      bool blob, uint64_t reals)
{
	*f = (struct bulk_insert){.db = db, .columns = columns, .reals = reals, .blob = blob};
	f->cells = malloc(sizeof(*f->cells) * FEED_ROWS * columns);
	f->bytes = malloc(blob ? FEED_BYTES : 1);
	return f->cells && f->bytes && prepare_insert(f, table);
}

bool bulk_insert_flush(struct bulk_insert *f)
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

void bulk_insert_release(struct bulk_insert *f)
{
	sqlite3_finalize(f->insert);
	free(f->cells);
	free(f->bytes);
	*f = (struct bulk_insert){0};
}
