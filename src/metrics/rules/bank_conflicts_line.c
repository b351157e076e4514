/* SPDX-License-Identifier: Apache-2.0 */
/* A line whose accesses of local memory ask one bank for several words, counted exactly. */
#include <string.h>

#include "metrics/findings.h"

#define OVER  50 /* per cent of what is needed */
#define SHARE 10 /* per cent of what the kernel takes */

static void find_line(struct kernel_findings *f, const struct kernel_group *g,
		      const struct kernel_line *l)
{
	const double over = l->used - l->needed;

	if (!l->what || strcmp(l->kind, "local") != 0 || 100 * over < OVER * l->needed ||
	    !(over > 0) || 100 * over < SHARE * l->used_by_kernel)
		return;
	kernel_finding_add(
		f, g,
		"bank conflicts of the %s at %s: %.0f rounds of local memory too many in "
		"%.0f accesses of warps, %.1f for each",
		l->what, l->where, over, l->warps, over / l->warps);
}

const struct kernel_rule kernel_rule_bank_conflicts_line = {
	.rule = {.id = "bank-conflicts-line",
		 .what = "accesses of local memory in a line ask one bank for several words",
		 .why = "from half as many rounds again as needed, and a tenth of all rounds of "
			"the "
			"kernel",
		 .cost = "none: rounds taken and needed, exactly"},
	.panel = "22",
	.advice = "pad rows of that array by one element, or change who reads what",
	.find_line = find_line,
};
