/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear histograms; see histogram.h. */
#include <stdlib.h>

#include "base/vec.h"
#include "tally/histogram.h"

uint64_t histogram_width(uint32_t bucket)
{
	return bucket < 2 * HISTOGRAM_SUB ? 1 : 1ull << (bucket / HISTOGRAM_SUB - 1);
}

uint64_t histogram_low(uint32_t bucket)
{
	if (bucket < HISTOGRAM_SUB)
		return bucket;
	return (uint64_t)(HISTOGRAM_SUB + bucket % HISTOGRAM_SUB) << (bucket / HISTOGRAM_SUB - 1);
}

/* Pages are handed out in order; a block is added when the last one is full. */
static bool pool_reserve(struct histogram_pool *p)
{
	uint32_t block = p->used / HISTOGRAM_BLOCK;

	if (p->used % HISTOGRAM_BLOCK)
		return true;
	if (!vec_reserve(&p->blocks, &p->room, block, 1))
		return false;
	p->blocks[block] = calloc(HISTOGRAM_BLOCK, sizeof(**p->blocks));
	return p->blocks[block] != NULL;
}

static uint32_t take_page(struct histogram_pool *p)
{
	if (!pool_reserve(p))
		return 0;
	if (p->used == 0)
		p->used = 1; /* 0 says "none" */
	return p->used++;
}

uint32_t histogram_grow(struct histogram_pool *p, struct histogram *h, uint32_t page)
{
	uint32_t number;

	if (!h->table && !(h->table = take_page(p)))
		return 0;
	number = take_page(p);
	histogram_page(p, h->table)->pages[page] = number;
	return number;
}

uint64_t histogram_get(const struct histogram_pool *p, const struct histogram *h, uint32_t bucket)
{
	uint32_t page = histogram_page_of(p, h, bucket / HISTOGRAM_SUB);

	return page ? histogram_page(p, page)->count[bucket % HISTOGRAM_SUB] : 0;
}

uint64_t histogram_at(const struct histogram_pool *p, const struct histogram *h, uint64_t count,
		      double share)
{
	double exact = share * (double)count;
	uint64_t rank = (uint64_t)exact, seen = 0;
	uint32_t last = 0;

	if ((double)rank < exact || rank == 0)
		rank++;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t n = histogram_get(p, h, i);

		if (!n)
			continue;
		last = i;
		seen += n;
		if (seen >= rank)
			break;
	}
	return histogram_low(last) + (histogram_width(last) - 1) / 2;
}

void histogram_pool_release(struct histogram_pool *p)
{
	for (uint32_t i = 0; i * HISTOGRAM_BLOCK < p->used; i++)
		free(p->blocks[i]);
	free(p->blocks);
	p->blocks = NULL;
	p->used = 0;
}
