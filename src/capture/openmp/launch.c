/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of OpenMP (launch/launch.h). */
#include <stdlib.h>
#include <strings.h>

#include "launch/launch.h"

static void unused(const char *program, void (*note)(const char *format, ...))
{
	if (launch_mentions(program, "libgomp.so"))
		note("%s uses GCC's OpenMP (libgomp), which has no tools interface (OMPT): built "
		     "with clang -fopenmp, its regions are recorded",
		     program);
}

static void doctor(const struct launch_doctor *d)
{
	static const char *const runtimes[] = {"libomp.so.5", "libomp.so", "libiomp5.so", NULL};
	const char *library = launch_first_that_loads(runtimes), *setting = getenv("OMP_TOOL");
	bool disabled = setting && strcasecmp(setting, "disabled") == 0;
	struct text t = {0};

	if (library)
		text_addf(&t, "programs that use %s are recorded", library);
	else
		text_add(&t,
			 "no runtime with a tools interface (OMPT) is here, as clang's is (Debian: "
			 "libomp-19-dev)");
	text_add(&t, "; those built with gcc use libgomp, which has no OMPT: build them with clang "
		     "-fopenmp");
	if (disabled)
		text_add(&t, "; OMP_TOOL=disabled is set: unset it");
	d->say(!library || disabled ? LAUNCH_FAIR : LAUNCH_GOOD, "OpenMP", t.s);
	text_release(&t);
}

const struct kymo_launch kymo_launch_openmp = {
	.domains = (const char *const[]){"openmp", NULL},
	.tool = {"OMP_TOOL_LIBRARIES", ':'},
	.doctor = doctor,
	.told = 30,
	.unused = unused,
};
