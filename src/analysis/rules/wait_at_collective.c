/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks wait in a collective call for one that comes late, now and then or by turns, or for its root. */
#include "analysis/waits_tell.h"

static const struct waits_theme theme = {
	.kinds = 1u << WAIT_ALL | 1u << WAIT_ROOT,
	.title = "%s waits %s in collective calls for %s",
	.titles = "%u ranks wait %s in collective calls for %s",
	.advice = "see what the late rank does before the call; give others a part of it, or do "
		  "it while they still have work",
};

static void find(struct diagnosis *d)
{
	if (!waits_known(d))
		return;
	for (uint32_t i = 0; i < d->waits.worlds_count; i++)
		waits_tell(d, i, &theme);
}

const struct rule rule_wait_at_collective = {
	.id = "wait-at-collective",
	.what = "ranks wait in a collective call for one that comes late",
	.threshold = 0.07,
	.why = "a busy machine delays one rank or another by some per cent of the run",
	.cost = "time in which all other ranks wait while the late one, on the path that decides "
		"the length of the run, is at work",
	.find = find,
};
