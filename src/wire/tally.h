/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies of calls: what is kept instead of records in mode "summary". A chunk of type
 * WIRE_CHUNK_TALLY holds struct wire_tally entries of one thread after its header; it is updated in
 * place, so the drain takes it when the thread or the process has ended, however that came.
 *
 * In a rank of a job that will add up its ranks' tallies (wire/job_tally.h) activities are counted
 * as well: then struct wire_work follows the entry.
 */
#ifndef WIRE_TALLY_H
#define WIRE_TALLY_H

#include <stdint.h>

#include "wire/wire.h"

#define WIRE_TALLY_SUB     16u /* buckets of a power of two: a bucket is 1/16 wide */
#define WIRE_TALLY_OCTAVES 40u
#define WIRE_TALLY_BUCKETS (WIRE_TALLY_SUB * WIRE_TALLY_OCTAVES)

/* Keys of each: enum wire_tally_key of record/fields.h (model/tallies.rec). */
enum wire_tally_kind {
	WIRE_TALLY_CALL = 0,
	WIRE_TALLY_OTHER, /* activities that have no kind of their own */
	WIRE_TALLY_DISPATCH,
	WIRE_TALLY_COPY,
	WIRE_TALLY_ALLOCATION,
	WIRE_TALLY_SYNC,
	WIRE_TALLY_COMM,
	WIRE_TALLY_MARKER,
	WIRE_TALLY_POOL, /* of a job: bytes in use by agent and kind */
	WIRE_TALLY_KINDS
};

enum {
	WIRE_TALLY_WORK = 1,   /* struct wire_work follows */
	WIRE_TALLY_BESIDE = 4, /* calls of an op that is recorded: of those which were not */
	WIRE_TALLY_GIVEN = 2   /* not a tally: how much of one is in the job's; see DEF_JOB_GIVEN */
};

#define WIRE_WORK_KEYS 4

/* Times of device work are nanoseconds of the device's clock, all others ticks. */
struct wire_work {
	uint32_t kind;                /* enum wire_tally_kind */
	uint32_t thread;              /* of what is given: whose tally it is; else 0 */
	uint32_t key[WIRE_WORK_KEYS]; /* ids of definitions, by kind */
	uint64_t bytes, received;
	uint64_t wait; /* between queued and start, summed */
	uint64_t untimed, untimed_bytes;
	uint64_t frees, freed;
	uint64_t peak; /* bytes that the process had of this agent and kind, at most */
};

struct wire_tally {
	uint32_t op;    /* on the wire */
	uint32_t flags; /* WIRE_TALLY_* */
	uint64_t count;
	uint64_t errors;
	uint64_t total; /* ticks, calls inside included */
	uint64_t self;  /* ticks, traced calls inside excluded */
	uint64_t min, max;
	uint32_t histogram[WIRE_TALLY_BUCKETS]; /* of durations, see wire_tally_bucket() */
};

static inline uint32_t wire_tally_bytes(bool work)
{
	return (uint32_t)(sizeof(struct wire_tally) + (work ? sizeof(struct wire_work) : 0));
}

static inline uint32_t wire_tally_size(const struct wire_tally *y)
{
	return wire_tally_bytes(y->flags & WIRE_TALLY_WORK);
}

/* Values below 16 have a bucket each; above, each power of two has 16. The last one is open. */
static inline uint32_t wire_tally_bucket(uint64_t v)
{
	unsigned e;
	uint32_t b;

	if (v < WIRE_TALLY_SUB)
		return (uint32_t)v;
	e = 63u - (unsigned)__builtin_clzll(v);
	b = (e - 3u) * WIRE_TALLY_SUB + ((uint32_t)(v >> (e - 4u)) & (WIRE_TALLY_SUB - 1));
	return b < WIRE_TALLY_BUCKETS ? b : WIRE_TALLY_BUCKETS - 1;
}

/* `n` ticks of so many ns; what is more than can be said is the most. */
static inline uint64_t wire_tally_ns(uint64_t n, double ns_per_tick)
{
	double ns = (double)n * ns_per_tick;

	return ns < 0x1p64 ? (uint64_t)ns : UINT64_MAX;
}

/* Middle of a bucket. */
static inline uint64_t wire_tally_middle(uint32_t b)
{
	unsigned e;

	if (b < WIRE_TALLY_SUB)
		return b;
	e = b / WIRE_TALLY_SUB + 3u;
	return (1ull << e) + ((uint64_t)(b % WIRE_TALLY_SUB) << (e - 4u)) + (1ull << (e - 4u)) / 2;
}

#endif
