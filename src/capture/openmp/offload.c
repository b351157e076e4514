/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions by which compiled programs launch a target region: OMPT says nothing of
 * a region that no device takes and that the host computes instead. libomptarget's function for
 * regions that are not waited for calls the other one, through here or not, as it was linked: the outer
 * of the two tells. What it does with a region's status comes after the call, so libomptarget takes it
 * for the program: who really called is noted meanwhile.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/elf.h"
#include "capture/openmp/offload.h"

#define FAILED (-1) /* what libomptarget returns when the host is to do it */

typedef int (*launch)(void *location, int64_t device, int32_t teams, int32_t threads, void *kernel,
		      void *arguments);
typedef int (*launch_nowait)(void *location, int64_t device, int32_t teams, int32_t threads,
			     void *kernel, void *arguments, int32_t waits, void *wait_list,
			     int32_t others, void *other_list);

__attribute__((visibility("default"))) int __tgt_target_kernel(void *location, int64_t device,
							       int32_t teams, int32_t threads,
							       void *kernel, void *arguments);
__attribute__((visibility("default"))) int
__tgt_target_kernel_nowait(void *location, int64_t device, int32_t teams, int32_t threads,
			   void *kernel, void *arguments, int32_t waits, void *wait_list,
			   int32_t others, void *other_list);

static bool is_libomptarget(const char *path, const void *unused)
{
	return strstr(path, "/libomptarget.so") != NULL;
}

/* Puts the function that stands behind ours into `*function`, a pointer to functions of any type. */
static void next(void *_Atomic *found, const char *name, void *function)
{
	void *at = atomic_load(found);

	if (!at) {
		at = dlsym(RTLD_NEXT, name);
		/* Where libomptarget came with a plugin, it is not among what RTLD_NEXT looks
		 * through. */
		if (!at)
			elf_find_in(is_libomptarget, NULL, name, &at, 1);
		atomic_store(found, at);
	}
	memcpy(function, &at, sizeof(at));
}

/* The thread is in the function that is not waited for. */
static _Thread_local __attribute__((tls_model("initial-exec"))) int inside;

/* A section of its own, so that the linker says where the function begins and ends. */
extern const char __start_kymo_offload[] __attribute__((visibility("hidden")));
extern const char __stop_kymo_offload[] __attribute__((visibility("hidden")));

__attribute__((section("kymo_offload"))) int __tgt_target_kernel(void *location, int64_t device,
								 int32_t teams, int32_t threads,
								 void *kernel, void *arguments)
{
	struct offload_launch l = {__start_kymo_offload, __stop_kymo_offload,
				   __builtin_return_address(0), NULL, 0};
	static void *_Atomic found;
	int status = FAILED;
	launch real;

	next(&found, "__tgt_target_kernel", &real);
	if (inside && real)
		return real(location, device, teams, threads, kernel, arguments);
	kymo_offload_begin(&l);
	if (real)
		status = real(location, device, teams, threads, kernel, arguments);
	kymo_offload_end(&l);
	if (status != 0)
		kymo_offload_failed(device, l.caller, l.since);
	return status;
}

__attribute__((section("kymo_offload"))) int
__tgt_target_kernel_nowait(void *location, int64_t device, int32_t teams, int32_t threads,
			   void *kernel, void *arguments, int32_t waits, void *wait_list,
			   int32_t others, void *other_list)
{
	struct offload_launch l = {__start_kymo_offload, __stop_kymo_offload,
				   __builtin_return_address(0), NULL, 0};
	static void *_Atomic found;
	int status = FAILED;
	launch_nowait real;

	next(&found, "__tgt_target_kernel_nowait", &real);
	kymo_offload_begin(&l);
	inside++;
	if (real)
		status = real(location, device, teams, threads, kernel, arguments, waits, wait_list,
			      others, other_list);
	inside--;
	kymo_offload_end(&l);
	if (status != 0)
		kymo_offload_failed(device, l.caller, l.since);
	return status;
}
