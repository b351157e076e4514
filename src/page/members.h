/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that a page does not draw, as those of its clusters: of each a strip of what its threads do over time,
 * and one of its devices. Strips are levels of one width (level.h) without slices behind them, so that 10,000 processes
 * take little room, and are seen when their cluster is unfolded.
 */
#ifndef PAGE_MEMBERS_H
#define PAGE_MEMBERS_H

#include <stdio.h>

#include "page/clusters.h"
#include "page/rows.h"
#include "page/section.h"

enum member_part { MEMBER_HOST, MEMBER_DEVICE, MEMBER_PARTS };

enum {
	MEMBERS_SECTION = 64, /* processes of which the strips are in one section */
	MEMBER_NAMES = 16     /* whose time in a bin is added up at once */
};

struct member_bin {
	uint64_t busy, most; /* ns; most: of `op` */
	uint32_t op, starts;
};

struct member_strip {
	uint64_t records, busy;
	struct member_bin *bins;
	struct member_use { /* the last names and the bins that they are in */
		uint64_t ns;
		uint32_t bin, op;
	} use[MEMBER_NAMES];
	uint32_t next; /* in `use` */
};

struct members {
	const struct trace *t;
	const struct clusters *clusters;
	uint32_t *number; /* by process: place in `strips` / MEMBER_PARTS + 1; 0: it is drawn */
	int64_t *open;    /* by thread: end of the last outermost interval */
	unsigned shift;   /* a bin is 2^shift ns */
	uint32_t bins;    /* of a strip */
	struct member_strip *strips;
	struct member_bin *all;
	uint32_t count; /* processes */
	uint32_t *sections, section_count;
};

/* Of those that `clusters` does not draw. False: no memory. To be released in any case. */
bool members_init(struct members *m, const struct trace *t, const struct clusters *c);
void members_release(struct members *m);

/*
 * One interval more of a process that is not drawn. Those of a thread come in order of their begins; those in others are
 * counted, and add no time. `thread` 0: of no thread, or of a device. `state`: it is no work.
 */
void members_add(struct members *m, uint32_t process, enum member_part part, uint32_t thread,
		 const struct page_slice *s, bool state);

/* Puts the strips into sections. */
kymo_status_t members_encode(struct members *m, struct sections *s);

/* What the head of a page says of them. `tracks`: of a process the number of its track + 1. */
void members_put(FILE *out, const struct members *m, const uint32_t *tracks);

#endif
