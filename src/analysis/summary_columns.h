/* SPDX-License-Identifier: Apache-2.0 */
/* What the summary's tables have in common: grouping, columns and cells. Private to the summary. */
#ifndef ANALYSIS_SUMMARY_COLUMNS_H
#define ANALYSIS_SUMMARY_COLUMNS_H

#include "analysis/curve.h"
#include "analysis/group.h"
#include "analysis/summary_parts.h"

/*
 * A curve: for people a picture, of which `top` is the full character, and 0 the only one without height; for
 * programs the numbers.
 */
void put_curve(struct table *t, struct cell *c, const uint64_t at[CURVE_PARTS], uint64_t top,
	       const struct report *r);

/* The sums over all rows of a table. */
struct totals {
	uint64_t count, total, self, errors, untimed, bytes, stayed;
};
struct totals totals_of(const struct groups *g);

/* Chooses rows of a kind. */
typedef bool row_wanted(const void *data, const struct trace *t, const struct tally *row);
/* Of a row of TALLY_CALL: what a thread was in (KYMO_OP_STATE), or a call. */
bool row_is_state(const void *unused, const struct trace *t, const struct tally *row);
bool row_is_call(const void *unused, const struct trace *t, const struct tally *row);

/* Groups the rows of a kind, all or those `wanted`. False: no memory. */
bool gather(struct groups *g, const struct summary *s, unsigned count, enum tally_kind kind,
	    unsigned by, row_wanted *wanted, const void *data);

/* A column for each dimension in `by`; that of BY_OP is called `op_heading`. */
void add_dimensions(struct table *t, unsigned by, const char *op_heading);
void add_spread(struct table *t);

/* Cells of such columns; they return the cell that follows. */
struct cell *put_labels(struct table *t, struct cell *c, const struct group *g);
struct cell *put_spread(struct cell *c, const struct groups *g, const struct tally *n);
struct cell *put_percent(struct cell *c, uint64_t part, uint64_t whole);
/* People see nothing for 0 where it is the rule: errors stand out. */
struct cell *put_nonzero(struct cell *c, uint64_t v);
/* Bytes that were mapped where they lie. */
uint64_t stayed(const struct tally *n);

/* Bytes of one of `count`, in tenths where that is less than 100; nothing of none, or if they are not finite. */
struct cell *put_mean_size(struct cell *c, double bytes, uint64_t count);

/* Bytes a second of what was timed and moved. */
struct cell *put_rate(struct cell *c, const struct tally *n);

#endif
