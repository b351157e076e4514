/* SPDX-License-Identifier: Apache-2.0 */
/* Loads that bring in more than work items use. */
#include <math.h>
#include <stdio.h>

#include "metrics/findings.h"

#define USED    50 /* per cent of what is brought in */
#define SECTORS 16 /* of a request: what 16 bytes of each work item take, side by side */

#define BUSY 60 /* per cent of the peak of what it costs */

/* How much faster the kernel can be before something else is as busy as the first cache is with it. */
static void tell_gain(struct kernel_findings *f, const struct kernel_group *g, char *out,
		      size_t size)
{
	static const char *const others[] = {"2.1.1", "2.1.4", "2.1.5"};
	const double cache = kernel_metric(f, g, "2.1.3");
	double next = 0;

	*out = '\0';
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const double busy = kernel_metric(f, g, others[i]);

		next = busy > next ? busy : next;
	}
	if (cache >= BUSY && next > 0 && next < cache)
		snprintf(out, size,
			 "; L1 is at %.1f %% of its peak, what comes next at %.1f %%: up to %.1f "
			 "times as fast without",
			 cache, next, cache / next);
}

static void find(struct kernel_findings *f, const struct kernel_group *g)
{
	double used = kernel_metric(f, g, "16.1.5"), sectors = kernel_metric(f, g, "16.1.3");
	char gain[120];

	tell_gain(f, g, gain, sizeof(gain));
	if (used < USED)
		kernel_finding_add(f, g,
				   "uncoalesced access: %.1f %% of what global loads bring in is "
				   "used%s",
				   used, gain);
	else if (isnan(used) && sectors > SECTORS)
		kernel_finding_add(f, g,
				   "uncoalesced access: a global load takes %.1f sectors, where "
				   "16 bytes of each work item take 16%s",
				   sectors, gain);
}

const struct kernel_rule kernel_rule_uncoalesced = {
	.rule = {.id = "uncoalesced",
		 .what = "global loads bring in more than is used",
		 .why = "below half, memory does twice the work",
		 .cost = "how much faster the kernel can be before L2, memory or the units that "
			 "compute are as busy as L1 is"},
	.panel = "16",
	.advice = "let neighbouring work items read neighbouring addresses: swap indexes, or go "
		  "through local memory",
	.find = find,
};
