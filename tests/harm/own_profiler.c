/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is a profiler itself: it exports what ROCm's registration looks for, wraps
 * hipMalloc when it is given the table, and checks that it sees its own calls.
 *
 * own_profiler RUNTIME: a library that stands in for HIP.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "register/fake_rocm.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void *rocprofiler_configure(uint32_t, const char *, uint32_t, void *);
EXPORT int rocprofiler_set_api_table(const char *, uint64_t, uint64_t, void **, uint64_t);

typedef int (*malloc_fn)(void **, size_t);

static unsigned tables, mallocs;
static malloc_fn next;

static int own_malloc(void **pointer, size_t size)
{
	mallocs++;
	return next(pointer, size);
}

void *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *id)
{
	return NULL;
}

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **list,
			      uint64_t count)
{
	void **entry = (void **)((char *)list[0] + 8) + FAKE_HIP_MALLOC;

	if (strcmp(name, "hip") != 0)
		return 0;
	tables++;
	memcpy(&next, entry, sizeof(next));
	*entry = (void *)(uintptr_t)own_malloc;
	return 0;
}

int main(int argc, char **argv)
{
	void *runtime = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*reg)(uint64_t *) = runtime ? dlsym(runtime, "fake_register_hip") : NULL;
	void **(*entries)(const char *) = runtime ? dlsym(runtime, "fake_entries") : NULL;
	malloc_fn hip_malloc;
	void *pointer;
	uint64_t id;

	if (!reg || !entries) {
		fprintf(stderr, "usage: own_profiler RUNTIME\n");
		return 2;
	}
	if (reg(&id) != 0)
		return 3;
	memcpy(&hip_malloc, entries("hip") + FAKE_HIP_MALLOC, sizeof(hip_malloc));
	for (size_t i = 1; i <= 3; i++)
		if (hip_malloc(&pointer, i * 16) != 0)
			return 4;
	printf("tables %u mallocs %u\n", tables, mallocs);
	return 0;
}
