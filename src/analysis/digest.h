/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that a summary begins with: what a person reads in ten seconds. Private to the summary. */
#ifndef ANALYSIS_DIGEST_H
#define ANALYSIS_DIGEST_H

#include "analysis/diagnose.h"
#include "analysis/summary_parts.h"

enum {
	DIGEST_LINES = 24, /* at most, with those of the head above them */
	DIGEST_WIDTH = 80
};

/*
 * Adds the digest of one trace to the head of the report: what bounds the run, its devices and hosts, the
 * kernels and calls that matter, the findings with the most to win, one line of loss, clocks and overhead.
 * For programs the same is in tables (`digest`, `devices`, `hosts`, `findings`). False: no memory.
 */
bool summary_digest(struct report *r, const struct summary *s);

/* Tables of the diagnosed run: times without device work (if they are asked for); how busy devices were when. */
bool summary_gaps(struct report *r, const struct diagnosis *d);
bool summary_device_use(struct report *r, const struct diagnosis *d);

/* How much of the time of messages ranks computed beside them. */
bool summary_overlap(struct report *r, const struct summary *s);

/* The table of OpenMP's regions, of a run that was diagnosed; false: no memory. */
bool summary_regions(struct report *r, struct diagnosis *d);

#endif
