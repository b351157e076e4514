/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of time; see intervals.h. */
#include "analysis/intervals.h"

#include <stdlib.h>

#include "base/vec.h"

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void intervals_unite(struct intervals *s)
{
	uint32_t n = 0;

	if (s->united == s->count)
		return;
	qsort(s->at, s->count, sizeof(*s->at), by_start);
	for (uint32_t i = 1; i < s->count; i++) {
		if (s->at[i].start > s->at[n].end)
			s->at[++n] = s->at[i];
		else if (s->at[i].end > s->at[n].end)
			s->at[n].end = s->at[i].end;
	}
	s->count = s->united = n + 1;
}

bool intervals_add(struct intervals *s, int64_t start, int64_t end)
{
	bool ordered = s->united == s->count;

	if (end <= start)
		return true;
	if (ordered && s->count && start >= s->at[s->count - 1].start &&
	    start <= s->at[s->count - 1].end) {
		if (end > s->at[s->count - 1].end)
			s->at[s->count - 1].end = end;
		return true;
	}
	/* Before more memory is asked for, what overlaps becomes one. */
	if (s->count == s->room && !ordered) {
		intervals_unite(s);
		if (s->count > s->room / 2 &&
		    !vec_reserve(&s->at, &s->room, s->count, s->count + 1))
			return false;
		ordered = true;
	}
	if (!vec_reserve(&s->at, &s->room, s->count, 1))
		return false;
	if (ordered && (!s->count || start > s->at[s->count - 1].end))
		s->united++;
	s->at[s->count++] = (struct interval){start, end};
	return true;
}

void intervals_release(struct intervals *s)
{
	free(s->at);
	*s = (struct intervals){0};
}

void intervals_clip(struct intervals *s, int64_t start, int64_t end)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		struct interval v = s->at[i];

		v.start = v.start > start ? v.start : start;
		v.end = v.end < end ? v.end : end;
		if (v.end > v.start)
			s->at[n++] = v;
	}
	s->count = s->united = n;
}

uint64_t intervals_length(const struct intervals *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->count; i++)
		sum += (uint64_t)(s->at[i].end - s->at[i].start);
	return sum;
}

uint32_t intervals_find(const struct intervals *s, int64_t time)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->at[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

uint64_t intervals_within(const struct intervals *s, int64_t start, int64_t end)
{
	uint64_t sum = 0;

	if (end <= start)
		return 0;
	for (uint32_t i = intervals_find(s, start); i < s->count && s->at[i].start < end; i++)
		sum += (uint64_t)(earlier(s->at[i].end, end) - later(s->at[i].start, start));
	return sum;
}

uint64_t intervals_common(const struct intervals *a, const struct intervals *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0, k = 0; i < a->count && k < b->count;) {
		int64_t start = later(a->at[i].start, b->at[k].start);
		int64_t end = earlier(a->at[i].end, b->at[k].end);

		if (end > start)
			sum += (uint64_t)(end - start);
		if (a->at[i].end < b->at[k].end)
			i++;
		else
			k++;
	}
	return sum;
}
