/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of work-items, looked at as a device would make them that runs work-items in lockstep: the n-th execution of
 * a place in the source by neighbouring work-items is one access of a warp, whatever order a processor ran them in.
 * What follows from that is counted by place: lines that warps needed and used, bank conflicts, lanes that were
 * missing. It is a model; the numbers of the device it stands for are its profile's.
 */
#ifndef LANES_LANES_H
#define LANES_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/handler.h>

#define LANES_WARP_MAX  64u
#define LANES_BANKS_MAX 256u
#define LANES_TEXT      128u

/* Of devices with warps of so many lanes (32, 64); NULL: none is known. */
const kymo_lanes_profile_t *lanes_profile_of(uint32_t warp);
/* Those that are known, by number from 0; NULL behind the last. */
const kymo_lanes_profile_t *lanes_profile_at(uint32_t i);

/*
 * From lines KEY = VALUE (ends of lines may be ';'), '#' begins a comment: each of warp, line, bank, banks and together, once.
 * False: `why` says what is wrong, and in which line.
 */
bool lanes_profile_parse(const char *text, kymo_lanes_profile_t *out, char *why, size_t size);
/* As such lines, with `equals` between key and value, and `end` behind each. */
void lanes_profile_text(const kymo_lanes_profile_t *p, const char *equals, const char *end,
			char out[LANES_TEXT]);

enum lanes_space { LANES_OTHER, LANES_GLOBAL, LANES_LOCAL };

/* A place in the source. */
struct lanes_site {
	enum lanes_space space;
	uint32_t bytes; /* of one access of a lane */
};

/* What came of a place; sums over all accesses. */
struct lanes_count {
	uint64_t accesses; /* of work-items */
	uint64_t warps;    /* accesses of warps: one or more of its lanes */
	uint64_t lanes;    /* that these warps have, those that did not take part among them */
	uint64_t needed;   /* lines, or rounds of local memory: as few as the bytes fill, by warp */
	uint64_t used;     /* that it took */
	uint64_t
		misaligned; /* accesses whose address is no multiple of the largest power of two in their size */
};

struct lanes;

/*
 * Of one launch with groups of `group` items. `sites` is indexed by lanes_access.site, and is the caller's until
 * lanes_free(). NULL: no memory. A thread at a time.
 */
struct lanes *lanes_new(const kymo_lanes_profile_t *p, const struct lanes_site *sites,
			uint32_t site_count, uint32_t group);
void lanes_free(struct lanes *l);

/*
 * Takes all accesses of some groups: a group's come in one call, in any order. False: there is no memory, or they cannot
 * be what happened (no such site or item, one access twice); the counts are of no use then.
 */
bool lanes_take(struct lanes *l, const kymo_access_t *a, size_t count);

/* By site; site_count of them. */
const struct lanes_count *lanes_counts(const struct lanes *l);

#endif
