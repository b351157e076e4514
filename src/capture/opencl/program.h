/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and programs as work and queues need them. */
#ifndef CAPTURE_OPENCL_PROGRAM_H
#define CAPTURE_OPENCL_PROGRAM_H

#include "capture/opencl/backend.h"

uint32_t ocl_kernel_learn(cl_kernel kernel);

/* Id of the definition of a kernel, learnt if need be; 0: unknown. */
static inline __attribute__((always_inline)) uint32_t ocl_kernel_id(cl_kernel kernel)
{
	const struct ocl_object *k = ocl_find(OCL_KERNEL, kernel);

	return cap_likely(k != NULL) ? k->id : ocl_kernel_learn(kernel);
}

/* What the kernel is called, looked up once; lives for ever. NULL: not known. */
const char *ocl_kernel_name(cl_kernel kernel);

/* Id of the one kernel that stands for all native ones, or for all command buffers as a whole. */
enum ocl_placeholder_kernel { OCL_KERNEL_NATIVE, OCL_KERNEL_BUFFER, OCL_PLACEHOLDER_KERNELS };
uint32_t ocl_placeholder_kernel_id(enum ocl_placeholder_kernel which);
void ocl_programs_fork_child(void);

/* One text for all that are equal; lives for ever. */
const char *ocl_text_for_ever(const char *text);

#endif
