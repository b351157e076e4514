/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps and polls (domain "wait") by their place: how long, of how long at most as was asked, and how they ended. Memory is
 * proportional to places, and to kinds of descriptors at one.
 */
#ifndef ANALYSIS_WAIT_USE_H
#define ANALYSIS_WAIT_USE_H

#include "base/map.h"
#include "stream/stream.h"

struct wait_use_row {
	uint32_t op, site;
	const char *kinds; /* of descriptors, the trace's; "" of none, or not known */
	uint64_t calls, ns, longest_ns;
	uint64_t limited, asked_ns; /* calls with a limit, and these limits' sum */
	uint64_t timed_out;         /* the whole time that was asked for has passed */
	uint64_t interrupted;       /* by a signal's handler, or failed */
};

struct wait_use {
	const struct trace *trace;
	uint8_t *op_is;
	struct wait_use_row *rows;
	uint32_t rows_count, rows_room;
	struct map places; /* by hash: number from 1 */
	bool failed;       /* no memory */
};

/* Its calls are looked at. */
bool wait_use_op(const struct trace *t, const struct t_op *op);
/* "sleep", "poll", "signal", "process", "lock", "yield": what a call of this name waits for. */
const char *wait_use_kind(const char *op);

struct wait_use *wait_use_new(const struct trace *t);
void wait_use_free(struct wait_use *u);
void wait_use_call_wanted(struct wait_use *u, const struct rec *r);

static inline void wait_use_call(struct wait_use *u, const struct rec *r)
{
	if (u->op_is[r->op])
		wait_use_call_wanted(u, r);
}

#endif
