/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was under way when its process ended, calls and device work, and what was lost after the last chunk
 * that was kept, among the records: chosen by the filter and in order of time.
 */
#ifndef FORMATS_RAW_UNDER_WAY_H
#define FORMATS_RAW_UNDER_WAY_H

#include "formats/raw/spans.h"
#include "stream/filter.h"

struct under_way {
	const struct trace *trace;
	struct spans *spans; /* NULL: under_way_losses() was not called */
	int64_t *last;       /* by thread: when its last chunk began */
	struct under_way_item {
		int64_t time;
		uint32_t what, index;
	} * items;
	uint32_t count, next;
};

/* What the filter wants. False: no memory. */
bool under_way_find(struct under_way *w, const struct trace *t, const struct filter_binding *b);
/* Losses of which no chunk tells join it; `spans` are those that are read, and stay. False: no memory. */
bool under_way_losses(struct under_way *w, struct spans *spans, const struct filter_binding *b);
void under_way_release(struct under_way *w);

/* Hands on what began at `time` or before, and has not been handed on. */
kymo_status_t under_way_deliver(struct under_way *w, int64_t time, struct stream_sink *sink);

static inline kymo_status_t under_way_until(struct under_way *w, int64_t time,
					    struct stream_sink *sink)
{
	return w->next < w->count && w->items[w->next].time <= time
		       ? under_way_deliver(w, time, sink)
		       : KYMO_OK;
}

#endif
