/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-linear histograms of durations. Values below 32 have a bucket each; above, every power of
 * two is cut in 32 buckets, so a bucket is at most 1/32 of its values wide and its middle is at
 * most 1/64 (1.6 %) away from any of them. That is the error of every percentile Kymo shows.
 *
 * Buckets live in pages of one power of two, made when first used: a histogram of one API function
 * takes a few pages and one that says where they are. Pages belong to a pool and go away with it.
 */
#ifndef TALLY_HISTOGRAM_H
#define TALLY_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_SUB      (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_PAGES    60u /* 0..31, then one for each power of two up to 2^63 */
#define HISTOGRAM_BUCKETS  (HISTOGRAM_PAGES * HISTOGRAM_SUB)

union histogram_page {
	uint64_t count[HISTOGRAM_SUB];
	uint32_t pages[HISTOGRAM_PAGES]; /* of a histogram: their numbers in the pool, 0: none */
};

struct histogram_pool {
	union histogram_page **blocks; /* of HISTOGRAM_BLOCK pages */
	uint32_t room;                 /* for so many blocks */
	uint32_t used;                 /* pages; page 0 is never handed out */
};

/* As long as all values are of one bucket it takes no page: so are most where there are many histograms. */
struct histogram {
	uint32_t table; /* number of the page that has `pages`, 0: there is one bucket at most: */
	uint32_t only;
	uint64_t count; /* of that one; 0: it is empty */
};

#define HISTOGRAM_BLOCK 256u

static inline uint32_t histogram_bucket(uint64_t v)
{
	unsigned e;

	if (v < HISTOGRAM_SUB)
		return (uint32_t)v;
	e = 63u - (unsigned)__builtin_clzll(v);
	return (e - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB +
	       ((uint32_t)(v >> (e - HISTOGRAM_SUB_BITS)) & (HISTOGRAM_SUB - 1));
}

/* Smallest value of a bucket, and how many values it spans. */
uint64_t histogram_low(uint32_t bucket);
uint64_t histogram_width(uint32_t bucket);

static inline union histogram_page *histogram_page(const struct histogram_pool *p, uint32_t i)
{
	return &p->blocks[i / HISTOGRAM_BLOCK][i % HISTOGRAM_BLOCK];
}

/* Where the bucket has no place yet. False: no memory. */
bool histogram_add_new(struct histogram_pool *p, struct histogram *h, uint32_t bucket,
		       uint64_t count);

static inline bool histogram_add(struct histogram_pool *p, struct histogram *h, uint32_t bucket,
				 uint64_t count)
{
	uint32_t page = h->table ? histogram_page(p, h->table)->pages[bucket / HISTOGRAM_SUB] : 0;

	if (__builtin_expect(!page, 0))
		return histogram_add_new(p, h, bucket, count);
	histogram_page(p, page)->count[bucket % HISTOGRAM_SUB] += count;
	return true;
}

/* What is in the first bucket from *bucket on that is not empty, which *bucket is then; 0: no more. */
uint64_t histogram_next(const struct histogram_pool *p, const struct histogram *h,
			uint32_t *bucket);

/*
 * The value at `share` (0.5: the median) of `count` values by nearest rank: the middle of the
 * bucket that holds it.
 */
uint64_t histogram_at(const struct histogram_pool *p, const struct histogram *h, uint64_t count,
		      double share);

void histogram_pool_release(struct histogram_pool *p);

#endif
