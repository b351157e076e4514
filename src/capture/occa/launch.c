/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of OCCA (launch/launch.h). */
#include <unistd.h>

#include "launch/launch.h"

#define DOOR "libkymo-occa.so"

static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_wants(e, self))
		launch_preload(e, LAUNCH_LIBRARY, DOOR);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	char path[PATH_MAX];

	launch_path(d->libdir, DOOR, path);
	if (access(path, R_OK) != 0)
		d->say(LAUNCH_FAIR, "OCCA",
		       "not recorded: this Kymo has no door for OCCA on this processor (x86-64 "
		       "alone "
		       "has one)");
	else
		d->say(LAUNCH_GOOD, "OCCA",
		       "programs that use libocca.so are recorded under OCCA's names; one that was "
		       "linked with a static libocca is not, and mode Metal is not on Linux");
}

/* Its functions are found by their names, and a static library has none that the loader looks up. */
static void unused(const char *program, void (*note)(const char *format, ...))
{
	if (launch_mentions(program, "_ZNK4occa6serial6kernel3runEv"))
		note("%s has OCCA in it, linked as a static library: its calls are not recorded "
		     "under "
		     "OCCA's names; link it with libocca.so",
		     program);
}

const struct kymo_launch kymo_launch_occa = {
	.domains = (const char *const[]){"occa", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.doctor = doctor,
	.told = 35,
	.unused = unused,
};
