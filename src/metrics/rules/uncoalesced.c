/* SPDX-License-Identifier: Apache-2.0 */
/* Loads that bring in more than work items use. */
#include <math.h>

#include "metrics/findings.h"

#define USED    50 /* per cent of what is brought in */
#define SECTORS 16 /* of a request: what 16 bytes of each work item take, side by side */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double used = kernel_metric(f, g, "16.1.5"), sectors = kernel_metric(f, g, "16.1.3");

	if (used < USED)
		kernel_finding_add(f, g,
				   "uncoalesced access: %.1f %% of what global loads bring in is "
				   "used",
				   used);
	else if (isnan(used) && sectors > SECTORS)
		kernel_finding_add(f, g,
				   "uncoalesced access: a global load takes %.1f sectors, where "
				   "16 bytes of each work item take 16",
				   sectors);
}

const struct kernel_rule kernel_rule_uncoalesced = {
	.rule = {.id = "uncoalesced",
		 .what = "global loads bring in more than is used",
		 .why = "below half, memory does twice the work",
		 .cost = "none is told: it is of a kernel by itself"},
	.panel = "16",
	.advice = "let neighbouring work items read neighbouring addresses: swap indexes, or go "
		  "through local memory",
	.find = find,
};
