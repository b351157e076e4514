/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sparse time index of one table while it is filled: for each block of rows with
 * neighbouring ids the earliest start and the latest end. Private to the store.
 */
#ifndef FORMATS_STORE_TIME_INDEX_H
#define FORMATS_STORE_TIME_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define TIME_INDEX_SHIFT 12u /* 4096 row ids a block */

struct time_block {
	uint64_t key; /* row id >> TIME_INDEX_SHIFT, plus 1; 0: unused */
	int64_t start, end;
};

struct time_index {
	struct time_block *blocks; /* a hash table */
	uint64_t mask;
	uint64_t used;
	struct time_block *last; /* used by the row before */
	bool failed;
};

struct time_block *time_index_block(struct time_index *x, uint64_t key);

static inline void time_index_add(struct time_index *x, int64_t id, int64_t start, int64_t end)
{
	uint64_t key = ((uint64_t)id >> TIME_INDEX_SHIFT) + 1;
	struct time_block *b = x->last;

	if (!b || b->key != key)
		b = time_index_block(x, key);
	if (!b)
		return;
	b->start = start < b->start ? start : b->start;
	b->end = end > b->end ? end : b->end;
}

static inline void time_index_release(struct time_index *x)
{
	free(x->blocks);
	*x = (struct time_index){0};
}

#endif
