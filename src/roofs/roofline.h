/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A roofline: kernels by what they compute for each byte (FLOP/byte) and how fast (FLOP/s), below what the device attains.
 * Here is what the picture (page/plot_roofline.h) and the plot of a terminal share.
 */
#ifndef ROOFS_ROOFLINE_H
#define ROOFS_ROOFLINE_H

#include "roofs/roofs.h"

/* A kernel at one level of memory. Points of one kernel have the same `kernel` and stand next to each other. */
struct roofline_point {
	const char *kernel; /* borrowed, as is */
	const char *level;  /* name of a roof of bandwidth: "memory", "l3", "l2", "l1", "local" */
	double intensity;   /* operations for each byte that it moves there */
	double rate;        /* operations a second */
	double share;       /* of the time of all kernels, 0 to 1; NAN: not known */
};

enum { ROOFLINE_LINES = 16, ROOFLINE_KERNELS = 10 };

struct roofline {
	const struct roofs *roofs;
	const struct roofline_point
		*points; /* those that can be shown: of ROOFLINE_KERNELS kernels */
	unsigned points_count;
	unsigned
		left_out; /* points without numbers above 0, which logarithms need, and of more kernels */
	/* The best of each name or type: slanted ones by bandwidth, flat ones by rate, the highest first. */
	const struct roof *slanted[ROOFLINE_LINES], *flat[ROOFLINE_LINES];
	unsigned slanted_count, flat_count;
	double x0, x1, y0, y1;      /* of the axes: powers of ten */
	struct roofline_point *own; /* roofline_release() */
	uint8_t *number;            /* of the kernel of each point, from 0 */
	unsigned kernels;
};

/* False: no memory, or no roof was measured (`why`). */
bool roofline_make(struct roofline *l, const struct roofs *roofs,
		   const struct roofline_point *points, unsigned count, char why[ROOF_WHY]);
void roofline_release(struct roofline *l);

/* Where a slanted roof meets the highest flat one, or the end of the axis; what it is at the left end. */
double roofline_ridge(const struct roofline *l, const struct roof *slanted);

/* How far a point is below the roof of its level and the highest flat one: 1 is on it; NAN: its level has no roof. */
double roofline_attained(const struct roofline *l, const struct roofline_point *p);

/* What is to be said of it: roofs measured beside other work, kernels above their roof. Empty: nothing. */
void roofline_notes(const struct roofline *l, struct text *out);

/* Lines for a terminal, no more than `columns` (100 at most) by 24, and notes. */
void roofline_text(const struct roofline *l, unsigned columns, bool utf8, struct text *out);

#endif
