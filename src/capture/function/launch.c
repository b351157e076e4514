/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of functions (launch/launch.h). */
#include <string.h>

#include "launch/launch.h"

#define DOOR "libkymo-function.so"
#define PLAN "KYMO_FUNCTIONS_PLAN="
#define NOTE "kymo instrument" /* PLAN_NOTE_MAGIC, in files that were instrumented */

/* Where functions were chosen (--functions), or the program was instrumented. */
static bool planned(const struct launch_environment *e)
{
	for (unsigned i = 0; i < e->count; i++)
		if (strncmp(e->words[i], PLAN, sizeof(PLAN) - 1) == 0)
			return e->words[i][sizeof(PLAN) - 1] != 0;
	return launch_mentions(e->program, NOTE);
}

static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	if (planned(e) && !launch_preload(e, LAUNCH_PROCESS, DOOR))
		e->warn("functions are not traced: %s is not in %s", DOOR, e->libdir);
	return true;
}

static void doctor(const struct launch_doctor *d)
{
	d->say(LAUNCH_GOOD, "functions",
	       "traced on request: --functions REGEX; not in static programs");
}

const struct kymo_launch kymo_launch_function = {
	.domains = (const char *const[]){"function", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" DOOR, NULL},
	.variables =
		(const struct knob_variable[]){
			{"KYMO_FUNCTIONS_PLAN", "file that says which functions are traced"},
			{"KYMO_FUNCTIONS_MIN",
			 "nanoseconds; shorter calls of functions are counted"},
			{0}},
	.doctor = doctor,
	.told = 93,
};
