/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dies of a segmentation fault inside a callback of an OpenCL event, that is on a thread of the
 * runtime, while the main thread is inside clWaitForEvents for an event that never completes.
 */
#include "support.h"

enum { N_KERNELS = 50 };

static const char source[] = "kernel void nothing(void) { }\n";

__attribute__((no_sanitize("undefined"))) /* which would end it by another signal */
static void CL_CALLBACK
crash(cl_event event, cl_int status, void *user)
{
	(void)event;
	*(volatile int *)user = status;
}

int main(int argc, char **argv)
{
	const size_t global = 1;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_event event, never;

	program_start("crash", argc, argv, NULL);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	kernel = make_kernel(make_program(context, source), "nothing");
	never = CALL(clCreateUserEvent, context, NULL);
	for (int i = 0; i < N_KERNELS; i++)
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL,
		      i == N_KERNELS - 1 ? &event : NULL);
	CHECK(clSetEventCallback, event, CL_COMPLETE, crash, NULL);
	CHECK(clFlush, queue);
	CHECK(clWaitForEvents, 1, &never);
	fail("still alive");
}
