/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by id; see dbtexts.h. */
#include "sql/dbtexts.h"

enum { ID, TEXT };

/* A column that is the number of its row is stored nowhere else: what is stored may be anything. */
static bool map_rows(struct dbtexts *x)
{
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
	bool ok = true;

	while (ok && dbwalk_next(&x->walk)) {
		if (!dbrow_read(&x->table, &x->walk, all, &row))
			continue;
		if (!dbrow_has(&row, ID))
			break;
		x->mapped = true;
		ok = map_set(&x->rows, (uint64_t)dbrow_number(&row, ID, NULL),
			     (uint64_t)row.id + 1);
	}
	return ok;
}

bool dbtexts_open(struct dbtexts *x, struct dbfile *f, const struct dbtable *table)
{
	*x = (struct dbtexts){.table = *table};
	dbwalk_init(&x->walk, f, table->root);
	return !table->root || map_rows(x);
}

void dbtexts_close(struct dbtexts *x)
{
	dbwalk_release(&x->walk);
	map_release(&x->rows);
	map_release(&x->kept);
}

const struct dbvalue *dbtexts_get(struct dbtexts *x, int64_t id, struct dbvalue all[DBFILE_COLUMNS])
{
	uint64_t row = x->mapped ? map_get(&x->rows, (uint64_t)id) : (uint64_t)id + 1;
	const struct dbvalue *v;
	struct dbrow r;

	if (!x->table.root || !row || !dbwalk_seek(&x->walk, (int64_t)(row - 1)) ||
	    !dbrow_read(&x->table, &x->walk, all, &r))
		return NULL;
	v = dbrow_value(&r, TEXT);
	return v->type == DB_TEXT ? v : NULL;
}
