/* SPDX-License-Identifier: Apache-2.0 */
/* A table of texts that others refer to by id: texts are looked up where they lie, none is copied. */
#ifndef SQL_DBTEXTS_H
#define SQL_DBTEXTS_H

#include "base/map.h"
#include "sql/dbtable.h"

struct dbtexts {
	struct dbtable table; /* root 0: there is none */
	struct dbwalk walk;
	struct map rows; /* id -> row + 1, where ids are no row numbers */
	bool mapped;
	struct map kept; /* the caller's: what it has made of an id; released with the rest */
};

/* `table` has the columns id and text, in this order. Once; false: no memory. */
bool dbtexts_open(struct dbtexts *x, struct dbfile *f, const struct dbtable *table);
void dbtexts_close(struct dbtexts *x);

/* The text of that id, until the next one is looked up. NULL: there is none. */
const struct dbvalue *dbtexts_get(struct dbtexts *x, int64_t id,
				  struct dbvalue all[DBFILE_COLUMNS]);

#endif
