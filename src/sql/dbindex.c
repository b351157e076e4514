/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by id; see dbindex.h. */
#include "base/bulk.h"
#include "sql/dbindex.h"

/* An id that is the number of its row is stored nowhere else. */
static bool map_rows(struct dbindex *x)
{
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
	bool ok = true;

	while (ok && dbwalk_next(&x->walk)) {
		if (!dbrow_read(&x->table, &x->walk, all, &row))
			continue;
		if (!dbrow_has(&row, 0))
			break;
		x->mapped = true;
		ok = bulk_map_set(&x->rows, (uint64_t)dbrow_number(&row, 0, NULL),
				  (uint64_t)row.id + 1);
	}
	return ok;
}

bool dbindex_open(struct dbindex *x, struct dbfile *f, const struct dbtable *table)
{
	*x = (struct dbindex){.table = *table};
	dbwalk_init(&x->walk, f, table->root);
	return !table->root || map_rows(x);
}

void dbindex_close(struct dbindex *x)
{
	dbwalk_release(&x->walk);
	bulk_map_release(&x->rows);
	map_release(&x->kept);
}

static bool read_at(struct dbindex *x, int64_t row, struct dbvalue all[DBFILE_COLUMNS],
		    struct dbrow *out)
{
	return dbwalk_seek(&x->walk, row) && dbrow_read(&x->table, &x->walk, all, out);
}

/* Mostly it is the row behind the last one, and no look into a large map is needed. */
static bool is_next(struct dbindex *x, int64_t id, struct dbvalue all[DBFILE_COLUMNS],
		    struct dbrow *out)
{
	return x->last != INT64_MAX && read_at(x, x->last + 1, all, out) &&
	       dbrow_number(out, 0, NULL) == id;
}

bool dbindex_get(struct dbindex *x, int64_t id, struct dbvalue all[DBFILE_COLUMNS],
		 struct dbrow *out)
{
	uint64_t row = (uint64_t)id + 1;

	if (!x->table.root)
		return false;
	if (x->mapped && is_next(x, id, all, out)) {
		x->last++;
		return true;
	}
	if (x->mapped)
		row = map_get(&x->rows, (uint64_t)id);
	x->last = (int64_t)(row - 1);
	return row && read_at(x, x->last, all, out);
}

const struct dbvalue *dbindex_text(struct dbindex *x, int64_t id, unsigned wanted,
				   struct dbvalue all[DBFILE_COLUMNS])
{
	const struct dbvalue *v;
	struct dbrow row;

	if (!dbindex_get(x, id, all, &row))
		return NULL;
	v = dbrow_value(&row, wanted);
	return v->type == DB_TEXT ? v : NULL;
}
