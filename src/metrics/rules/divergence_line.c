/* SPDX-License-Identifier: Apache-2.0 */
/* A line where work items of a warp part. */
#include "metrics/findings.h"

#define PARTED 10 /* per cent of a line's branches */
#define ACTIVE 75 /* per cent of the lanes of an access, where branches are not counted */

static void find_line(struct kernel_findings *f, const struct kernel_group *g,
		      const struct kernel_line *l)
{
	const double branches = l->uniform + l->divergent;

	if (l->divergent > 0 && 100 * l->divergent >= PARTED * branches)
		kernel_finding_add(f, g,
				   "divergence at %s: in %.0f of %.0f branches of warps (%.1f %%) "
				   "work items part",
				   l->where, l->divergent, branches, 100 * l->divergent / branches);
	else if (l->what && l->unit && *l->unit == 'l' && l->lanes > 0 &&
		 100 * l->items < ACTIVE * l->lanes)
		kernel_finding_add(
			f, g,
			"divergence at %s: %.0f of %.0f work items of the warps take part "
			"in the %s (%.1f %%)",
			l->where, l->items, l->lanes, l->what, 100 * l->items / l->lanes);
}

const struct kernel_rule kernel_rule_divergence_line = {
	.rule = {.id = "divergence-line",
		 .what = "work items of a warp part in a line, or few of them take part in it",
		 .why = "a tenth of a line's branches, or less than three quarters of the lanes of "
			"an "
			"access",
		 .cost = "none: branches of warps, or lanes, exactly"},
	.panel = "22",
	.advice = "let neighbouring work items take the same way: sort what they work on, or "
		  "replace the branch by a selection",
	.find_line = find_line,
};
