/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose pipes are busier than caches and memory. */
#include <math.h>

#include "metrics/findings.h"

#define LEAST 60 /* per cent of the peak */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double memory = kernel_metric(f, g, "2.1.2"), compute = kernel_metric(f, g, "2.1.1");

	if (!(compute >= LEAST && compute > memory))
		return;
	kernel_finding_add(
		f, g, "compute bound: a pipe at %.1f %% of its peak, memory and caches at %.1f %%",
		compute, memory);
	kernel_finding_bound(f, compute, "if it computes as much");
	kernel_finding_bound(f, memory, "if it computes less and moves as much");
}

const struct kernel_rule kernel_rule_compute_bound = {
	.rule = {.id = "compute-bound",
		 .what = "a pipe of the units is busier than caches and memory",
		 .why = "at 60 % of a peak little is left for what the kernel could do besides",
		 .cost = "at most 100 / compute throughput (2.1.1) times as fast with the same "
			 "arithmetic, 100 / memory throughput (2.1.2) with less"},
	.panel = "11",
	.advice = "do less arithmetic, or on other pipes: fused multiply-add, smaller types, "
		  "matrix instructions, fast functions",
	.find = find,
};
