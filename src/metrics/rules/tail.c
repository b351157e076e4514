/* SPDX-License-Identifier: Apache-2.0 */
/* The last round of groups leaves most of the device empty, and there are few rounds. */
#include <math.h>

#include "metrics/findings.h"

#define FILLED 80 /* per cent of the room in all rounds */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double filled = kernel_metric(f, g, "7.1.13"), rounds = kernel_metric(f, g, "7.1.12");

	if (!(rounds > 1 && filled < FILLED))
		return;
	kernel_finding_add(f, g,
			   "tail: %.2f rounds of groups fill %.1f %% of the room that %.0f have",
			   rounds, filled, ceil(rounds));
	kernel_finding_bound(f, kernel_metric_least(f, g, "7.1.13"),
			     "with full rounds, if groups take equally long");
}

const struct kernel_rule kernel_rule_tail = {
	.rule = {.id = "tail",
		 .what = "the last round of groups leaves most of the device empty",
		 .why = "a fifth of the time is lost where a fifth of the room is empty, if groups "
			"take equally long",
		 .cost = "at most 100 / share of the room that is filled (7.1.13) times as fast"},
	.panel = "7.1",
	.advice = "choose the number of groups so that rounds are full, or let groups go on to "
		  "more data",
	.find = find,
};
