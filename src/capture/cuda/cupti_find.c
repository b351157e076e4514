/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding CUPTI: beside the program's own CUDA libraries, in Python's packages, in the toolkit, or by
 * the dynamic loader.
 */
#include "capture/cuda/cupti_find.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))

/* Folders relative to that of a CUDA library of the program. */
static const char *const beside[] = {
	"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib", /* Python's packages of CUDA 12 */
};

static bool try_open(struct cupti_found *s, const char *folder, const char *sub)
{
	for (size_t i = 0; i < SONAMES && !s->library; i++) {
		snprintf(s->path, sizeof(s->path), "%.2000s%s/%s", folder, sub, sonames[i]);
		if (access(s->path, R_OK) == 0)
			s->library = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
	}
	return s->library != NULL;
}

/* The newest CUPTI may not know an older driver, so the one of the program's own CUDA is taken. */
static int beside_library(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char names[][16] = {"/libcudart.so", "/libcublas.so", "/libnvrtc.so",
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

static bool try_beside(struct cupti_found *s)
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

static bool try_toolkit(struct cupti_found *s)
{
	static const char variables[][12] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
	static const char folders[][24] = {"/usr/local/cuda", "/usr/local/cuda-13",
					   "/usr/local/cuda-12", "/opt/cuda"};
	static const char subs[][32] = {"/extras/CUPTI/lib64", "/lib64", "/lib",
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

/* By hand, where everything else goes wrong; also how tests bring their fake. */
static bool try_given(struct cupti_found *s)
{
	const char *path = secure_getenv("KYMO_CUPTI");

	if (!path || !*path)
		return false;
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return true;
}

void cupti_find(struct cupti_found *s)
{
	*s = (struct cupti_found){.library = NULL};
	if (try_given(s) || try_beside(s) || try_toolkit(s))
		return;
	for (size_t i = 0; i < SONAMES && !s->library; i++) {
		snprintf(s->path, sizeof(s->path), "%s", sonames[i]);
		s->library = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
	}
}

unsigned cupti_cuda_major(unsigned version)
{
	return version >= 100000 ? version / 10000 : version > 18 ? 12 : 11;
}
