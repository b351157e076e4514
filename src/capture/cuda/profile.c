/* SPDX-License-Identifier: Apache-2.0 */
/* What sampling and counting of kernels share; see profile.h. */
#include "capture/cuda/profile.h"
#include "capture/cuda/twin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct cupti_pc_functions cupti_pc;
struct cupti_range_functions cupti_range;
struct cupti_sass_functions cupti_sass;
static bool have[CUDA_PROFILER_INSTRUCTIONS + 1];
static _Atomic int holder;

static bool symbol(const char *name, void *out)
{
	void *at = dlsym(cuda_library, name);

	memcpy(out, &at, sizeof(at));
	return at != NULL;
}

void cuda_profile_init(void)
{
	bool ok = true;

#define FUNCTION(name, args) ok &= symbol("cupti" #name, &cupti_pc.name);
	CUPTI_PC_FUNCTIONS(FUNCTION)
#undef FUNCTION
	have[CUDA_PROFILER_PC] = ok;
	ok = true;
#define FUNCTION(name, args) ok &= symbol("cupti" #name, &cupti_range.name);
	CUPTI_RANGE_FUNCTIONS(FUNCTION)
#undef FUNCTION
	have[CUDA_PROFILER_RANGES] = ok;
	ok = have[CUDA_PROFILER_PC]; /* which finds the lines */
#define FUNCTION(name, args) ok &= symbol("cupti" #name, &cupti_sass.name);
	CUPTI_SASS_FUNCTIONS(FUNCTION)
#undef FUNCTION
	have[CUDA_PROFILER_INSTRUCTIONS] = ok;
	range_profiler_init();
	cuda_pc_init();
}

bool cuda_profiler_take(enum cuda_profiler who, char *why, size_t size)
{
	static const char *const since[] = {[CUDA_PROFILER_PC] = "11.8",
					    [CUDA_PROFILER_RANGES] = "12.6",
					    [CUDA_PROFILER_INSTRUCTIONS] = "12.2"};
	static const char *const does[] = {[CUDA_PROFILER_PC] = "they are being sampled",
					   [CUDA_PROFILER_RANGES] = "they are being counted",
					   [CUDA_PROFILER_INSTRUCTIONS] =
						   "their lines are being counted"};
	int is = CUDA_PROFILER_NONE;

	if (!have[who]) {
		snprintf(why, size, "this CUPTI cannot; CUDA %s or later is needed", since[who]);
		return false;
	}
	if (atomic_compare_exchange_strong(&holder, &is, who) || is == (int)who)
		return true;
	snprintf(why, size,
		 "CUPTI cannot both sample and count kernels in one process, nor count them and "
		 "their lines, and %s",
		 does[is]);
	return false;
}

uint64_t *cuda_launch_number(uint32_t correlation)
{
	static _Thread_local struct {
		uint32_t correlation;
		uint64_t number;
	} launch;

	if (launch.correlation != correlation)
		launch.number = 0;
	launch.correlation = correlation;
	return &launch.number;
}

bool cuda_profiling(void)
{
	return atomic_load(&holder) != CUDA_PROFILER_NONE;
}

void cuda_profiler_leave(enum cuda_profiler who)
{
	int is = who;

	atomic_compare_exchange_strong(&holder, &is, CUDA_PROFILER_NONE);
}

const char *cuda_profiler_refusal(cupti_result r, char *text, size_t size)
{
	const char *name = NULL;

	switch (r) {
	case CUPTI_INSUFFICIENT_PRIVILEGES:
	case CUPTI_VIRTUALIZED_PRIVILEGES:
		return "not permitted: NVIDIA's driver keeps counters for the administrator (load "
		       "it "
		       "with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN)";
	case CUPTI_HARDWARE_BUSY:
		return "another profiler is using the device's counters";
	case CUPTI_NOT_SUPPORTED:
	case CUPTI_VIRTUALIZED_NOT_SUPPORTED:
		return "CUPTI does not support it on this device or system";
	case CUPTI_CONFIDENTIAL_NOT_SUPPORTED:
		return "CUPTI does not support it with confidential computing";
	case CUPTI_MIG_NOT_SUPPORTED:
		return "CUPTI does not support it on a part of a divided device (MIG)";
	}
	if (cupti.GetResultString(r, &name) != CUPTI_OK || !name)
		name = "unknown error";
	snprintf(text, size, "CUPTI refuses: %s (%d)", name, r);
	return text;
}

static void context_made(void *context, uint32_t device)
{
	if (have[CUDA_PROFILER_RANGES])
		range_counter_announce(); /* where CUPTI came too late to see CUDA initialised */
	cuda_range_context(context, device);
	cuda_pc_context(context, device);
}

static void context_ends(void *context)
{
	cuda_range_context_end(context);
	cuda_pc_context_end(context);
	cuda_twin_context_end(context);
}

static void module_loaded(const struct cupti_module *m)
{
	if (cuda_pc_active() || cuda_sass_in_use())
		cuda_pc_module(m->cubin, m->bytes);
}

/* `r` is NULL when CUDA is initialised. */
void cuda_profile_resource(uint32_t cbid, const struct cupti_resource *r)
{
	uint32_t device;

	if (cbid == CUPTI_CONTEXT_CREATED && cupti.GetDeviceId(r->context, &device) == CUPTI_OK)
		context_made(r->context, device);
	else if (cbid == CUPTI_CONTEXT_DESTROY)
		context_ends(r->context);
	else if (cbid == CUPTI_INITIALIZED && have[CUDA_PROFILER_RANGES])
		range_counter_announce();
	else if (cbid == CUPTI_MODULE_LOADED)
		module_loaded(r->descriptor);
}

void cuda_profile_end(void)
{
	cuda_range_end();
	cuda_sass_last();
	cuda_pc_end();
}

void cuda_profile_fork_child(void)
{
	cuda_range_fork_child();
	cuda_sass_fork_child();
	cuda_pc_fork_child();
}
