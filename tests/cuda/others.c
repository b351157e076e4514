/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes: programs that use CUPTI themselves. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenes.h"
#include "calls.h"
#include "profiler.h"

/*
 * A program with a profiler of its own, which uses CUPTI for five kernels of ten; `how` it gets at
 * CUPTI, and when: "early" is before CUDA is initialised. `where`: the library to load or ask.
 */
void takes(const char *how, const char *where)
{
	const bool loaded = strcmp(how, "loaded") == 0, asks = strcmp(how, "dlsym") == 0;
	void *library = where ? dlopen(where, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *begin_at = loaded ? dlsym(library, "profiler_begin") : NULL;
	void *end_at = loaded ? dlsym(library, "profiler_end") : NULL;
	void (*profile)(void *, bool) = profiler_begin;
	void (*profiled)(void) = profiler_end;

	if (loaded) {
		memcpy(&profile, &begin_at, sizeof(profile));
		memcpy(&profiled, &end_at, sizeof(profiled));
	}
	if (strcmp(how, "early") == 0)
		profile(NULL, true);
	fake_init();
	fake_context(1);
	kernels("before", strcmp(how, "early") == 0 ? 0 : 3);
	if (strcmp(how, "early") != 0)
		profile(asks ? library : NULL, strcmp(how, "activities") != 0);
	kernels("profiled", 5);
	profiled();
	kernels("after", 2);
	printf("kernels wanted: %d\n", fake_kind(10));
}

/* A library that has CUPTI in it comes while kernels run. */
void brought(const char *library)
{
	int waited = 0;

	fake_context(1);
	kernels("before", 3);
	if (!dlopen(library, RTLD_NOW | RTLD_LOCAL))
		abort();
	for (; (fake_kind(10) || fake_enabled(RUNTIME, RT_LAUNCH)) && waited < 60000; waited++) {
		kernels("meanwhile", 1); /* Kymo looks while there is work */
		usleep(1000);
	}
	kernels("after", 2);
}
