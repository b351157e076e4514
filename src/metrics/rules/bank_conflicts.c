/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of local memory that ask one bank for several words. */
#include <math.h>

#include "metrics/findings.h"

#define LEAST 10 /* per cent of the passes */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double share = kernel_metric(f, g, "12.1.4");

	if (!(share >= LEAST))
		return;
	kernel_finding_add(f, g,
			   "bank conflicts: %.1f %% of the passes of local memory are repetitions",
			   share);
	/* Waiting for repetitions takes no longer than they do, even where nothing goes on beside them. */
	kernel_finding_bound(f, 100 - share / 100 * kernel_metric(f, g, "12.1.1"),
			     "without, if all units have as many");
}

const struct kernel_rule kernel_rule_bank_conflicts = {
	.rule = {.id = "bank-conflicts",
		 .what = "accesses of local memory ask one bank for several words",
		 .why = "below a tenth of the passes nothing is won",
		 .cost = "at most 1 / (1 - share of repetitions (12.1.4) x share of the time in "
			 "which local memory is busy (12.1.1)) times as fast"},
	.panel = "12",
	.advice = "pad rows of arrays in local memory by one element, or change who reads what",
	.find = find,
};
