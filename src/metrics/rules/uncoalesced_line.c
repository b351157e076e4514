/* SPDX-License-Identifier: Apache-2.0 */
/* A line whose accesses touch more of global memory than their bytes fill, counted exactly. */
#include <string.h>

#include "metrics/findings.h"

#define TIMES 2  /* as much as is needed */
#define SHARE 10 /* per cent of what the kernel takes, too much */

static void find_line(struct kernel_findings *f, const struct kernel_group *g,
		      const struct kernel_line *l)
{
	const double over = l->used - l->needed;

	if (!l->what || !(l->needed > 0) || strcmp(l->kind, "local") == 0 ||
	    l->used < TIMES * l->needed || 100 * over < SHARE * l->used_by_kernel)
		return;
	kernel_finding_add(f, g,
			   "uncoalesced %s at %s: takes %.0f %ss of %d bytes, where its bytes fill "
			   "%.0f: %.1f times as many",
			   l->what, l->where, l->used, l->unit,
			   strcmp(l->unit, "sector") == 0 ? 32 : 128, l->needed,
			   l->used / l->needed);
}

const struct kernel_rule kernel_rule_uncoalesced_line = {
	.rule = {.id = "uncoalesced-line",
		 .what = "accesses of a line touch more of global memory than their bytes fill",
		 .why = "from twice on, and a tenth of all that the kernel takes, memory does that "
			"work for nothing",
		 .cost = "none: sectors (32 bytes) or lines (128 bytes) taken and needed, exactly"},
	.panel = "22",
	.advice = "let neighbouring work items access neighbouring addresses in that line: swap "
		  "indexes, or go through local memory",
	.find_line = find_line,
};
