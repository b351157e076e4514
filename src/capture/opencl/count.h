/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are counted: run alone, and repeated where their counters do not fit into one pass. */
#ifndef CAPTURE_OPENCL_COUNT_H
#define CAPTURE_OPENCL_COUNT_H

#include "capture/opencl/launched.h"
#include "core/counter/kernel.h"

/*
 * In the place of `next`: launches it, counted if it is to be. The program sees one execution, with the
 * event that the runtime gives for the last one.
 */
cl_int ocl_count_launch(const struct cap_frame *f, const struct ocl_launch *l);

/* > 0: the thread is in an event callback of the program. */
extern _Thread_local unsigned ocl_in_callback __attribute__((tls_model("initial-exec")));

/* A user event was made (1), or its status set (-1). */
void ocl_user_event(int change);
/* A queue is about to wait for semaphores: who signals them, and when, nobody tells. */
void ocl_semaphores_wait(void);

/* Follows what is needed to count, from now on. */
void ocl_count_begin(void);
void ocl_count_fork_child(void);

/* Other enqueues keep out of a kernel that is being counted. */
enum ocl_gate { OCL_GATE_NONE, OCL_GATE_ENTERED, OCL_GATE_PASSED };

/* `kernel`: it launches one, in a way that is not counted. */
static inline enum ocl_gate ocl_gate_enter(bool kernel)
{
	if (cap_likely(!cap_counts_kernels()))
		return OCL_GATE_NONE;
	if (kernel)
		cap_launch_not_counted("they were launched in a command buffer, or by others than "
				       "clEnqueueNDRangeKernel");
	return cap_gate_enter() ? OCL_GATE_ENTERED : OCL_GATE_PASSED;
}

static inline void ocl_gate_leave(enum ocl_gate gate)
{
	if (cap_unlikely(gate == OCL_GATE_ENTERED))
		cap_gate_leave(true);
}

#endif
