/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured of a device: a row for each roof, with its kernel, sizes and groups. */
#ifndef ROOFS_PLAN_H
#define ROOFS_PLAN_H

#include "roofs/estimate.h"
#include "roofs/kernels.h"

enum row_what { ROW_KERNEL, ROW_LAUNCH, ROW_LAUNCHES, ROW_TRANSFER };

struct row {
	struct roof roof; /* `why` is set: it cannot be measured */
	uint8_t what;     /* enum row_what */
	struct kernel_shape shape;
	struct runner_launch launch;
	uint64_t buffer; /* bytes that it takes of each buffer */
	bool one_pass; /* more would find in caches what the first one left there, or do nothing */
	bool to_device, pinned;
	void *host;     /* memory of a transfer */
	double *values; /* of experiments, of all rounds */
	uint32_t count;
};

struct plan {
	struct row rows[ROOFS_MOST];
	unsigned count;
	uint64_t buffer; /* the most bytes that a row takes */
};

enum {
	PLAN_IN_A_ROW = 100,   /* launches of ROW_LAUNCHES */
	PLAN_EXPERIMENTS = 400 /* of a row, at most */
};

/* Fills in the caches of processors first, from what the machine tells. */
void plan_make(struct plan *p, struct runner *r, bool quick);

#endif
