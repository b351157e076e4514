/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a SQLite file by the names of their columns; see dbtable.h. */
#include "sql/dbtable.h"

#include <string.h>

enum { SCHEMA_TYPE, SCHEMA_NAME, SCHEMA_TABLE, SCHEMA_ROOT, SCHEMA_SQL, SCHEMA_COLUMNS };

bool dbvalue_is(const struct dbvalue *v, const char *text)
{
	return v->type == DB_TEXT && v->length == strlen(text) &&
	       memcmp(v->text, text, v->length) == 0;
}

bool dbtable_each(struct dbfile *f, dbtable_take take, void *data)
{
	struct dbvalue v[SCHEMA_COLUMNS];
	struct dbwalk w;
	bool ok = true;

	dbwalk_init(&w, f, 1);
	while (ok && dbwalk_next(&w)) {
		int64_t root;

		if (!dbwalk_values(&w, v, (1u << SCHEMA_COLUMNS) - 1)) {
			f->damaged++;
			continue;
		}
		root = v[SCHEMA_ROOT].integer;
		if (dbvalue_is(&v[SCHEMA_TYPE], "table") && v[SCHEMA_NAME].type == DB_TEXT &&
		    v[SCHEMA_ROOT].type == DB_INTEGER && root >= 1 && root <= UINT32_MAX)
			ok = take(data, &v[SCHEMA_NAME], (uint32_t)root, &v[SCHEMA_SQL]);
	}
	dbwalk_release(&w);
	return ok;
}

uint64_t dbtable_rows(struct dbfile *f, uint32_t root)
{
	uint64_t rows = 0;
	struct dbwalk w;

	dbwalk_init(&w, f, root);
	while (dbwalk_next(&w))
		rows++;
	dbwalk_release(&w);
	return rows;
}

void dbtable_find_columns(struct dbtable *t, const char *const *wanted, const struct dbvalue *sql)
{
	const char *names[DBFILE_COLUMNS];
	char room[4096];
	bool text = sql->type == DB_TEXT;
	unsigned count = dbfile_columns(text ? sql->text : "", text ? sql->length : 0, room,
					sizeof(room), names, DBFILE_COLUMNS);

	t->wanted = 0;
	memset(t->at, -1, sizeof(t->at));
	for (unsigned i = 0; i < DBTABLE_WANTED && wanted[i]; i++) {
		for (unsigned k = 0; k < count && t->at[i] < 0; k++)
			t->at[i] = strcmp(names[k], wanted[i]) == 0 ? (int8_t)k : -1;
		t->wanted |= dbtable_column(t, i);
	}
}

bool dbrow_read(const struct dbtable *t, struct dbwalk *w, struct dbvalue all[DBFILE_COLUMNS],
		struct dbrow *out)
{
	return dbrow_read_some(t, w, t->wanted, all, out);
}

bool dbrow_read_some(const struct dbtable *t, struct dbwalk *w, uint64_t columns,
		     struct dbvalue all[DBFILE_COLUMNS], struct dbrow *out)
{
	if (!dbwalk_values(w, all, columns)) {
		w->file->damaged++;
		return false;
	}
	*out = (struct dbrow){.id = w->id, .all = all, .table = t};
	return true;
}

bool dbrow_read_number(const struct dbtable *t, struct dbwalk *w, unsigned wanted, int64_t *out)
{
	struct dbvalue all[DBFILE_COLUMNS];
	const struct dbrow row = {.id = w->id, .all = all, .table = t};

	if (!dbwalk_values(w, all, dbtable_column(t, wanted))) {
		w->file->damaged++;
		return false;
	}
	*out = dbrow_number(&row, wanted, NULL);
	return true;
}
