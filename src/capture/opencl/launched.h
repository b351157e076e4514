/* SPDX-License-Identifier: Apache-2.0 */
/* The launch of a kernel that may be counted. */
#ifndef CAPTURE_OPENCL_LAUNCHED_H
#define CAPTURE_OPENCL_LAUNCHED_H

#include "capture/opencl/backend.h"
#include "capture/opencl/table.h"

/* The arguments of clEnqueueNDRangeKernel, and the function of the layer below. */
struct ocl_launch {
	ocl_pfn_clEnqueueNDRangeKernel next;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_uint dims;
	const size_t *offset, *global, *local;
	cl_uint waits;
	const cl_event *wait_list;
	cl_event *event; /* NULL: the program wants none */
};

#endif
