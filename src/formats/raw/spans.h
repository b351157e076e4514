/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of records of a trace and the spans of time that they hold, from the headers of their
 * blocks alone: so that who wants the records of some time, or the first ones, looks into few of
 * them.
 *
 *   spans_find(&spans, rt, binding)
 *   for (i = 0; i < spans.count; i++)
 *           if (spans.at[i].wanted && spans_open(&spans, i, &buffer, &chunk))
 *                   while (raw_chunk_next(&chunk, &w)) ...
 *   spans_release(&spans);
 */
#ifndef FORMATS_RAW_SPANS_H
#define FORMATS_RAW_SPANS_H

#include "formats/raw/internal.h"
#include "stream/filter.h"

enum span_state { SPAN_UNREAD = 0, SPAN_GOOD, SPAN_BAD };

struct span {
	int64_t first; /* node ns: no record of it starts before; INT64_MIN: that is not known */
	int64_t base; /* the record before its first one ended then, the first one of a thread aside
		       */
	int64_t end;  /* its last one ends; INT64_MAX: not known */
	uint32_t process; /* in raw_trace.processes */
	uint32_t block;
	uint32_t previous; /* chunk of the same thread before: its place + 1; 0: none */
	uint32_t thread;   /* global index; 0: of no thread that is known */
	uint8_t state;     /* enum span_state: nothing of it was looked at yet, or it is sound, or
			      damaged */
	bool gap;          /* chunks between `previous` and it are not there */
	bool wanted;       /* it may hold something that is */
	bool counted;      /* what it says of losses, and damage in it, was noted */
	bool exact;        /* `first` is when its first wanted record starts */
};

struct spans {
	struct raw_trace *rt;
	struct span *at; /* in the order of the files */
	uint32_t count, room;
	bool ahead;     /* a pass before the one that counts: damage and losses are not noted */
	uint64_t bytes; /* of the payloads that are wanted, for progress */
};

kymo_status_t spans_find(struct spans *s, struct raw_trace *rt, const struct filter_binding *b);
void spans_release(struct spans *s);

/*
 * Makes a chunk ready to read, with what was lost before it. What is wrong is said and counted the
 * first time. False: it is damaged.
 */
bool spans_open(struct spans *s, uint32_t i, struct raw_buffer *buffer, struct raw_chunk *out);

#endif
