/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with fewer groups than the device has units. */
#include <math.h>

#include "metrics/findings.h"

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double groups = kernel_metric(f, g, "7.1.11"), units = kernel_metric(f, g, "1.1.1");

	if (groups < 1)
		kernel_finding_add(f, g,
				   "small grid: %.6g groups for %.0f units leave %.1f %% of them "
				   "empty",
				   groups * units, units, 100 * (1 - groups));
}

const struct kernel_rule kernel_rule_few_groups = {
	.rule = {.id = "few-groups",
		 .what = "kernels have fewer groups than the device has units",
		 .why = "a unit without a group does nothing",
		 .cost = "none is told: it is of a kernel by itself"},
	.panel = "7.1",
	.advice = "use more and smaller groups, or run several such kernels at once",
	.find = find,
};
