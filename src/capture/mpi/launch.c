/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of MPI (launch/launch.h). */
#include <unistd.h>

#include "launch/launch.h"

/*
 * MPI is entered by its names, whichever MPI a program will turn out to have: behind other tools of
 * MPI, but before an MPI itself.
 */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	static const char *const libraries[] = {"libmpi.so", "libmpich.so", NULL};

	if (launch_wants(e, self))
		launch_preload_before(e, "libkymo-mpi.so", libraries);
	return true;
}

/* "Open MPI, MPICH": the implementations there is a module for. */
static void list_modules(const char *libdir, struct text *out)
{
	static const struct {
		const char *file, *name;
	} known[] = {{"kymo/mpi/libkymo-mpi-openmpi.so", "Open MPI"},
		     {"kymo/mpi/libkymo-mpi-mpich.so", "MPICH"}};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		launch_path(libdir, known[i].file, path);
		if (access(path, R_OK) == 0)
			text_addf(out, "%s%s", out->length ? ", " : "", known[i].name);
	}
}

static void doctor(const struct launch_doctor *d)
{
	static const char *const openmpi[] = {"libmpi.so.40", NULL};
	static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", NULL};
	const char *open = launch_first_that_loads(openmpi),
		   *other = launch_first_that_loads(mpich);
	struct text modules = {0}, t = {0};

	list_modules(d->libdir, &modules);
	if (!modules.length)
		text_add(&t, "not recorded: this Kymo was built without MPI; build it where mpicc "
			     "of Open "
			     "MPI or MPICH is");
	else
		text_addf(&t, "programs of %s are recorded; here %s %s%s%s", modules.s,
			  open || other ? "are" : "is", open ? open : "", open && other ? ", " : "",
			  other  ? other
			  : open ? ""
				 : "none (Debian: libopenmpi-dev or libmpich-dev)");
	d->say(modules.length ? LAUNCH_GOOD : LAUNCH_FAIR, "MPI", t.s);
	text_release(&modules);
	text_release(&t);
}

const struct kymo_launch kymo_launch_mpi = {
	.domains = (const char *const[]){"mpi", NULL},
	.doors = doors,
	.own = (const char *const[]){"/libkymo-mpi.so", NULL},
	.variables =
		(const struct knob_variable[]){
			{"KYMO_CLOCK_PERIOD_MS", "how often the clocks of the ranks are compared"},
			{"KYMO_CLOCK_WAIT_MS", "how long a rank waits for the others' clocks"},
			{NULL, NULL}},
	.doctor = doctor,
	.told = 20,
};
