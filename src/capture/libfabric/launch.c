/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of libfabric (launch/launch.h). */
#include <unistd.h>

#include "launch/launch.h"

#define DOOR "libkymo-libfabric.so"

/*
 * Only where it is named: what MPI and others send through libfabric is recorded as their messages,
 * and bytes would be counted twice.
 */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_names(e, "libfabric") && !launch_preload(e, LAUNCH_LIBRARY, DOOR))
		e->warn("libfabric is not recorded: this Kymo was built without it (Debian: "
			"libfabric-dev)");
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	static const char *const library[] = {"libfabric.so.1", NULL};
	bool here = launch_first_that_loads(library) != NULL;
	char path[PATH_MAX];

	launch_path(d->libdir, DOOR, path);
	if (access(path, R_OK) != 0)
		d->say(LAUNCH_FAIR, "libfabric",
		       "not recorded: this Kymo was built without it; build it where libfabric's "
		       "headers are "
		       "(Debian: libfabric-dev)");
	else
		d->say(LAUNCH_GOOD, "libfabric",
		       here ? "libfabric.so.1 is recorded on request: --backends "
			      "libfabric"
			    : "none here (Debian: libfabric1)");
}

const struct kymo_launch kymo_launch_libfabric = {
	.domains = (const char *const[]){"libfabric", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.doctor = doctor,
};
