/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's side of CUDA (launch/launch.h). `kymo doctor` tells of the driver, CUPTI, whether
 * the two fit, and what the administrator keeps back: everything is read from /proc and by
 * functions that initialise nothing.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/cuda/cupti_find.h"
#include "launch/launch.h"

#define CUPTI_OLDEST 18u /* of CUDA 11.8 */

/*
 * The driver loads one library only. One that the user has set is handed on to Kymo, which starts
 * it before itself: it comes first in everything.
 */
static bool environment(struct launch_environment *e, const struct kymo_launch *self)
{
	const char *present = getenv(CUDA_INJECTION);
	char library[PATH_MAX];

	if (!launch_wants(e, self))
		return true;
	launch_path(e->libdir, "libkymo.so.1", library);
	if (present && *present && !strstr(present, "/libkymo.so") &&
	    !launch_set(e, "KYMO_CUDA_INJECTION", present))
		return false;
	return launch_set(e, CUDA_INJECTION, library);
}

/* CUDA loads the library as it does in a program; then its devices' counters are there. */
static void start_devices(const char *library)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *symbol = cuda ? dlsym(cuda, "cuInit") : NULL;
	char *own = getenv(CUDA_INJECTION) ? strdup(getenv(CUDA_INJECTION)) : NULL;
	int (*initialize)(unsigned flags);

	memcpy(&initialize, &symbol, sizeof(symbol));
	if (initialize) {
		setenv(CUDA_INJECTION, library, 1);
		initialize(0);
		if (own)
			setenv(CUDA_INJECTION, own,
			       1); /* a program that is run afterwards has it */
		else
			unsetenv(CUDA_INJECTION);
	}
	free(own);
}

/* ---- kymo doctor ---- */

static char *read_proc(const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.2000s/proc/driver/nvidia/%s", root, name);
	return file_read(path, NULL);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95  Tue ...": the number with a dot. */
static void kernel_module(const char *root, struct text *out)
{
	char *text = read_proc(root, "version"), *save = NULL;
	char *first = text ? strtok_r(text, "\n", &save) : NULL;

	for (char *word = first ? strtok_r(first, " \t", &save) : NULL; word;
	     word = strtok_r(NULL, " \t", &save)) {
		size_t digits = strspn(word, "0123456789.");

		if (digits && !word[digits] && strchr(word, '.')) {
			text_addf(out, "driver %s", word);
			break;
		}
	}
	free(text);
}

/* The newest CUDA that the driver's library knows, as 13000; 0: there is no driver. */
static int driver_cuda(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "cuDriverGetVersion") : NULL;
	int (*get)(int *) = NULL;
	int version = 0;

	memcpy(&get, &symbol, sizeof(symbol));
	if (get && get(&version) != 0)
		version = 0;
	return version;
}

static unsigned version_of(const struct cupti_found *f)
{
	void *symbol = dlsym(f->library, "cuptiGetVersion");
	int (*get)(unsigned *) = NULL;
	unsigned version = 0;

	memcpy(&get, &symbol, sizeof(symbol));
	return get && get(&version) == 0 ? version : 0;
}

