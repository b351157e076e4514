/* SPDX-License-Identifier: Apache-2.0 */
/* Loads followed so soon by what needs them that warps wait there. */
#include "metrics/findings.h"

#define SOON    10 /* instructions */
#define WAITING 10 /* per cent of the kernel's samples */

static void find_line(struct kernel_findings *f, const struct kernel_group *g,
		      const struct kernel_line *l)
{
	if (!l->load || l->distance > SOON || 100 * l->waiting < WAITING * l->samples)
		return;
	kernel_finding_add(
		f, g,
		"use too soon at %s: %s needs what %s loads %u instructions before; %.0f of "
		"%.0f samples (%.1f %%) wait there for memory",
		l->where, l->user, l->load, l->distance, l->waiting, l->samples,
		100 * l->waiting / l->samples);
}

const struct kernel_rule kernel_rule_use_too_soon = {
	.rule = {.id = "use-too-soon",
		 .what = "a load is followed too soon by its use",
		 .why = "within 10 instructions, where a tenth of the kernel's samples waits for "
			"it",
		 .cost = "none: samples that wait at the use"},
	.panel = "21",
	.advice = "load earlier: unroll the loop, fetch for the next turn, or let more warps run "
		  "beside each other",
	.find_line = find_line,
};
