/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies to and from their tables. */
#include <string.h>

#include "formats/store/definitions.h"

#include "wire/tally.h"

#include "record/tally_columns.inc"

static bool write_histogram(sqlite3_stmt *s, const struct tallies *a, const struct tally *row,
			    const char *kind, uint32_t id)
{
	uint64_t n;

	for (uint32_t b = 0; (n = histogram_next(&a->pool, &row->histogram, &b)) != 0; b++) {
		sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, id);
		sqlite3_bind_int64(s, 3, b);
		sqlite3_bind_int64(s, 4, (int64_t)histogram_low(b));
		sqlite3_bind_int64(s, 5, (int64_t)histogram_width(b));
		sqlite3_bind_int64(s, 6, (int64_t)n);
		if (sqlite3_step(s) != SQLITE_DONE)
			return false;
		sqlite3_reset(s);
	}
	return true;
}

static bool write_kind(struct sql_context *c, struct tallies *a, unsigned kind,
		       sqlite3_stmt *histogram)
{
	const struct tally_set *set = &a->set[kind];
	sqlite3_stmt *s = sql_insert(c->db, &tables[kind]);
	bool ok = s != NULL;

	for (uint32_t i = 0; ok && i < set->count; i++) {
		tally_expand(a, set->rows[i]);
		ok = sql_write(c, s, &tables[kind], i + 1, set->rows[i]) &&
		     write_histogram(histogram, a, set->rows[i], tables[kind].name, i + 1);
	}
	sqlite3_finalize(s);
	return ok;
}

bool tallies_write(struct sql_context *c, struct tallies *a)
{
	sqlite3_stmt *histogram = NULL;
	bool ok = sqlite3_prepare_v2(c->db,
				     "INSERT INTO histogram(kind, row, bucket, low, width, count) "
				     "VALUES(?, ?, ?, ?, ?, ?)",
				     -1, &histogram, NULL) == SQLITE_OK;

	for (unsigned k = 0; ok && k < TALLY_KINDS; k++)
		ok = write_kind(c, a, k, histogram);
	sqlite3_finalize(histogram);
	return ok && metadata_add_integer(c->db, "allocations_out_of_order", (int64_t)a->late) &&
	       metadata_add(c->db, "percentile_error", a->coarse ? "0.05" : "0.016");
}

/* A store can come from anywhere: what keys refer to must be there. */
static bool is_sound(const struct trace *t, unsigned kind, const uint32_t key[TALLY_KEYS])
{
	for (unsigned i = 0; i < TALLY_KEYS; i++) {
		enum key_of what = indexes[kind][i];

		if (what != OF_NUMBER && key[i] && key[i] >= limit_of(t, what))
			return false;
	}
	return true;
}

bool tallies_loads_sound(const struct trace *t)
{
	static const enum tally_kind kinds[WIRE_TALLY_POOL] = {
		[WIRE_TALLY_CALL] = TALLY_CALL,
		[WIRE_TALLY_OTHER] = TALLY_ACTIVITY,
		[WIRE_TALLY_DISPATCH] = TALLY_DISPATCH,
		[WIRE_TALLY_COPY] = TALLY_COPY,
		[WIRE_TALLY_ALLOCATION] = TALLY_ALLOCATION,
		[WIRE_TALLY_SYNC] = TALLY_SYNC,
		[WIRE_TALLY_COMM] = TALLY_COMM,
		[WIRE_TALLY_MARKER] = TALLY_MARKER};

	for (uint32_t i = 1; i < t->loads_count; i++)
		if (t->loads[i].kind >= WIRE_TALLY_POOL ||
		    !is_sound(t, kinds[t->loads[i].kind], t->loads[i].key))
			return false;
	return true;
}

/* The row under its key; a store where a key comes twice, or in another order, is damaged. */
static bool read_row(struct sql_context *c, struct tallies *a, unsigned kind, sqlite3_stmt *s)
{
	struct tally row = {0}, *to;

	sql_read(c, s, &tables[kind], &row);
	if (!is_sound(a->trace, kind, row.key))
		return false;
	to = tally_at(a, kind, row.key);
	if (!to || sqlite3_column_int64(s, 0) != a->set[kind].count)
		return false;
	*to = row;
	return true;
}

static bool read_kind(struct sql_context *c, struct tallies *a, unsigned kind)
{
	sqlite3_stmt *s = sql_select(c->db, &tables[kind]);
	bool ok = s != NULL;
	int rc = SQLITE_DONE;

	while (ok && (rc = sqlite3_step(s)) == SQLITE_ROW)
		ok = read_row(c, a, kind, s);
	sqlite3_finalize(s);
	return ok && rc == SQLITE_DONE;
}

static bool read_histograms(struct sql_context *c, struct tallies *a)
{
	sqlite3_stmt *s = NULL;
	unsigned kind = 0;
	bool ok = sqlite3_prepare_v2(c->db, "SELECT kind, row, bucket, count FROM histogram", -1,
				     &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		uint64_t row = (uint64_t)sqlite3_column_int64(s, 1) - 1;
		uint64_t bucket = (uint64_t)sqlite3_column_int64(s, 2);

		for (unsigned k = 0;
		     name && k < TALLY_KINDS && strcmp(tables[kind].name, name) != 0; k++)
			kind = (kind + 1) % TALLY_KINDS;
		ok = name && strcmp(tables[kind].name, name) == 0 && row < a->set[kind].count &&
		     bucket < HISTOGRAM_BUCKETS &&
		     histogram_add(&a->pool, &a->set[kind].rows[row]->histogram, (uint32_t)bucket,
				   (uint64_t)sqlite3_column_int64(s, 3));
	}
	sqlite3_finalize(s);
	return ok;
}

struct tallies *tallies_read(struct sql_context *c, const struct trace *t)
{
	struct tallies *a = tallies_empty(t);
	const char *late = metadata_text(c, "allocations_out_of_order");
	const char *error = metadata_text(c, "percentile_error");
	bool ok = a != NULL;

	for (unsigned k = 0; ok && k < TALLY_KINDS; k++)
		ok = read_kind(c, a, k);
	if (ok && read_histograms(c, a)) {
		a->late = late && strcmp(late, "0") != 0;
		a->coarse = error && strcmp(error, "0.05") == 0;
		return a;
	}
	tallies_free(a);
	return NULL;
}
