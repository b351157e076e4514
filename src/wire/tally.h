/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies of calls: what is kept instead of records in mode "summary". A chunk of type
 * WIRE_CHUNK_TALLY holds struct wire_tally entries of one thread after its header; it is updated in
 * place, so the drain takes it when the thread or the process has ended, however that came.
 */
#ifndef WIRE_TALLY_H
#define WIRE_TALLY_H

#include <stdint.h>

#include "wire/wire.h"

#define WIRE_TALLY_SUB     16u /* buckets of a power of two: a bucket is 1/16 wide */
#define WIRE_TALLY_OCTAVES 40u
#define WIRE_TALLY_BUCKETS (WIRE_TALLY_SUB * WIRE_TALLY_OCTAVES)

struct wire_tally {
	uint32_t op; /* on the wire */
	uint32_t reserved;
	uint64_t count;
	uint64_t errors;
	uint64_t total; /* ticks, calls inside included */
	uint64_t self;  /* ticks, traced calls inside excluded */
	uint64_t min, max;
	uint32_t histogram[WIRE_TALLY_BUCKETS]; /* of durations, see wire_tally_bucket() */
};

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
