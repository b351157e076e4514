/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline of `kymo kernels --roofline`: kernels of a trace below the roofs of their device. */
#ifndef CLI_KERNELS_ROOFLINE_H
#define CLI_KERNELS_ROOFLINE_H

#include "cli/roofline_plot.h"
#include "formats/format.h"
#include "metrics/evaluate.h"

struct store;

struct kernels_roofline {
	const struct metric_set *set;
	const struct metric_specs *specs;
	const struct kernel_data *data;
	struct store *store;
	const char *roofs; /* file; NULL: what this user's cache has */
	struct roofline_plot plot;
};

/* Of the device whose kernels took most time. The exit status. */
int kernels_roofline(const struct kernels_roofline *k);

#endif
