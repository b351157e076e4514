/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a multiprocessor the blocks of a kernel can fill, as CUDA's own reckoning has it (CUDA C++ programming
 * guide, "Hardware Implementation" and "Compute Capabilities"): by warps, blocks, registers and shared memory.
 * Clusters are not looked at.
 */
#ifndef FORMATS_XSPACE_OCCUPANCY_H
#define FORMATS_XSPACE_OCCUPANCY_H

#include "stream/stream.h"

/* Of a device; what is not known is 0. */
struct limits {
	uint64_t multiprocessors, warp, warps, blocks, shared, registers, threads;
	unsigned major, minor;
};

/* A number among the agent's properties, by its name with quotes and colon; 0: it is not there. */
uint64_t limits_told(const struct t_agent *a, const char *name);
bool limits_capability(const struct t_agent *a, unsigned *major, unsigned *minor);
void limits_read(struct limits *l, const struct t_agent *a);

struct occupancy {
	double percent; /* of the threads that a multiprocessor holds */
	int64_t block;  /* the largest size of block that fills the most of it ... */
	int64_t blocks; /* ... and how many such blocks fill the device */
};

/* The last one: kernels come in loops. */
struct occupancy_memo {
	const struct limits *limits;
	uint64_t threads, registers, shared;
	struct occupancy last;
};

/* False: a number that it follows from is not known. */
bool occupancy_of(struct occupancy_memo *memo, const struct limits *l, const struct rec_dispatch *r,
		  struct occupancy *out);

#endif
