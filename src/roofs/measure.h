/* SPDX-License-Identifier: Apache-2.0 */
/* All roofs of one device, within a time. */
#ifndef ROOFS_MEASURE_H
#define ROOFS_MEASURE_H

#include "roofs/runner.h"

/* `why` of a roof that was not tried for want of time. */
#define MEASURE_NO_TIME "no time was left for it"

struct measure_limits {
	double seconds; /* no experiment begins later */
	unsigned rounds;
	bool quick;
	void (*progress)(void *data, double done); /* NULL: nobody looks */
	void *data;
};

/* The runner is opened, and closed for good. `out` is filled from the runner's device. What cannot be measured has the reason. */
void measure_device(struct runner *r, const struct measure_limits *limits, struct roofs *out);

#endif
