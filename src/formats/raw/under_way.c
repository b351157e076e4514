/* SPDX-License-Identifier: Apache-2.0 */
/* See under_way.h. */
#include "formats/raw/under_way.h"

#include <stdlib.h>

#include "stream/recorded.h"

enum what { OPEN_CALL, WORK, UNLISTED };

static void add(struct under_way *w, int64_t time, enum what what, uint32_t index)
{
	w->items[w->count++] = (struct under_way_item){time, what, index};
}

/* Outer calls before those in them, calls before the work that they gave in. */
static int by_time(const void *a, const void *b)
{
	const struct under_way_item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

bool under_way_find(struct under_way *w, const struct trace *t, const struct filter_binding *b)
{
	size_t most = (size_t)t->open_calls_count + t->unfinished_count + t->processes_count;

	*w = (struct under_way){.trace = t, .items = malloc(most * sizeof(*w->items))};
	if (!w->items)
		return false;
	for (uint32_t i = 1; i < t->open_calls_count; i++)
		if (filter_open_call(b, t, &t->open_calls[i]))
			add(w, t->open_calls[i].start, OPEN_CALL, i);
	for (uint32_t i = 1; i < t->unfinished_count; i++)
		if (filter_unfinished(b, t, &t->unfinished[i]))
			add(w, t->unfinished[i].submit, WORK, i);
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].unlisted && filter_unlisted(b, t, i))
			add(w, recorded_until(t, &t->processes[i]), UNLISTED, i);
	qsort(w->items, w->count, sizeof(*w->items), by_time);
	return true;
}

void under_way_release(struct under_way *w)
{
	free(w->items);
	*w = (struct under_way){0};
}

static kymo_status_t deliver_one(const struct under_way *w, const struct under_way_item *item,
				 struct stream_sink *sink)
{
	const struct trace *t = w->trace;
	struct t_unfinished more;

	if (item->what == OPEN_CALL)
		return sink->open_call(sink, &t->open_calls[item->index]);
	if (item->what == WORK)
		return sink->unfinished(sink, &t->unfinished[item->index]);
	more = (struct t_unfinished){.process = item->index,
				     .submit = item->time,
				     .unlisted = t->processes[item->index].unlisted};
	return sink->unfinished(sink, &more);
}

kymo_status_t under_way_deliver(struct under_way *w, int64_t time, struct stream_sink *sink)
{
	kymo_status_t status = KYMO_OK;

	while (status == KYMO_OK && w->next < w->count && w->items[w->next].time <= time)
		status = deliver_one(w, &w->items[w->next++], sink);
	return status;
}
