/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo doctor` on MPI, OpenMP, Level Zero, ROCm and annotations. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/run.h"

/* The first of the libraries that loads here, or NULL. The list ends with NULL. */
static const char *first_that_loads(const char *const *libraries)
{
	for (; *libraries; libraries++) {
		struct text why = {0};
		bool loads = library_loads(*libraries, &why);

		text_release(&why);
		if (loads)
			return *libraries;
	}
	return NULL;
}

/* ---- MPI ------------------------------------------------------------------------------------- */

/* "Open MPI, MPICH": the implementations there is a module for. */
static void list_modules(struct text *out)
{
	static const struct {
		const char *file, *name;
	} known[] = {{"libkymo-mpi-openmpi.so", "Open MPI"}, {"libkymo-mpi-mpich.so", "MPICH"}};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(path, sizeof(path), "%.*s/kymo/mpi/%s", PATH_MAX - 60, cli_libdir(),
			 known[i].file);
		if (access(path, R_OK) == 0)
			text_addf(out, "%s%s", out->length ? ", " : "", known[i].name);
	}
}

static void check_mpi(doctor_say_fn *say)
{
	static const char *const openmpi[] = {"libmpi.so.40", NULL};
	static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", NULL};
	const char *open = first_that_loads(openmpi), *other = first_that_loads(mpich);
	struct text modules = {0}, t = {0};

	list_modules(&modules);
	if (!modules.length)
		text_add(&t, "not recorded: this Kymo was built without MPI; build it where mpicc of Open "
			     "MPI or MPICH is");
	else
		text_addf(&t, "programs of %s are recorded; here %s %s%s%s", modules.s,
			  open || other ? "are" : "is", open ? open : "", open && other ? ", " : "",
			  other ? other : open ? "" : "none (Debian: libopenmpi-dev or libmpich-dev)");
	say(!modules.length, "MPI", t.s);
	text_release(&modules);
	text_release(&t);
}

/* ---- OpenMP ---------------------------------------------------------------------------------- */

static void check_openmp(doctor_say_fn *say)
{
	static const char *const runtimes[] = {"libomp.so.5", "libomp.so", "libiomp5.so", NULL};
	const char *library = first_that_loads(runtimes), *setting = getenv("OMP_TOOL");
	struct text t = {0};

	if (library)
		text_addf(&t, "programs that use %s are recorded", library);
	else
		text_add(&t, "no runtime with a tools interface (OMPT) is here, as clang's is (Debian: "
			     "libomp-19-dev)");
	text_add(&t, "; those built with gcc use libgomp, which has no OMPT: build them with clang "
		     "-fopenmp");
	if (setting && strcasecmp(setting, "disabled") == 0)
		text_add(&t, "; OMP_TOOL=disabled is set: unset it");
	say(!library || (setting && strcasecmp(setting, "disabled") == 0), "OpenMP", t.s);
	text_release(&t);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void check_level_zero(doctor_say_fn *say)
{
	static const char *const loader[] = {"libze_loader.so.1", NULL};
	static const char *const drivers[] = {"libze_intel_gpu.so.1", "libze_intel_npu.so.1",
					      "libze_intel_vpu.so.1", NULL};
	struct text t = {0};
	const char *driver;

	if (!first_that_loads(loader)) {
		say(false, "Level Zero", "no loader here (Debian: libze1)");
		return;
	}
	driver = first_that_loads(drivers);
	text_addf(&t, "libze_loader.so.1 is recorded through its tables; %s", driver ? driver
		  : "no driver of Intel was found (Debian: intel-level-zero-gpu)");
	say(false, "Level Zero", t.s);
	text_release(&t);
}

static void check_rocm(doctor_say_fn *say)
{
	static const char *const hip[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", NULL};
	static const char *const hsa[] = {"libhsa-runtime64.so.1", NULL};
	const char *runtime = first_that_loads(hip), *forced = getenv("ROCPROFILER_REGISTER_FORCE_LOAD");
	struct text t = {0};

	runtime = runtime ? runtime : first_that_loads(hsa);
	if (!runtime)
		text_add(&t, "no HIP or HSA here");
	else
		text_addf(&t, "%s: calls, kernels, copies and memory are recorded, without device times",
			  runtime);
	if (forced && strcmp(forced, "0") == 0)
		text_add(&t, "; ROCPROFILER_REGISTER_FORCE_LOAD=0 is set: ROCm is not recorded, unset "
			     "it");
	say(forced && strcmp(forced, "0") == 0, "ROCm", t.s);
	text_release(&t);
}

/* A library that is named already gets what Kymo would. */
static void check_annotations(doctor_say_fn *say)
{
	static const char *const variables[] = {"NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64",
						"KOKKOS_TOOLS_LIBS"};
	struct text t = {0};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value && !strstr(value, "/libkymo"))
			text_addf(&t, "%s%s names %s: that tool gets what Kymo would record, unset it",
				  t.length ? "; " : "", variables[i], value);
	}
	if (t.length)
		say(true, "annotations", t.s);
	else
		say(false, "annotations", "NVTX, ITT, ROCTx, Kokkos and Kymo's own are recorded");
	text_release(&t);
}

void doctor_runtimes(doctor_say_fn *say)
{
	check_mpi(say);
	check_openmp(say);
	check_level_zero(say);
	check_rocm(say);
	check_annotations(say);
}
