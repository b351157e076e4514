/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in what; see nest.h. */
#include "stream/nest.h"

#include <stdlib.h>

#include "base/bulk.h"
#include "base/vec.h"

/* Of intervals that cross each other so many are looked at for one that a further one lies in. */
enum { CROSSING_MAX = 256 };

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_nesting(const void *a, const void *b, void *none)
{
	const struct nest_span *x = a, *y = b;
	int order = compare(x->thread, y->thread);

	order = order ? order : compare(x->start, y->start);
	order = order ? order : compare(y->end, x->end);
	return order ? order : compare(x->number, y->number);
}

struct open_spans {
	uint32_t *at;
	uint32_t depth, room;
};

static void close_until(const struct nest_span *spans, struct open_spans *o,
			const struct nest_span *e)
{
	while (o->depth) {
		const struct nest_span *top = &spans[o->at[o->depth - 1]];

		if (top->thread == e->thread && top->end > e->start)
			break;
		o->depth--;
	}
}

static uint32_t surrounding(const struct nest_span *spans, const struct open_spans *o,
			    const struct nest_span *e)
{
	uint32_t looked = 0;

	for (uint32_t i = o->depth; i-- > 0 && looked++ < CROSSING_MAX;)
		if (spans[o->at[i]].end >= e->end)
			return o->at[i] + 1;
	return 0;
}

bool nest_find(struct nest_span **list, uint32_t count)
{
	struct open_spans open = {0};
	bool ok = bulk_sort(list, count, sizeof(**list), by_nesting, NULL);
	struct nest_span *spans = *list;

	for (uint32_t i = 0; i < count && ok; i++) {
		close_until(spans, &open, &spans[i]);
		spans[i].up = surrounding(spans, &open, &spans[i]);
		if (!spans[i].holds)
			continue;
		ok = vec_reserve(&open.at, &open.room, open.depth, 1);
		if (ok)
			open.at[open.depth++] = i;
	}
	free(open.at);
	return ok;
}
