/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of a kind was in use over the run. Private to the summary. */
#ifndef ANALYSIS_MEMORY_CURVE_H
#define ANALYSIS_MEMORY_CURVE_H

#include "analysis/curve.h"
#include "analysis/timeline.h"

/* Of a process, on a device, of a kind: the most bytes in use at a time in each part. */
struct memory_curve {
	uint32_t process, agent, kind;
	uint64_t at[CURVE_PARTS], peak;
};

struct memory_curves {
	struct memory_curve *list;
	uint32_t count;
};

/* To be released; false: no memory. */
bool memory_curves_find(struct memory_curves *all, const struct timeline *tl);
void memory_curves_release(struct memory_curves *all);

/* NULL: nothing is known of it. */
const struct memory_curve *memory_curves_of(const struct memory_curves *all, uint32_t process,
					    uint32_t agent, uint32_t kind);

#endif
