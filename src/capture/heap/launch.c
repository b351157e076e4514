/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of memory of malloc() (launch/launch.h). */
#include "launch/launch.h"

#define DOOR "libkymo-heap.so"

/* Only where it is named: every program allocates. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (launch_names(e, "heap") && !launch_preload(e, LAUNCH_PROCESS, DOOR))
		e->warn("memory of malloc() is not recorded: %s is not in %s", DOOR, e->libdir);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	d->say(LAUNCH_GOOD, "memory of malloc()",
	       "sampled on request: --backends heap (or all,heap); not programs that have a "
	       "malloc() of their own in them, operator new of other allocators, mmap(), static "
	       "programs");
}

const struct kymo_launch kymo_launch_heap = {
	.domains = (const char *const[]){"heap", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.doctor = doctor,
	.told = 95,
};
