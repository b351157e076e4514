/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of local memory that ask one bank for several words. */
#include <math.h>

#include "metrics/findings.h"

#define LEAST 10 /* per cent of the passes */

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double share = kernel_metric(f, g, "12.1.4");

	if (share >= LEAST)
		kernel_finding_add(f, g,
				   "bank conflicts: %.1f %% of the passes of local memory are "
				   "repetitions",
				   share);
}

const struct kernel_rule kernel_rule_bank_conflicts = {
	.rule = {.id = "bank-conflicts",
		 .what = "accesses of local memory ask one bank for several words",
		 .why = "below a tenth of the passes nothing is won",
		 .cost = "none is told: it is of a kernel by itself"},
	.panel = "12",
	.advice = "pad rows of arrays in local memory by one element, or change who reads what",
	.find = find,
};
