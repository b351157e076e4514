/* SPDX-License-Identifier: Apache-2.0 */
/* Units that hold few waves, and what of a group's size keeps others out. */
#include <math.h>

#include "metrics/findings.h"

#define LOW 50 /* per cent of the waves that a unit can hold */

/* The least number of groups by it is what limits. */
static const char *limit_of(struct kernel_findings *f, const struct kernel_group *g, double *groups)
{
	static const struct {
		const char *id, *name;
	} limits[] = {{"7.2.2", "registers"},
		      {"7.2.3", "shared memory"},
		      {"7.2.4", "the size of groups"},
		      {"7.2.5", "the number of groups"}};
	const char *name = NULL;

	for (unsigned i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		double n = kernel_metric(f, g, limits[i].id);

		if (isnan(n) || (name && n >= *groups))
			continue;
		name = limits[i].name;
		*groups = n;
	}
	return name;
}

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double occupancy = kernel_metric(f, g, "7.2.1"), groups = 0;
	const char *limit = occupancy < LOW ? limit_of(f, g, &groups) : NULL;

	if (limit)
		kernel_finding_add(f, g,
				   "occupancy can be %.1f %% at most: %s leave%s room for %g "
				   "group%s of a unit",
				   occupancy, limit, limit[0] == 'r' ? "" : "s", groups,
				   groups == 1 ? "" : "s");
}

const struct kernel_rule kernel_rule_low_occupancy = {
	.rule = {.id = "low-occupancy",
		 .what = "registers, shared memory or group size let a unit hold few waves",
		 .why = "half of the waves mostly hide latencies as well as all",
		 .cost = "none is told: more waves may hide more, or nothing"},
	.panel = "7.2",
	.advice = "use fewer registers (launch bounds), less shared memory, or groups of another "
		  "size",
	.find = find,
};
