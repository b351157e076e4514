/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for which caches and memory are busier than the units that compute. */
#include <math.h>

#include "metrics/findings.h"

#define LEAST 60 /* per cent of the peak: what Nsight Compute takes for busy as well */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double memory = kernel_metric(f, g, "2.1.2"), compute = kernel_metric(f, g, "2.1.1");

	if (!(memory >= LEAST && memory >= compute))
		return;
	kernel_finding_add(f, g,
			   "memory bound: memory and caches at %.1f %% of their peak, computing at "
			   "%.1f %%",
			   memory, compute);
	kernel_finding_bound(f, memory, "if it moves as much");
	kernel_finding_bound(f, compute, "if it moves less and computes as much");
}

const struct kernel_rule kernel_rule_memory_bound = {
	.rule = {.id = "memory-bound",
		 .what = "caches or memory are busier than the units that compute",
		 .why = "at 60 % of a peak little is left for what the kernel could do besides",
		 .cost = "at most 100 / memory throughput (2.1.2) times as fast with the same "
			 "traffic, 100 / compute throughput (2.1.1) with less"},
	.panel = "30",
	.advice = "read and write less: keep data in registers or local memory, use smaller types, "
		  "fuse kernels that pass data on; panel 3 shows which level is busy",
	.find = find,
};
