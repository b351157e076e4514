/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of ROCm (launch/launch.h): AMD's registration finds Kymo where it looks for a
 * profiler. */
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"

#define FORCE "ROCPROFILER_REGISTER_FORCE_LOAD"

/*
 * Named before the user's libraries, libkymo.so.1 is found before a profiler among them when ROCm
 * looks for one, and passes the tables on. ROCTx's older library registers no tables: its place is
 * taken when the user names the backend.
 */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	e->host = e->host || launch_wants(e, self);
	if (launch_names(e, "roctx"))
		launch_preload(e, LAUNCH_RUNTIME, "kymo/rocm/libroctx64.so.4");
	return true;
}

/*
 * AMD's register library looks for a profiler only when told that there is one, and finds Kymo's
 * functions then, since they are preloaded. The name is for children that drop the preload: they
 * would load AMD's profiler otherwise. What the user has set stays.
 */
static bool environment(struct launch_environment *e, const struct kymo_launch *self)
{
	char library[PATH_MAX];

	if (!launch_wants(e, self))
		return true;
	launch_path(e->libdir, "libkymo.so.1", library);
	return launch_set_default(e, FORCE, "1") &&
	       launch_set_default(e, "ROCPROFILER_REGISTER_LIBRARY", library);
}

static void doctor(const struct launch_doctor *d)
{
	static const char *const libraries[] = {"libamdhip64.so", "libamdhip64.so.7",
						"libamdhip64.so.6", "libhsa-runtime64.so.1", NULL};
	const char *runtime = launch_first_that_loads(libraries), *forced = getenv(FORCE);
	bool prevented = forced && strcmp(forced, "0") == 0;
	struct text t = {0};

	if (!runtime)
		text_add(&t, "no HIP or HSA here");
	else
		text_addf(
			&t,
			"%s: calls, kernels, copies and memory are recorded, without device times",
			runtime);
	if (prevented)
		text_add(&t, "; " FORCE "=0 is set: ROCm is not recorded, unset it");
	d->say(prevented ? LAUNCH_FAIR : LAUNCH_GOOD, "ROCm", t.s);
	text_release(&t);
}

const struct kymo_launch kymo_launch_rocm = {
	.domains = (const char *const[]){"roctx", "hip", "hip_compiler", "hsa", NULL},
	.doors = doors,
	.environment = environment,
	.own = (const char *const[]){"/kymo/rocm/libroctx64.so", NULL},
	.doctor = doctor,
	.told = 50,
	.annotation = "ROCTx",
	.annotation_told = 30,
};
