/* SPDX-License-Identifier: Apache-2.0 */
/* Two contexts on one device, each with memory and two queues of its own, on which it fills that. */
#include "support.h"

enum { CONTEXTS = 2, QUEUES = 2, SIZE = 4096 };

static void fill(cl_context context, cl_device_id device, unsigned number)
{
	cl_mem buffer = make_buffer(context, SIZE << number);
	const char zero = 0;

	for (int i = 0; i < QUEUES; i++) {
		cl_command_queue queue = make_queue(context, device, 0);

		CHECK(clEnqueueFillBuffer, queue, buffer, &zero, 1, 0, SIZE, 0, NULL, NULL);
		tally_copy("fill", SIZE);
		CHECK(clFinish, queue);
		CHECK(clReleaseCommandQueue, queue);
	}
	CHECK(clReleaseMemObject, buffer);
}

int main(int argc, char **argv)
{
	const struct program_option options[] = {{0}};
	cl_context contexts[CONTEXTS];
	cl_platform_id platform;
	cl_device_id device;
	cl_int error;

	program_start("ocl_contexts", argc, argv, options);
	CHECK(clGetPlatformIDs, 1, &platform, NULL);
	CHECK(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		contexts[i] = CALL(clCreateContext, NULL, 1, &device, NULL, NULL, &error);
		check(error, "clCreateContext");
	}
	for (unsigned i = 0; i < CONTEXTS; i++)
		fill(contexts[i], device, i);
	for (unsigned i = 0; i < CONTEXTS; i++)
		CHECK(clReleaseContext, contexts[i]);
	return program_end();
}
