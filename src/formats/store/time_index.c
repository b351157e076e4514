/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse time index; see time_index.h. */
#include "formats/store/time_index.h"

static struct time_block *find(struct time_block *blocks, uint64_t mask, uint64_t key)
{
	uint64_t i = (key * 0x9e3779b97f4a7c15ull) >> 20 & mask;

	while (blocks[i].key && blocks[i].key != key)
		i = (i + 1) & mask;
	return &blocks[i];
}

static bool grow(struct time_index *x)
{
	uint64_t size = x->blocks ? (x->mask + 1) * 2 : 256;
	struct time_block *blocks = calloc(size, sizeof(*blocks));

	if (!blocks)
		return false;
	for (uint64_t i = 0; x->blocks && i <= x->mask; i++) {
		if (x->blocks[i].key)
			*find(blocks, size - 1, x->blocks[i].key) = x->blocks[i];
	}
	free(x->blocks);
	x->blocks = blocks;
	x->mask = size - 1;
	return true;
}

struct time_block *time_index_block(struct time_index *x, uint64_t key)
{
	if ((!x->blocks || x->used * 2 > x->mask) && !grow(x)) {
		x->failed = true;
		return x->last = NULL;
	}
	x->last = find(x->blocks, x->mask, key);
	if (!x->last->key) {
		*x->last = (struct time_block){key, INT64_MAX, INT64_MIN};
		x->used++;
	}
	return x->last;
}
