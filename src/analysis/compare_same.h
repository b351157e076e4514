/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be the same for a difference to mean something: machine, devices, command, what is recorded;
 * and what of a run is not there.
 */
#ifndef ANALYSIS_COMPARE_SAME_H
#define ANALYSIS_COMPARE_SAME_H

#include "analysis/compare.h"

/* From a trace that has been read. `in_band`: records that were lost between others. */
void compare_same_read(struct compare *c, struct compare_run *run, const struct trace *t,
		       uint64_t in_band);

/* Lines of the head: the sides, and what they do not have in common. */
void compare_same_head(struct report *r, const struct compare *c);

/* Lines of the foot: what was lost, and in which order the runs were. */
void compare_same_foot(struct report *r, const struct compare *c);

#endif
