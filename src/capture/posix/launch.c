/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of files and sockets (launch/launch.h). */
#include "launch/launch.h"

#define DOOR "libkymo-posix.so"

/* Only where it is named: every program reads and writes. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_names(e, "posix") && !launch_preload(e, LAUNCH_PROCESS, DOOR))
		e->warn("files and sockets are not recorded: %s is not in %s", DOOR, e->libdir);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	d->say(LAUNCH_GOOD, "files and sockets",
	       "recorded on request: --backends posix (or all,posix); not what the C library does "
	       "inside its own functions (stdio), direct system calls, io_uring, mapped memory, "
	       "static programs");
}

const struct kymo_launch kymo_launch_posix = {
	.domains = (const char *const[]){"posix", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.doctor = doctor,
	.told = 90,
};
