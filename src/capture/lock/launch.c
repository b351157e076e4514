/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of locks (launch/launch.h). */
#include "launch/launch.h"

#define DOOR "libkymo-lock.so"

/* Only where it is named: every program with threads has locks. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_names(e, "lock") && !launch_preload(e, LAUNCH_PROCESS, DOOR))
		e->warn("waits for locks are not recorded: %s is not in %s", DOOR, e->libdir);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	d->say(LAUNCH_GOOD, "locks",
	       "waits are recorded on request: --backends lock (or all,lock); not locks that are "
	       "made "
	       "of futexes or atomics themselves (OpenMP's, C11's mtx_t, spinning), static "
	       "programs");
}

const struct kymo_launch kymo_launch_lock = {
	.domains = (const char *const[]){"lock", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.doctor = doctor,
	.told = 91,
};
