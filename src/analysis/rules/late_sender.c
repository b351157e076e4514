/* SPDX-License-Identifier: Apache-2.0 */
/* A rank waits in a receive for a message that is sent later, because the sender was at work until then. */
#include "analysis/waits_tell.h"

static const struct waits_theme theme = {
	.kinds = 1u << WAIT_SENDER,
	.title = "%s waits %s for messages that %s sends late",
	.titles = "%u ranks wait %s for messages that %s sends late",
	.advice = "send before computing what the message does not need, or shorten what the "
		  "sender does before it",
};

static void find(struct diagnosis *d)
{
	if (!waits_known(d))
		return;
	for (uint32_t i = 0; i < d->waits.worlds_count; i++)
		waits_tell(d, i, &theme);
}

const struct rule rule_late_sender = {
	.id = "late-sender",
	.what = "a rank waits for a message that another sends late",
	.threshold = 0.05,
	.why = "ranks of a balanced job wait for each other by one or two per cent of the run",
	.cost = "time in which all other ranks wait while the sender, on the path that decides "
		"the length of the run, is at work; nothing where the receiver had asked for it",
	.find = find,
};
