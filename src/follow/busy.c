/* SPDX-License-Identifier: Apache-2.0 */
/* See busy.h. */
#include "follow/busy.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

bool busy_union_add(struct busy_union *b, uint64_t start, uint64_t end)
{
	if (start < b->before)
		start = b->before;
	if (end <= start)
		return true;
	if (!vec_reserve(&b->fresh, &b->fresh_room, b->fresh_count, 1))
		return false;
	b->fresh[b->fresh_count++] = (struct busy_union_span){start, end};
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct busy_union_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Adds the fresh ones behind the kept ones and joins what overlaps. False: no memory. */
static bool join(struct busy_union *b)
{
	uint32_t all = b->count + b->fresh_count, n = 0;

	if (!vec_reserve(&b->kept, &b->room, b->count, b->fresh_count))
		return false;
	memcpy(b->kept + b->count, b->fresh, b->fresh_count * sizeof(*b->fresh));
	qsort(b->kept, all, sizeof(*b->kept), by_start);
	for (uint32_t i = 0; i < all; i++) {
		struct busy_union_span s = b->kept[i];

		if (n && s.start <= b->kept[n - 1].end) {
			if (s.end > b->kept[n - 1].end)
				b->kept[n - 1].end = s.end;
		} else {
			b->kept[n++] = s;
		}
	}
	b->count = n;
	b->fresh_count = 0;
	return true;
}

static void fold(struct busy_union *b)
{
	uint32_t out = b->count - BUSY_KEPT / 2;

	for (uint32_t i = 0; i < out; i++)
		b->folded += (double)(b->kept[i].end - b->kept[i].start);
	b->before = b->kept[out - 1].end;
	memmove(b->kept, b->kept + out, (b->count - out) * sizeof(*b->kept));
	b->count -= out;
}

double busy_union_total(struct busy_union *b)
{
	double sum;

	if (b->fresh_count && join(b) && b->count > BUSY_KEPT)
		fold(b);
	sum = b->folded;
	for (uint32_t i = 0; i < b->count; i++)
		sum += (double)(b->kept[i].end - b->kept[i].start);
	return sum;
}

void busy_union_release(struct busy_union *b)
{
	free(b->kept);
	free(b->fresh);
	*b = (struct busy_union){0};
}
