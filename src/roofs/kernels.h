/* SPDX-License-Identifier: Apache-2.0 */
/* The microkernels as source, and what of each is known beforehand: bytes, operations, results. */
#ifndef ROOFS_KERNELS_H
#define ROOFS_KERNELS_H

#include "roofs/runner.h"

enum kernel_kind {
	KERNEL_COPY, /* every group copies n vectors of its own from `a` to `b`, then back, and so on */
	KERNEL_STREAM, /* the same of four vectors at a time, once */
	KERNEL_READ,   /* every group sums n vectors of `a`, the same in each pass */
	KERNEL_READ_OTHERS, /* in each pass those that another group had in the last: no cache of its own helps */
	KERNEL_LOCAL, /* KERNEL_COPY in local memory */
	KERNEL_FMA,   /* x = x * m + c, of m = a[0] and c = a[1]; chains begin a[2] apart */
	KERNEL_EMPTY
};

struct kernel_shape {
	uint8_t kind;      /* enum kernel_kind */
	uint8_t type;      /* enum runner_type of KERNEL_FMA; the others move doubles */
	uint8_t width;     /* elements of a vector */
	uint8_t chains;    /* of KERNEL_FMA: vectors that a work item computes with at a time */
	uint32_t elements; /* of KERNEL_LOCAL: vectors of each of its two arrays */
};

/* KERNEL_STREAM and those that read take four vectors of a work item at a time: n is a multiple of so many times `items`. */
enum {
	KERNEL_FOUR = 4,
	KERNEL_UNROLL = 4, /* steps of each chain in a pass */
	KERNEL_FACTORS = 3 /* elements of `a` that KERNEL_FMA takes */
};

void kernel_source(const struct kernel_shape *s, enum runner_language language, struct text *out);

/* Bytes that it moves, operations that it does, in closed form. */
double kernel_bytes(const struct kernel_shape *s, const struct runner_launch *l);
double kernel_operations(const struct kernel_shape *s, const struct runner_launch *l);

unsigned kernel_element_bytes(enum runner_type type);
const char *kernel_type_name(enum runner_type type); /* "fp64" */

/* Passes up to which results are exact. */
uint32_t kernel_passes_most(const struct kernel_shape *s, uint64_t n);

/*
 * Before a launch that is to be checked `a` is all ones, but for KERNEL_FMA what kernel_factors() says. After it, of an
 * odd number of passes, the first kernel_results() elements of `b` are what kernel_result() says.
 */
void kernel_factors(const struct kernel_shape *s, void *out); /* KERNEL_FACTORS elements */
/* What element `index` of `b` is to be. */
double kernel_result(const struct kernel_shape *s, const struct runner_launch *l, uint64_t index);
uint64_t kernel_results(const struct kernel_shape *s, const struct runner_launch *l);
/* Element `index` of what `b` holds, as a number. */
double kernel_element(const struct kernel_shape *s, const void *b, uint64_t index);

#endif
