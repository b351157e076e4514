/* SPDX-License-Identifier: Apache-2.0 */
/* See level.h. */
#include "page/level.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* The longest bins of a power of two of which there are so many at least. */
static unsigned shift_for(uint64_t length, uint64_t bins)
{
	unsigned shift = 0;

	while (shift < 62 && (length >> (shift + 1)) >= bins)
		shift++;
	return shift;
}

static bool level_init(struct level *v, unsigned shift, uint64_t length, uint32_t ops)
{
	v->shift = shift;
	v->bins = (uint32_t)((length >> shift) + 1);
	v->share = calloc(v->bins, sizeof(*v->share));
	v->op = calloc(v->bins, sizeof(*v->op));
	v->count = calloc(v->bins, sizeof(*v->count));
	v->busy = calloc(ops ? ops : 1, sizeof(*v->busy));
	v->now = UINT32_MAX;
	return v->share && v->op && v->count && v->busy;
}

bool levels_init(struct levels *l, uint64_t length, uint64_t records, uint32_t ops)
{
	uint64_t bins = records / 8 < LEVEL_FEWEST ? LEVEL_FEWEST : records / 8;
	unsigned shift;

	*l = (struct levels){.ops = ops};
	bins = bins > LEVEL_MOST / 2 ? LEVEL_MOST / 2 : bins;
	shift = shift_for(length, bins);
	for (;;) {
		struct level *v = &l->at[l->count++];

		if (!level_init(v, shift, length, ops))
			return false;
		if (v->bins <= LEVEL_COARSE || l->count == LEVELS_MOST)
			return true;
		shift += 2;
	}
}

/* What is known of the bin that is left: its share, and the op that is busy longest, of equals the one that came first. */
static void settle(struct level *v)
{
	uint64_t sum = 0, length = (uint64_t)1 << v->shift;
	uint32_t best = 0;

	for (uint32_t i = 0; i < v->used; i++) {
		sum += v->use[i].ns;
		best = v->use[i].ns > v->use[best].ns ? i : best;
		v->busy[v->use[i].op] = 0;
	}
	if (v->used) {
		unsigned share = (unsigned)((sum * 255 + length - 1) >> v->shift);

		v->share[v->now] = (uint8_t)(share == 0 ? 1 : share > 255 ? 255 : share);
		v->op[v->now] = v->use[best].op;
	}
	v->used = 0;
}

static bool spend(struct level *v, uint32_t bin, uint32_t op, uint64_t ns)
{
	if (bin != v->now) {
		settle(v);
		v->now = bin;
	}
	if (!v->busy[op]) {
		if (!vec_reserve(&v->use, &v->use_room, v->used, 1))
			return false;
		v->use[v->used++] = (struct level_use){.op = op};
		v->busy[op] = v->used;
	}
	v->use[v->busy[op] - 1].ns += ns;
	return true;
}

/* A slice touches the bins in which it has time; one without time that in which it is. */
static bool level_add(struct level *v, uint64_t start, uint64_t end, uint32_t op)
{
	uint32_t first = (uint32_t)(start >> v->shift);
	uint32_t last = (uint32_t)((end > start ? end - 1 : end) >> v->shift);

	if (last >= v->bins)
		return true;
	v->count[first]++;
	if (first == last)
		return spend(v, first, op, end - start);
	if (!spend(v, first, op, ((uint64_t)(first + 1) << v->shift) - start))
		return false;
	settle(v);
	for (uint32_t bin = first + 1; bin < last; bin++) {
		v->share[bin] = 255;
		v->op[bin] = op;
	}
	v->now = last;
	return spend(v, last, op, end - ((uint64_t)last << v->shift));
}

void levels_add(struct levels *l, int64_t start, int64_t end, uint32_t op)
{
	for (unsigned i = 0; i < l->count && !l->failed; i++)
		l->failed = !level_add(&l->at[i], (uint64_t)start, (uint64_t)end, op);
}

bool levels_finish(struct levels *l)
{
	for (unsigned i = 0; i < l->count; i++)
		settle(&l->at[i]);
	return !l->failed;
}

void levels_release(struct levels *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		free(l->at[i].share);
		free(l->at[i].op);
		free(l->at[i].count);
		free(l->at[i].use);
		free(l->at[i].busy);
	}
	*l = (struct levels){0};
}
