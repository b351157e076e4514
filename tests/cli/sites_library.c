/* SPDX-License-Identifier: Apache-2.0 */
/* A library that launches kernels in the name of who calls it; its file has a name that Kymo knows. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

__attribute__((visibility("default"))) int library_launch(cl_command_queue queue, cl_kernel kernel);

int library_launch(cl_command_queue queue, cl_kernel kernel)
{
	const size_t items = 8;
	int error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);

	return error; /* not a tail call: the call site is in here */
}
