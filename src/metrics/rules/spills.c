/* SPDX-License-Identifier: Apache-2.0 */
/* Registers that do not fit, and arrays of work items, which go through the caches. */
#include <math.h>

#include "metrics/findings.h"

#define LEAST 10 /* per cent of the sectors of the first cache, or of instructions */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double sectors = kernel_metric(f, g, "16.1.10"), share = kernel_metric(f, g, "10.3.7");

	if (sectors >= LEAST)
		kernel_finding_add(f, g,
				   "spills: %.1f %% of the sectors of L1 are of spilled registers "
				   "or of arrays of work items",
				   sectors);
	else if (share >= LEAST)
		kernel_finding_add(f, g,
				   "spills: %.1f %% of the instructions load and store spilled "
				   "registers or arrays of work items",
				   share);
	else
		return;
	kernel_finding_bound(f, (1 - share / 100) * kernel_metric(f, g, "11.1.11"),
			     "without, if all other instructions stay");
}

const struct kernel_rule kernel_rule_spills = {
	.rule = {.id = "spills",
		 .what = "registers do not suffice, or arrays of work items lie in memory",
		 .why = "below a tenth of the sectors and instructions nothing is won",
		 .cost = "at most 1 / (share of the other instructions (1 - 10.3.7) x share of the "
			 "slots of instructions (11.1.11)) times as fast"},
	.panel = "10.3",
	.advice = "allow more registers (launch bounds), keep less alive at once, index arrays by "
		  "constants (unrolled loops)",
	.find = find,
};
