/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process keeps up to date instead of writing it down again and again: work that its devices
 * have not finished, calls that are counted because they are not recorded, what recording costs. A
 * chunk of type WIRE_CHUNK_LIVE is an array of lines of 64 bytes from its header's end on, changed in
 * place while the process runs. So a flush shows the present state, and a crash the last one.
 *
 * A line belongs to one thread at a time, which writes `state` last and clears it first.
 */
#ifndef WIRE_LIVE_H
#define WIRE_LIVE_H

#include "wire/wire.h"

enum wire_line_kind {
	WIRE_LINE_NONE = 0,
	WIRE_LINE_FLIGHT = 1, /* work that was submitted and was not seen to finish */
	WIRE_LINE_COUNT = 2,  /* calls of an op by a thread that the mode leaves out */
	WIRE_LINE_COST = 3,   /* what recording takes from a thread, from samples */
	WIRE_LINE_BEYOND =
		4 /* how much work is under way that has no line (wire_count; thread 0) */
};

struct wire_flight {
	uint64_t call;   /* correlation id, or 0 */
	uint64_t submit; /* tick */
	uint64_t bytes;
	uint32_t agent, queue, kernel; /* ids of definitions */
	uint32_t thread;               /* index of the one that submitted it */
};

struct wire_count {
	uint64_t calls;
	uint32_t thread;
	uint32_t reserved;
};

/* Every sample stands for `weight` calls; the sums are weighted. */
struct wire_cost {
	uint64_t calls;   /* that the samples stand for */
	uint64_t ticks;   /* what they took */
	double squares;   /* of what each sample adds to `ticks` */
	uint32_t samples; /* that were taken */
	uint32_t
		refused; /* the thread was interrupted meanwhile; they count as the mean of the others */
	uint64_t refused_calls;
	uint32_t thread;
	uint32_t reserved;
};

/* What costs say of all calls, those of refused samples too, which count as the mean of the others. */
struct wire_cost_sum {
	double ticks, variance;
	uint64_t samples;
};

static inline void wire_cost_add(const struct wire_cost *c, struct wire_cost_sum *sum)
{
	double calls = (double)c->calls, mean = calls > 0 ? (double)c->ticks / calls : 0;

	if (!c->samples || !c->calls)
		return;
	sum->ticks += mean * (calls + (double)c->refused_calls);
	/* Of a sum of weighted samples: their squares, less what the mean explains. */
	if (c->samples > 1)
		sum->variance += c->squares - mean * (double)c->ticks;
	sum->samples += c->samples;
}

struct wire_line {
	uint16_t kind;          /* enum wire_line_kind */
	uint16_t op;            /* wire number: of the activity, of the calls counted */
	_Atomic uint32_t state; /* 0: nothing here; of work: wire_flight_check(); else 1 */
	union {
		struct wire_flight flight;
		struct wire_count count;
		struct wire_cost cost;
		uint64_t words[7];
	};
};
_Static_assert(sizeof(struct wire_line) == 64, "lines of a cache");

#define WIRE_LIVE_HEADER ((sizeof(struct wire_chunk) + 63) & ~(size_t)63)

/* Whoever reads a line while it is being changed sees that it does not fit. */
static inline uint32_t wire_flight_check(uint16_t op, const struct wire_flight *f)
{
	uint64_t x = f->call ^ f->submit * 3 ^ (uint64_t)f->kernel << 20 ^ (uint64_t)f->queue << 40;

	return ((uint32_t)(x ^ x >> 32) ^ op) | 1u;
}

#endif
