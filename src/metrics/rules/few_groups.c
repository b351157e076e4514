/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with fewer groups than the device has units. */
#include <math.h>

#include "metrics/findings.h"

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double groups = kernel_metric(f, g, "7.1.11"), units = kernel_metric(f, g, "1.1.1");

	if (!(groups < 1))
		return;
	kernel_finding_add(f, g,
			   "small grid: %.6g groups for %.0f units leave %.1f %% of them empty",
			   groups * units, units, 100 * (1 - groups));
	kernel_finding_bound(f,
			     fmax(100 * kernel_metric_least(f, g, "7.1.11"),
				  fmax(kernel_metric(f, g, "2.1.1"), kernel_metric(f, g, "2.1.2"))),
			     "on all units, if the time of one goes with its work");
}

const struct kernel_rule kernel_rule_few_groups = {
	.rule = {.id = "few-groups",
		 .what = "kernels have fewer groups than the device has units",
		 .why = "a unit without a group does nothing",
		 .cost = "at most units / groups (7.1.11) times as fast, and 100 / 2.1.1, 100 / "
			 "2.1.2, where these are known"},
	.panel = "7.1",
	.advice = "use more and smaller groups, or run several such kernels at once",
	.find = find,
};
