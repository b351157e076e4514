/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for which neither computing nor memory is busy: waves wait for each other's results. */
#include <math.h>

#include "metrics/findings.h"

#define BUSY 60 /* per cent of the peak, from which one of them is a bound of its own */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double memory = kernel_metric(f, g, "2.1.2"), compute = kernel_metric(f, g, "2.1.1");

	if (!(memory < BUSY && compute < BUSY))
		return;
	kernel_finding_add(
		f, g,
		"latency bound: computing at %.1f %%, memory and caches at %.1f %% of their peak",
		compute, memory);
	kernel_finding_bound(f, fmax(memory, compute), "with the same work");
}

const struct kernel_rule kernel_rule_latency_bound = {
	.rule = {.id = "latency-bound",
		 .what = "neither computing nor memory is busy",
		 .why = "below 60 % of both peaks time goes into waiting",
		 .cost = "at most 100 / the larger of 2.1.1 and 2.1.2 times as fast with the "
			 "same work: then that is at its peak"},
	.panel = "7.2",
	.advice = "give units more to do at once: more groups, more waves of a unit, more "
		  "independent work in each work item; panel 21 shows what waves wait for",
	.find = find,
};
