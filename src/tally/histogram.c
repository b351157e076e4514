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

/* Makes the page; 0: no memory. */
static uint32_t add_page(struct histogram_pool *p, struct histogram *h, uint32_t page)
{
	uint32_t number = take_page(p);

	histogram_page(p, h->table)->pages[page] = number;
	return number;
}

/* The only bucket gets a page as others. False: no memory. */
static bool spread(struct histogram_pool *p, struct histogram *h)
{
	uint32_t page;

	if (!(h->table = take_page(p)) || !(page = add_page(p, h, h->only / HISTOGRAM_SUB)))
		return false;
	histogram_page(p, page)->count[h->only % HISTOGRAM_SUB] = h->count;
	return true;
}

bool histogram_add_new(struct histogram_pool *p, struct histogram *h, uint32_t bucket,
		       uint64_t count)
{
	uint32_t page;

	if (!h->table && (!h->count || h->only == bucket)) {
		h->only = bucket;
		h->count += count;
		return true;
	}
	if (!h->table)
		return spread(p, h) && histogram_add(p, h, bucket, count);
	page = add_page(p, h, bucket / HISTOGRAM_SUB);
	if (page)
		histogram_page(p, page)->count[bucket % HISTOGRAM_SUB] = count;
	return page;
}

uint64_t histogram_next(const struct histogram_pool *p, const struct histogram *h, uint32_t *bucket)
{
	uint32_t i = *bucket;

	if (!h->table) {
		*bucket = h->only;
		return i <= h->only ? h->count : 0;
	}
	while (i < HISTOGRAM_BUCKETS) {
		uint32_t page = histogram_page(p, h->table)->pages[i / HISTOGRAM_SUB];

		for (; page && i < HISTOGRAM_BUCKETS; i++) {
			uint64_t n = histogram_page(p, page)->count[i % HISTOGRAM_SUB];

			if (n) {
				*bucket = i;
				return n;
			}
			if (i % HISTOGRAM_SUB == HISTOGRAM_SUB - 1)
				break;
		}
		i = (i / HISTOGRAM_SUB + 1) * HISTOGRAM_SUB;
	}
	return 0;
}

uint64_t histogram_at(const struct histogram_pool *p, const struct histogram *h, uint64_t count,
		      double share)
{
	double exact = share * (double)count;
	uint64_t rank = (uint64_t)exact, seen = 0, n;
	uint32_t last = 0;

	if ((double)rank < exact || rank == 0)
		rank++;
	for (uint32_t i = 0; (n = histogram_next(p, h, &i)) != 0; i++) {
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
