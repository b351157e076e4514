/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a SQLite file by the names of their columns: what a reader wants of one it lists, and gets it by
 * its place in that list, wherever the file has it.
 *
 *	dbtable_find_columns(&t, wanted, sql);          // NULL-terminated names, at most DBTABLE_WANTED
 *	dbwalk_init(&w, file, t.root);
 *	while (dbwalk_next(&w))
 *		if (dbrow_read(&t, &w, all, &row))
 *			use(dbrow_number(&row, 0, &wrong));
 */
#ifndef SQL_DBTABLE_H
#define SQL_DBTABLE_H

#include "sql/dbfile.h"

enum { DBTABLE_WANTED = 30 };

struct dbtable {
	uint32_t root;             /* 0: the file has none */
	int8_t at[DBTABLE_WANTED]; /* column of each that is wanted, -1: not there */
	uint64_t wanted;           /* a bit for each of them that is one of these */
};

/* Values of the wanted columns, in their order. */
struct dbrow {
	int64_t id;
	const struct dbvalue *all;
	const struct dbtable *table;
};

/* False: stop. */
typedef bool (*dbtable_take)(void *data, const struct dbvalue *name, uint32_t root,
			     const struct dbvalue *sql);

/* Hands over all ordinary tables: no views, no virtual ones, no indexes. False: `take` stopped it. */
bool dbtable_each(struct dbfile *f, dbtable_take take, void *data);

/* So many tables that nobody knows are looked into: several may say that they have the same pages. */
enum { DBTABLE_UNKNOWN = 200 };

/* Rows that can be read. */
uint64_t dbtable_rows(struct dbfile *f, uint32_t root);

/* Where the columns of the table are that `sql` makes. */
void dbtable_find_columns(struct dbtable *t, const char *const *wanted, const struct dbvalue *sql);

/* Fills the values of the row that the walk stands on. False: damaged, which the file counts. */
bool dbrow_read(const struct dbtable *t, struct dbwalk *w, struct dbvalue all[DBFILE_COLUMNS],
		struct dbrow *out);

/* The same of some columns alone, which is faster; nobody may look at others. */
bool dbrow_read_some(const struct dbtable *t, struct dbwalk *w, uint64_t columns,
		     struct dbvalue all[DBFILE_COLUMNS], struct dbrow *out);

/* A column among those. */
static inline uint64_t dbtable_column(const struct dbtable *t, unsigned wanted)
{
	return t->at[wanted] < 0 ? 0 : UINT64_C(1) << t->at[wanted];
}

/* The value of one column alone, of which nothing behind is read; 0: no number, as above. False: damaged. */
bool dbrow_read_number(const struct dbtable *t, struct dbwalk *w, unsigned wanted, int64_t *out);

static inline bool dbrow_has(const struct dbrow *row, unsigned wanted)
{
	return row->table->at[wanted] >= 0 && row->all[row->table->at[wanted]].type != DB_NULL;
}

/* Of a column that is not there NULL. */
static inline const struct dbvalue *dbrow_value(const struct dbrow *row, unsigned wanted)
{
	static const struct dbvalue none;

	return row->table->at[wanted] < 0 ? &none : &row->all[row->table->at[wanted]];
}

/* 0 of what is no number, which is counted in `wrong` (may be NULL). */
static inline int64_t dbrow_number(const struct dbrow *row, unsigned wanted, uint64_t *wrong)
{
	const struct dbvalue *v = dbrow_value(row, wanted);

	if (v->type == DB_INTEGER || v->type == DB_REAL)
		return v->integer;
	if (wrong)
		*wrong += v->type != DB_NULL;
	return 0;
}

/* False: it is none, which is counted in `wrong` unless it is NULL. */
static inline bool dbrow_integer(const struct dbrow *row, unsigned wanted, uint64_t *wrong,
				 int64_t *out)
{
	const struct dbvalue *v = dbrow_value(row, wanted);

	*out = v->integer;
	*wrong += v->type != DB_INTEGER && v->type != DB_NULL;
	return v->type == DB_INTEGER;
}

bool dbvalue_is(const struct dbvalue *v, const char *text);

#endif
