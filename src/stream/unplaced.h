/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has no place where it should go: in the format that is written, or in a trace that is made of a
 * foreign file. Counted on the way, told once at the end, so that nothing is left out silently.
 *	unplaced_add(&w->unplaced, "calls that never returned", 1);
 *	...
 *	unplaced_tell(&w->unplaced, log, "rocpd has no place for"); // "...: calls that never returned (3), ..."
 */
#ifndef STREAM_UNPLACED_H
#define STREAM_UNPLACED_H

#include "stream/trace.h"

enum { UNPLACED_KINDS = 32 };

struct unplaced {
	struct {
		const char *what; /* in the plural; it stays */
		uint64_t count;
		uint64_t records; /* of these: left out as a whole */
	} kinds[UNPLACED_KINDS];
	unsigned used;
	uint64_t records; /* of all kinds: they are nowhere in the output */
	uint64_t lost;    /* of all these: records, which are not in what was made */
};

/* Counts `count` more of `what`, found by its text. The last kind takes those for which there is no room. */
void unplaced_add(struct unplaced *u, const char *what, uint64_t count);

/* The same of records that are lost: what is made of the file tells them (make_left_out() of make.h). */
void unplaced_lose(struct unplaced *u, const char *what, uint64_t count);

/* The same of `records` records that are left out as a whole: an export tells how many were written. */
void unplaced_leave(struct unplaced *u, const char *what, uint64_t count, uint64_t records);

/* Likewise, one record of the kind that `r`, an activity, is of. */
void unplaced_record(struct unplaced *u, const struct trace *t, const struct rec *r);

/* Rows of a table of the file that `t` is made of, under its name. */
void unplaced_rows(struct unplaced *u, struct trace *t, const char *table, size_t length,
		   uint64_t rows);

uint64_t unplaced_total(const struct unplaced *u);

/* A warning that begins with `what_is_wrong`; none where everything had its place. */
void unplaced_tell(const struct unplaced *u, struct stream_log *log, const char *what_is_wrong);

/*
 * Warnings of a damaged database: pages that it is short of, pages or rows that cannot be read, values of
 * another type than their column's. Nothing of what is 0.
 */
void unplaced_damage(struct stream_log *log, const char *path, uint64_t missing, uint64_t damaged,
		     uint64_t wrong);

#endif
