/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bounds a run, in one sentence. The run is divided, on the device that worked most, into kernels,
 * those that only communicate (communication.h), transfers beside no kernel, and the causes of idle time, which add up
 * to it; without devices, by what the threads did that communicate. What has half of the run, or clearly more than anything else, bounds it;
 * where the records do not tell, the sentence says so.
 */
#ifndef ANALYSIS_BOUND_H
#define ANALYSIS_BOUND_H

#include "analysis/idle.h"
#include "base/text.h"

enum bound_by {
	BOUND_UNKNOWN,
	BOUND_MIXED,
	BOUND_KERNELS,
	BOUND_TRANSFERS,
	BOUND_STARTUP,
	BOUND_HOST,
	BOUND_LAUNCHES,
	BOUND_BUILDS,
	BOUND_ALLOCATION,
	BOUND_WAITING,
	BOUND_COMMUNICATION,
	BOUND_ABSENT,
	BOUND_END
};

struct bound {
	enum bound_by by;
	double share; /* of the run */
	uint64_t ns;
	uint64_t
		set_up; /* ns of communication that are MPI_Init and MPI_Finalize; without devices */
	uint32_t device; /* of the timeline; TIMELINE_NONE: there is none */
};

/* "kernels", "start-up", ...: one word for programs */
const char *bound_name(enum bound_by by);

/* Parts of the run by which devices work most; `idle` has one for each device of the timeline. */
struct bound bound_find(const struct timeline *tl, const struct idle *idle);

/* The device that worked most, waiting for others in its kernels left out, or TIMELINE_NONE. */
uint32_t bound_device(const struct timeline *tl, const struct idle *idle);

/* The sentence; `more` says what else is large. */
void bound_tell(struct text *out, const struct bound *b, const struct timeline *tl,
		const struct idle *idle);

#endif
