/* SPDX-License-Identifier: Apache-2.0 */
/* The gaps in the work of a device, and what the host did meanwhile: what rules about idle devices look at. */
#ifndef ANALYSIS_GAPS_H
#define ANALYSIS_GAPS_H

#include "analysis/diagnose.h"

/* Of device `device` of the timeline, in order. False: no memory. */
bool gaps_find(struct gaps *gaps, const struct timeline *tl, uint32_t device);

#endif
