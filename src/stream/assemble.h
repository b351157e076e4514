/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a foreign file that lie in tables, each sorted by itself or not at all: what becomes a record
 * is noted as an item (56 bytes, base/bulk.h), items are tied to the calls they are of, calls and ranges
 * nested, and all put in the order of their ends, as a recording has them.
 *
 *	struct assembly_item *i = assembly_add(&a, ASSEMBLY_CALL, 0, row, times);
 *	...
 *	assembly_order(&a, t);                          // processes and threads are in the trace
 *	for (uint32_t n = 0; n < a.count; n++)
 *		hand_on(&a.items[a.order[n]]);
 */
#ifndef STREAM_ASSEMBLE_H
#define STREAM_ASSEMBLE_H

#include "base/map.h"
#include "stream/make.h"

enum assembly_kind {
	ASSEMBLY_CALL,
	ASSEMBLY_RANGE,         /* of a thread */
	ASSEMBLY_PROCESS_RANGE, /* of the thread that started it, or of none */
	ASSEMBLY_MARK,
	ASSEMBLY_WORK, /* what a call submitted, of its thread */
	ASSEMBLY_OTHER /* of a process alone */
};

struct assembly_item {
	int64_t start, end; /* ns of the file; once in order, of the trace */
	uint64_t key; /* of calls their number in the process; of work that of its call; 0: none */
	int64_t row;
	uint32_t process, thread; /* of the trace; 0: not known */
	uint32_t up;              /* item that it lies in, of work its call, + 1 */
	uint32_t number;      /* of ranges: their scope in the process; of others the reader's */
	uint8_t kind, source; /* source: the reader's */
	bool left_open;
};

struct assembly {
	struct assembly_item *items;
	uint32_t count, room;
	uint32_t *order;
	struct map calls;    /* process and key -> item + 1 */
	int64_t first, last; /* of the file, also where no item is: set by assembly_window() */
	int64_t shift; /* added to the file's times: none of the trace is before its first second */
	uint64_t twice; /* calls whose number another one of the process has: they have a new one */
	uint64_t unplaced; /* work whose process is not known: of the first */
	bool any;
	/* The reader's, or NULL: records that are lost while all are handed on become the trace's. */
	const struct unplaced *left_out;
	struct assembly_item none; /* where there is no memory for one */
	bool failed;               /* there was none */
};

void assembly_release(struct assembly *a);

/* A time that can be one: sums of two are no overflow. */
static inline bool assembly_is_time(int64_t t)
{
	return t > -(INT64_C(1) << 61) && t < INT64_C(1) << 61;
}

/*
 * A time of a row, which is `there` or not: false, and told as a row that is lost, where it cannot be one. Of two the
 * second is the first where it comes before that, which is told.
 */
bool assembly_time(struct unplaced *u, bool there, const int64_t *t);
void assembly_order_times(struct unplaced *u, int64_t times[2]);

/* The file says that it was recorded then. */
void assembly_window(struct assembly *a, int64_t start, int64_t end);

/* One more, with these. Without memory for it assembly_order() fails; it is never NULL. */
struct assembly_item *assembly_add(struct assembly *a, enum assembly_kind kind, uint32_t source,
				   int64_t row, const int64_t times[2]);

/* Ties, nests and sorts. Items of no process get the first one. False: no memory. */
bool assembly_order(struct assembly *a, struct trace *t);

/* The call that work is of; NULL: it is not there. */
const struct assembly_item *assembly_call(const struct assembly *a, const struct assembly_item *i);

/* What all records have but their op: of work where its call stands. */
struct rec assembly_base(const struct assembly *a, const struct assembly_item *i);

/* Of device work: taken as queued when its call began. */
struct rec_device assembly_device(const struct assembly *a, const struct assembly_item *i);

/* The record of an item. */
typedef kymo_status_t (*assembly_take)(void *data, struct stream_sink *sink,
				       const struct assembly_item *i);

/* Begins, hands all on in order, ends; the trace is complete. `progress` may be NULL. */
kymo_status_t assembly_hand_on(const struct assembly *a, struct trace *t, struct stream_sink *sink,
			       assembly_take take, void *data,
			       void (*progress)(void *data, double done), void *progress_data);

#endif
