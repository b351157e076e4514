/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes objects of OpenCL: `clean` gives all of them back, `leaks` forgets some, in known lines:
 *   kernels at two lines (3 and 4 of 5), one of them because it was retained once more than released;
 *   100 user events in a loop that submits work, every second never released, some retained and released besides;
 *   a queue and a sampler of which nothing is wrong but that they are left to the end.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "kernel void one(global int *a) { a[0] = 1; }";
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static int clean;

static void must(cl_int error)
{
	if (error)
		exit(1);
}

static cl_sampler make_sampler(void)
{
	enum { MODE = CL_ADDRESS_NONE, FILTER = CL_FILTER_NEAREST };

	return clCreateSampler(context, CL_FALSE, MODE, FILTER, NULL); /* line: sampler */
}

static void kernels(void)
{
	cl_kernel first[3], second[5];

	for (int i = 0; i < 3; i++)
		first[i] = clCreateKernel(program, "one", NULL); /* line: first */
	for (int i = 0; i < 5; i++)
		second[i] = clCreateKernel(program, "one", NULL); /* line: second */
	must(clRetainKernel(second[0]));
	must(clReleaseKernel(second[0]));
	must(clRetainKernel(second[1]));
	must(clReleaseKernel(second[1]));
	must(clReleaseKernel(second[1]));
	for (int i = 0; clean && i < 3; i++)
		must(clReleaseKernel(first[i]));
	for (int i = 0; clean && i < 5; i++)
		if (i != 1)
			must(clReleaseKernel(second[i]));
}

static void steps(void)
{
	cl_mem buffer = clCreateBuffer(context, 0, 64, NULL, NULL);
	int zero = 0;

	for (int i = 0; i < 100; i++) {
		cl_event event = clCreateUserEvent(context, NULL); /* line: event */

		if (i % 20 == 0) {
			must(clRetainEvent(event));
			must(clReleaseEvent(event));
		}
		must(clSetUserEventStatus(event, CL_COMPLETE));
		if (clean || i % 2)
			must(clReleaseEvent(event));
		must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(zero), &zero, 0, NULL,
					  &event)); /* line: write */
		must(clReleaseEvent(event));
	}
	must(clReleaseMemObject(buffer));
}

int main(int argc, char **argv)
{
	const char *text = source;
	cl_platform_id platform;
	cl_device_id device;
	cl_sampler sampler;

	clean = argc > 1 && strcmp(argv[1], "clean") == 0;
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL); /* line: queue */
	program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	must(clBuildProgram(program, 0, NULL, "", NULL, NULL));
	sampler = make_sampler();
	if (!sampler)
		return 1;
	kernels();
	steps();
	if (clean) {
		must(clReleaseSampler(sampler));
		must(clReleaseCommandQueue(queue));
	}
	must(clReleaseProgram(program));
	must(clReleaseContext(context));
	return 0;
}
