/* SPDX-License-Identifier: Apache-2.0 */
/* Devices have long names: people read each once, and then a number. */
#ifndef ANALYSIS_DEVICE_LEGEND_H
#define ANALYSIS_DEVICE_LEGEND_H

#include "analysis/summary.h"

/*
 * Names the devices that tables have in a line of the foot, "Devices: D0 is NVIDIA H200 #0", and puts "D0" into
 * the tables: the numbers of the digest. False: no memory.
 */
bool device_legend(struct report *r, const struct summary *s, unsigned count);

#endif
