/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling program counters of kernels (pc_sampling.c, pc_code.c), counting what they do
 * (range_counter.c, range_profiler.c) and what their instructions do (sass_metrics.c). CUPTI can do one of these in a process.
 */
#ifndef CAPTURE_CUDA_PROFILE_H
#define CAPTURE_CUDA_PROFILE_H

#include "capture/cuda/backend.h"
#include "capture/cuda/cupti_profile.h"

/* ---- profile.c ---- */

extern struct cupti_pc_functions cupti_pc;
extern struct cupti_range_functions cupti_range;
extern struct cupti_sass_functions cupti_sass;

enum cuda_profiler {
	CUDA_PROFILER_NONE,
	CUDA_PROFILER_PC,
	CUDA_PROFILER_RANGES,
	CUDA_PROFILER_INSTRUCTIONS
};

bool cuda_profiling(void);
/*
 * Of the launch that the call of this thread makes its number among those of its kernel, for all who choose launches: who comes first
 * has core give it one. 0: nobody has yet.
 */
uint64_t *cuda_launch_number(uint32_t correlation);
/* Makes the profiler this process's; false: why not is said in `why`. */
bool cuda_profiler_take(enum cuda_profiler who, char *why, size_t size);
void cuda_profiler_leave(enum cuda_profiler who);
/* Why CUPTI refused, and what to do about it. */
const char *cuda_profiler_refusal(cupti_result r, char *text, size_t size);

/* Once CUPTI is there; then what happens to device contexts. */
void cuda_profile_init(void);
void cuda_profile_resource(uint32_t cbid, const struct cupti_resource *r);
/* CUPTI must not be called any more after this. */
void cuda_profile_end(void);
void cuda_profile_fork_child(void);

/* ---- pc_sampling.c ---- */

void cuda_pc_init(void);
void cuda_pc_context(void *context, uint32_t device);
void cuda_pc_context_end(void *context);
bool cuda_pc_active(void);
void cuda_pc_end(void);
void cuda_pc_fork_child(void);

/* ---- range_counter.c ---- */

/* Registers the provider; the driver is initialised by now. */
void range_counter_announce(void);

/* ---- range_profiler.c ---- */

void range_profiler_init(void);
/* Kernels are being counted: the driver's launches are needed. */
bool cuda_range_counting(void);
/* Services, launches and captures under way, which concern cuda_range_call(); 0: none. */
extern _Atomic unsigned cuda_range_active;
/* What a call of the driver has to do with it; 0: nothing. */
enum cuda_range_role {
	CUDA_RANGE_NONE,
	CUDA_RANGE_LAUNCH,
	CUDA_RANGE_GRAPH,
	CUDA_RANGE_CAPTURE,
	CUDA_RANGE_CAPTURED
};
enum cuda_range_role cuda_range_role(uint32_t op);
/* Entry and exit of such a call. */
void cuda_range_call(enum cuda_range_role role, bool enter, const struct cupti_callback *data);
void cuda_range_context(void *context, uint32_t device);
void cuda_range_context_end(void *context);
void cuda_range_end(void);
void cuda_range_fork_child(void);

/* Waits for all work of this thread's context. */
void cuda_context_synchronize(void);

/* ---- sass_metrics.c ---- */

/*
 * What is wanted may have changed; `kinds`: of activity records, those that are switched on. Before callbacks are switched by
 * it.
 */
void cuda_sass_update(uint64_t kinds);
/* Chosen launches are counted by CUPTI's metrics of instructions. */
bool cuda_sass_in_use(void);
/*
 * For who else could instrument kernels of a device, at any time: whether CUPTI's metrics do. CUPTI is asked at the first
 * question of each device, which must have a context by then.
 */
bool cuda_sass_counts(uint32_t device);
/*
 * Around a launch that nothing else runs beside, in callbacks of the driver. False: it runs as it is. `failed`: nothing was
 * launched; else it has ended.
 */
bool cuda_sass_begin(void *context, uint32_t device);
void cuda_sass_end(void *context, uint32_t device, const struct cupti_callback *data, bool failed);
/* A launch that was chosen, or who knows, is not counted; `why`, a literal, is noted. */
void cuda_sass_left_out(const char *why);
/* CUPTI must not be called any more after this. */
void cuda_sass_last(void);
void cuda_sass_fork_child(void);

/* ---- pc_code.c: of the one thread that hands samples over, or the launch that is counted; but for modules ---- */

/* A module was loaded, by any thread. Its code is kept if it has lines. */
void cuda_pc_module(const void *cubin, size_t bytes);
/* The id of an instruction; 0: no memory. */
uint32_t cuda_pc_code(const struct cupti_pc *pc);

#endif
