/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of sleeps and polls (launch/launch.h). */
#include "launch/launch.h"

#define DOOR "libkymo-wait.so"

/* Only where it is named: every program waits. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_names(e, "wait") && !launch_preload(e, LAUNCH_PROCESS, DOOR))
		e->warn("sleeps and polls are not recorded: %s is not in %s", DOOR, e->libdir);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	d->say(LAUNCH_GOOD, "sleeps and polls",
	       "recorded on request: --backends wait (or all,wait); not what the C library does "
	       "inside its own functions, direct system calls but futex() by syscall(), static "
	       "programs");
}

const struct kymo_launch kymo_launch_wait = {
	.domains = (const char *const[]){"wait", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.doctor = doctor,
	.told = 92,
};