static void check_cupti(int driver, const struct launch_doctor *d)
{
	struct cupti_found f;
	struct text t = {0};
	unsigned version, major;
	bool degraded = true;

	cupti_find(&f);
	version = f.library ? version_of(&f) : 0;
	major = cupti_cuda_major(version);
	if (!f.library)
		text_addf(&t,
			  "%s; programs that bring their own CUDA, as PyTorch does, have it "
			  "beside it; others need a toolkit, or KYMO_CUPTI=/path/libcupti.so.%d",
			  *f.path && getenv("KYMO_CUPTI")
				  ? "KYMO_CUPTI names no library that loads"
				  : "not found in CUDA_HOME, /usr/local/cuda or "
				    "by the loader",
			  driver ? driver / 1000 : 13);
	else if (version < CUPTI_OLDEST)
		text_addf(&t, "%s is of version %u: CUDA 11.8 or later is needed", f.path, version);
	else if (driver && (int)major > driver / 1000)
		text_addf(&t,
			  "%s is of CUDA %u, the driver supports CUDA %d.%d: set KYMO_CUPTI to an "
			  "older one, or update the driver",
			  f.path, major, driver / 1000, driver % 1000 / 10);
	else {
		text_addf(&t, "%s, version %u (CUDA %u)", f.path, version, major);
		if (!dlsym(f.library, "cuptiSassMetricsSetConfig"))
			text_add(&t,
				 "; lines of kernels (--instrument-kernels) are for CUDA 12.2's or "
				 "later");
		degraded = false;
	}
	d->say(degraded ? LAUNCH_FAIR : LAUNCH_GOOD, "CUPTI", t.s);
	text_release(&t);
}

static void check_permission(const struct launch_doctor *d)
{
	char *text = read_proc(d->root, "params");
	const char *at = text ? strstr(text, "RmProfilingAdminOnly:") : NULL;

	if (at && strtol(at + strlen("RmProfilingAdminOnly:"), NULL, 10) != 0 && geteuid() != 0)
		d->say(LAUNCH_FAIR, "CUDA",
		       "calls, kernels and copies are recorded; counters, PC samples and "
		       "counts of lines (--instrument-kernels) are for the administrator only "
		       "(NVreg_RestrictProfilingToAdminUsers=1)");
	free(text);
}

static void check_mig(const struct launch_doctor *d)
{
	char pattern[PATH_MAX], text[160];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%.2000s/proc/driver/nvidia/capabilities/gpu*/mig/gi*",
		 d->root);
	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	snprintf(text, sizeof(text),
		 "%zu MIG instances: each is traced as a device, of which CUDA "
		 "shows a program one; this was not tried on real ones",
		 g.gl_pathc);
	globfree(&g);
	d->say(LAUNCH_FAIR, "CUDA", text);
}

static void doctor(const struct launch_doctor *d)
{
	struct text t = {0};
	int driver = driver_cuda();

	kernel_module(d->root, &t);
	if (!t.length && !driver) {
		d->say(LAUNCH_GOOD, "CUDA", "no NVIDIA driver here");
		text_release(&t);
		return;
	}
	if (!t.length)
		text_add(&t, "driver of unknown version (no /proc/driver/nvidia/version)");
	if (driver)
		text_addf(&t, ", CUDA up to %d.%d", driver / 1000, driver % 1000 / 10);
	else
		text_add(&t, ", but libcuda.so.1 cannot be loaded: programs cannot use CUDA");
	if (getenv(CUDA_INJECTION))
		text_addf(&t,
			  "; " CUDA_INJECTION " is set: %s is started before Kymo, and if it "
			  "uses CUPTI, CUDA is not recorded",
			  getenv(CUDA_INJECTION));
	d->say(!driver || getenv(CUDA_INJECTION) ? LAUNCH_FAIR : LAUNCH_GOOD, "CUDA", t.s);
	text_release(&t);
	check_cupti(driver, d);
	check_permission(d);
	check_mig(d);
}

const struct kymo_launch kymo_launch_cuda = {
	.domains = (const char *const[]){"cuda", "cuda_runtime", "cuda_driver", NULL},
	.environment = environment,
	.variables =
		(const struct knob_variable[]){
			{"KYMO_CUPTI", "path of the CUPTI to use, before all that would be found"},
			{"KYMO_CUDA_GRAPHS",
			 "graph: a launch of a graph is recorded as one, not node by node"},
			{"KYMO_CUDA_INJECTION", "set by kymo run: the user's own " CUDA_INJECTION},
			{NULL, NULL}},
	.doctor = doctor,
	.told = LAUNCH_TOLD_LATER,
	.start_devices = start_devices,
};
