/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that others refer to by an id, texts above all: they are looked up where they lie, none is copied. */
#ifndef SQL_DBINDEX_H
#define SQL_DBINDEX_H

#include "base/map.h"
#include "sql/dbtable.h"

struct dbindex {
	struct dbtable table; /* root 0: there is none */
	struct dbwalk walk;
	struct map rows; /* id -> row + 1, where ids are no row numbers */
	bool mapped;
	int64_t last;    /* row that was looked up */
	struct map kept; /* the caller's: what it has made of an id; released with the rest */
};

/* The first column that is wanted of `table` is the id. Once; false: no memory. */
bool dbindex_open(struct dbindex *x, struct dbfile *f, const struct dbtable *table);
void dbindex_close(struct dbindex *x);

/* The row of that id, until the next one is looked up. False: there is none. */
bool dbindex_get(struct dbindex *x, int64_t id, struct dbvalue all[DBFILE_COLUMNS],
		 struct dbrow *out);

/* The text in that column of it. NULL: there is none. */
const struct dbvalue *dbindex_text(struct dbindex *x, int64_t id, unsigned wanted,
				   struct dbvalue all[DBFILE_COLUMNS]);

#endif
