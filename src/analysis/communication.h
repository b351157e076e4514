/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which work of devices is communication: kernels of libraries that send from device to device (NCCL, RCCL), by their
 * names or as a call of such a library launched them. They wait on the device for those of other ranks, with as few
 * blocks as the links need: what else is said of kernels, their length and grid, does not hold of them.
 */
#ifndef ANALYSIS_COMMUNICATION_H
#define ANALYSIS_COMMUNICATION_H

#include "analysis/timeline.h"

/* Marks calls, kernels and the times of devices of a timeline whose work knows its calls. False: no memory. */
bool communication_find(struct timeline *tl);

/* The outermost call of such a library that a call was made in, or it is; NULL: none. */
const struct tl_call *communication_call(const struct timeline *tl, const struct tl_call *c);

#endif
