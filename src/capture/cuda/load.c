/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding CUPTI: it has to fit the program's CUDA, so what lies beside the program's own libraries
 * comes first, then Python's packages, then the toolkit, then whatever the loader finds.
 */
#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cuda/backend.h"

struct cupti cupti;

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))

/* Folders relative to that of a CUDA library of the program. */
static const char *const beside[] = {
	"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib", /* Python's packages of CUDA 12 */
};

struct search {
	void *found;
	char path[PATH_MAX];
};

static bool try_open(struct search *s, const char *folder, const char *sub)
{
	for (size_t i = 0; i < SONAMES && !s->found; i++) {
		snprintf(s->path, sizeof(s->path), "%.2000s%s/%s", folder, sub, sonames[i]);
		if (access(s->path, R_OK) == 0)
			s->found = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
	}
	return s->found != NULL;
}

/* The newest CUPTI may not know an older driver, so the one of the program's own CUDA is taken. */
static int beside_library(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char *const names[] = {"/libcudart.so", "/libcublas.so", "/libnvrtc.so",
					    "/libcupti.so"};
	char folder[PATH_MAX];
	char *slash;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!info->dlpi_name || !strstr(info->dlpi_name, names[i]))
			continue;
		snprintf(folder, sizeof(folder), "%s", info->dlpi_name);
		slash = strrchr(folder, '/');
		*slash = '\0';
		strcpy((char *)data, folder);
		return 1;
	}
	return 0;
}

static bool try_beside(struct search *s)
{
	char folder[PATH_MAX] = "";

	/* Nothing may be loaded while the list of libraries is walked. */
	if (!dl_iterate_phdr(beside_library, folder))
		return false;
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (try_open(s, folder, beside[i]))
			return true;
	return false;
}

static bool try_toolkit(struct search *s)
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
	static const char *const folders[] = {"/usr/local/cuda", "/usr/local/cuda-13",
					      "/usr/local/cuda-12", "/opt/cuda"};
	static const char *const subs[] = {"/extras/CUPTI/lib64", "/lib64", "/lib",
					   "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"};

	for (size_t j = 0; j < sizeof(subs) / sizeof(subs[0]); j++) {
		for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
			const char *folder = secure_getenv(variables[i]);

			if (folder && *folder && try_open(s, folder, subs[j]))
				return true;
		}
		for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
			if (try_open(s, folders[i], subs[j]))
				return true;
	}
	return false;
}

/* By hand, where everything else goes wrong; also how tests bring their stand-in. */
static bool try_given(struct search *s)
{
	const char *path = secure_getenv("KYMO_CUPTI");

	if (!path || !*path)
		return false;
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return true;
}

static void find(struct search *s)
{
	if (try_given(s) || try_beside(s) || try_toolkit(s))
		return;
	for (size_t i = 0; i < SONAMES && !s->found; i++) {
		snprintf(s->path, sizeof(s->path), "%s", sonames[i]);
		s->found = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
	}
}

static bool symbol(void *library, const char *name, void *out)
{
	void *at = dlsym(library, name);

	memcpy(out, &at, sizeof(at));
	return at != NULL;
}

static const char *fill(void *library)
{
#define FUNCTION(name, args)                                                                       \
	if (!symbol(library, "cupti" #name, &cupti.name))                                          \
		return "cupti" #name;
	CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, args) symbol(library, "cupti" #name, &cupti.name);
	CUPTI_FUNCTIONS_LATER(FUNCTION)
#undef FUNCTION
	return NULL;
}

bool cuda_load(char *why, size_t size)
{
	struct search s = {0};
	const char *missing;

	find(&s);
	if (!s.found) {
		snprintf(why, size,
			 "CUPTI was not found (libcupti.so.13 or .12): not beside the program's "
			 "CUDA, in CUDA_HOME or /usr/local/cuda, nor by the loader; set KYMO_CUPTI "
			 "to its path");
		return false;
	}
	missing = fill(s.found);
	if (missing) {
		snprintf(why, size, "%.200s lacks %s: it is too old (11.8 or later is needed)",
			 s.path, missing);
		return false;
	}
	if (cupti.GetVersion(&cupti.version) != CUPTI_OK || cupti.version < CUPTI_VERSION_MIN) {
		snprintf(why, size, "%.200s is of version %u: %u (CUDA 11.8) or later is needed",
			 s.path, cupti.version, CUPTI_VERSION_MIN);
		return false;
	}
	return true;
}
