/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices wait for each other in collectives (NCCL, RCCL). Such a kernel runs, and computes nothing, until those of
 * all ranks do: the shortest is that of the last to come, and what the others take longer they wait. No clocks have to
 * agree for that.
 *
 * The n-th collective of a communicator is one in all its ranks; what one call launches (a group) is one.
 */
#ifndef ANALYSIS_COLLECTIVES_H
#define ANALYSIS_COLLECTIVES_H

#include "analysis/timeline.h"

/* What a collective had a device do. */
struct collective_part {
	uint64_t key, ns; /* key: of the communicator */
	uint32_t number;  /* among those of the communicator */
	uint32_t size, device;
	uint32_t work; /* the first kernel: index of timeline.work */
};

struct collective_wait {
	int64_t start, end;
	uint32_t circle, cause, device, work; /* cause: the device that came last */
	bool first;                           /* of those in one collective */
};

/* Devices that meet, in one communicator or several. */
struct collective_circle {
	uint32_t first, size; /* its devices: parts[first ...] */
	uint32_t meetings;
	uint32_t first_wait, waits; /* waits[first_wait ...], by cause, device, start */
	int64_t start, end;
};

struct collective_member {
	uint32_t device, last; /* so many collectives waited for it */
	uint64_t spins;        /* ns that its kernels waited, */
	uint64_t waits;        /* beside no other kernel, */
	uint64_t computing;    /* and that others ran, until the last meeting */
	uint64_t charged;      /* that others waited for it, beside no other kernel */
};

struct collectives {
	const struct timeline *tl;
	struct collective_part *parts; /* by communicator, number, device */
	struct collective_wait *waits;
	struct collective_circle *circles;
	struct launch *launches; /* by call */
	struct map circle_of;    /* by hash of its devices */
	uint32_t launches_count, launches_room, parts_count, parts_room, waits_count, waits_room;
	uint32_t circles_count, circles_room;
	bool failed;
};

/* Everything. False: no memory. */
bool collectives_find(struct collectives *s, const struct timeline *tl);
void collectives_release(struct collectives *s);

/* The members of a circle, by device, and what they wait. NULL: no memory. */
struct collective_member *collectives_members(const struct collectives *s,
					      const struct collective_circle *c);

/* ns of kernels that communicate and are in no collective that is known in all ranks. */
uint64_t collectives_unmatched(const struct collectives *s);

/* Ranks that are in the trace of the communicator that lacks most; 0: none lacks any. False: no memory. */
bool collectives_missing(const struct trace *t, uint32_t *there, uint32_t *of);

#endif
