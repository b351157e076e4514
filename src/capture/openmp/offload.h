/* SPDX-License-Identifier: Apache-2.0 */
/* What the preloaded library tells of target regions that OMPT does not. */
#ifndef CAPTURE_OPENMP_OFFLOAD_H
#define CAPTURE_OPENMP_OFFLOAD_H

#include <stdint.h>

/*
 * No device took the region at `code`, launched at the tick `since`: the host computes it. Passed over
 * when its own callbacks have said so.
 */
void kymo_offload_failed(int64_t device, const void *code, uint64_t since);

/*
 * Between these calls of one thread, code between `low` and `high` is not who launches regions: it is
 * the function between the program and libomptarget, which tells OMPT its own caller's address.
 */
struct offload_launch {
	const void *low, *high; /* of that function */
	const void *caller;     /* its own, in the program */
	const struct offload_launch *outer;
	uint64_t since; /* the tick of kymo_offload_begin() */
};
void kymo_offload_begin(struct offload_launch *l);
void kymo_offload_end(const struct offload_launch *l);

#endif
