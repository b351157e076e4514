/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of threads (launch/launch.h). */
#include "launch/launch.h"

/* Threads and processes that use nothing else are seen at their making, if that is asked for. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (e->options->threads)
		launch_preload(e, LAUNCH_PROCESS, "libkymo-threads.so");
	return true;
}

const struct kymo_launch kymo_launch_thread = {
	.domains = (const char *const[]){"pthread", NULL},
	.doors = doors,
	.own = (const char *const[]){"/libkymo-threads.so", NULL},
};
