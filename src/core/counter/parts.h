/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rewritten program counts, as records: places of its blocks and of what they do, which are defined when their function has run for
 * the first time, and counts of launches. A launch at a time: the gate lets no other through.
 */
#ifndef CORE_COUNTER_PARTS_H
#define CORE_COUNTER_PARTS_H

#include "core/counter/accesses.h"
#include "core/counter/lines.h"
#include "core/counter/rewritten.h"

struct cap_parts {
	struct cap_rewritten rewritten;
	bool branches; /* it is counted where they are decided */
	bool copies; /* the launch that was written last has copied as a group, of which there are no records */
	/* Ids of the places of blocks, and of what they do; of functions that nothing ran of yet 0. */
	uint32_t *blocks, *parts;
};

/* Once `rewritten` is there. False: no memory. */
bool cap_parts_make(struct cap_parts *t);
void cap_parts_release(struct cap_parts *t);

/* A launch has run, its blocks so often; of `out` blocks, counts and totals are filled here. */
void cap_parts_write(struct cap_parts *t, struct cap_line_counts *out, const uint64_t *sums,
		     uint32_t program);

/* What records are of, by the numbers that they have: accesses, blocks, the end of the kernel, marks of regions. */
struct cap_sites {
	kymo_handler_site_t *at; /* to be freed */
	uint32_t count, accesses, blocks;
};
/* False: no memory. */
bool cap_parts_sites(const struct cap_parts *t, struct cap_sites *out);

#endif
