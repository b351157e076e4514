/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a device as points of its roofline, and the measured roofs of that device. */
#ifndef METRICS_ROOFLINE_H
#define METRICS_ROOFLINE_H

#include "metrics/evaluate.h"
#include "roofs/roofline.h"

struct kernel_points {
	struct roofline_point *at; /* names are those of the data */
	unsigned count;
	struct text why;  /* there is none */
	struct text none; /* kernels that did no operation, which have no place there */
};

/* Of all kernels on the device, the one with most time first. False: no memory. Release `out` in any case. */
bool kernel_points_make(struct kernel_points *out, const struct metric_set *set,
			const struct metric_specs *specs, const struct kernel_data *data,
			const struct kernel_device *d);
void kernel_points_release(struct kernel_points *p);

/* Those among `list`, or (NULL) in this user's cache. False: `why` says what to do. */
bool kernel_roofs_find(struct store *s, const struct kernel_device *d,
		       const struct roofs_list *list, struct roofs *out, char why[ROOF_WHY]);

#endif
