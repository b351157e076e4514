/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of time as lists of disjoint intervals: time that something was busy is the length of a union,
 * never a sum. An interval holds its start and not its end.
 */
#ifndef ANALYSIS_INTERVALS_H
#define ANALYSIS_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

struct interval {
	int64_t start, end;
};

/* All zero is an empty set. */
struct intervals {
	struct interval *at; /* owned */
	uint32_t count, room;
	uint32_t united; /* so many, from the first, are in order and apart */
};

/*
 * Adds [start, end); one without length adds nothing. What is added in order costs nothing more; else
 * the set is put in order now and then, so that memory is proportional to what is apart. False: no memory.
 */
bool intervals_add(struct intervals *s, int64_t start, int64_t end);

/* Puts the set in order: at[] is ascending and apart from now on. The functions below want that. */
void intervals_unite(struct intervals *s);

/* Takes away what lies outside of [start, end) from a set in order. */
void intervals_clip(struct intervals *s, int64_t start, int64_t end);

void intervals_release(struct intervals *s);

/* Length of all of it, and of what lies in [start, end). */
uint64_t intervals_length(const struct intervals *s);
uint64_t intervals_within(const struct intervals *s, int64_t start, int64_t end);

/* Length of what both have. */
uint64_t intervals_common(const struct intervals *a, const struct intervals *b);

/* First interval that ends after `time`; `count` if there is none. */
uint32_t intervals_find(const struct intervals *s, int64_t time);

#endif
