/* SPDX-License-Identifier: Apache-2.0 */
/* A rank waits in a send for the receive, because the receiver was at work until then. */
#include "analysis/waits_tell.h"

static const struct waits_theme theme = {
	.kinds = 1u << WAIT_RECEIVER,
	.title = "%s waits %s in sends that %s receives late",
	.titles = "%u ranks wait %s in sends that %s receives late",
	.advice = "post the receive (MPI_Irecv) before the computation, or send without waiting "
		  "(MPI_Isend)",
};

static void find(struct diagnosis *d)
{
	if (!waits_known(d))
		return;
	for (uint32_t i = 0; i < d->waits.worlds_count; i++)
		waits_tell(d, i, &theme);
}

const struct rule rule_late_receiver = {
	.id = "late-receiver",
	.what = "a rank waits in a send until another receives",
	.threshold = 0.05,
	.why = "ranks of a balanced job wait for each other by one or two per cent of the run",
	.cost = "time in which all other ranks wait while the receiver, on the path that decides "
		"the length of the run, is at work",
	.find = find,
};
