/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the function by which compiled programs launch a target region: OMPT says nothing of
 * a region that no device takes and that the host computes instead. libomptarget's function for
 * regions that are not waited for calls this one. What it does with a region's status comes after the
 * call, so libomptarget takes it for the program: who really called is noted meanwhile.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "capture/openmp/offload.h"

#define NAME   "__tgt_target_kernel"
#define FAILED (-1) /* what libomptarget returns when the host is to do it */

typedef int (*launch)(void *location, int64_t device, int32_t teams, int32_t threads, void *kernel,
		      void *arguments);

__attribute__((visibility("default"))) int __tgt_target_kernel(void *location, int64_t device,
							       int32_t teams, int32_t threads,
							       void *kernel, void *arguments);

/* Where libomptarget came with a plugin, it is not among what RTLD_NEXT looks through. */
static int find_library(struct dl_phdr_info *object, size_t size, void *found)
{
	void *library;

	if (!object->dlpi_name || !strstr(object->dlpi_name, "/libomptarget.so"))
		return 0;
	library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		*(void **)found = dlsym(library, NAME);
		dlclose(library);
	}
	return *(void **)found != NULL;
}

static launch next(void)
{
	static void *_Atomic found;
	void *symbol = atomic_load(&found);
	launch function;

	if (!symbol) {
		symbol = dlsym(RTLD_NEXT, NAME);
		if (!symbol)
			dl_iterate_phdr(find_library, &symbol);
		atomic_store(&found, symbol);
	}
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

/* A section of its own, so that the linker says where the function begins and ends. */
extern const char __start_kymo_offload[] __attribute__((visibility("hidden")));
extern const char __stop_kymo_offload[] __attribute__((visibility("hidden")));

__attribute__((section("kymo_offload"))) int __tgt_target_kernel(void *location, int64_t device,
								 int32_t teams, int32_t threads,
								 void *kernel, void *arguments)
{
	struct offload_launch l = {__start_kymo_offload, __stop_kymo_offload,
				   __builtin_return_address(0), NULL};
	launch real = next();
	uint64_t since = tick_now();
	int status = FAILED;

	kymo_offload_begin(&l);
	if (real)
		status = real(location, device, teams, threads, kernel, arguments);
	kymo_offload_end(&l);
	if (status != 0)
		kymo_offload_failed(device, l.caller, since);
	return status;
}
