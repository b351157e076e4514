/* SPDX-License-Identifier: Apache-2.0 */
/* Waves of which many work items are idle, as they have parted or ended. */
#include <math.h>

#include "metrics/findings.h"

#define ACTIVE 75 /* per cent of a wave */
#define BUSY                                                                                       \
	60 /* per cent of the slots of instructions, from which fewer of these are what helps */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double items = kernel_metric(f, g, "11.1.8"), wave = kernel_metric(f, g, "1.1.2");
	double share = 100 * items / wave, issue = kernel_metric(f, g, "11.1.11");

	if (!(share < ACTIVE))
		return;
	kernel_finding_add(f, g,
			   "divergence: %.1f of %.0f work items of a wave are active on average",
			   items, wave);
	if (issue >= BUSY)
		kernel_finding_bound(f, share / 100 * issue,
				     "with full waves, if work items execute as many instructions");
}

const struct kernel_rule kernel_rule_divergence = {
	.rule = {.id = "divergence",
		 .what = "work items of a wave go different ways, or are idle",
		 .why = "with a quarter of them idle, a third more instructions are issued",
		 .cost = "at most 1 / (share of active work items (11.1.8) x share of the slots of "
			 "instructions (11.1.11)) times as fast, where these are at 60 % or more"},
	.panel = "11",
	.advice = "let neighbouring work items take the same way: sort what they work on, make "
		  "groups multiples of the wave, replace branches by selections",
	.find = find,
};
