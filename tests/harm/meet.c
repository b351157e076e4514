/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meet WHAT N: two threads need the same definition for the first time, and the one that makes it is
 * stopped before its N-th lock (support/between.h); then all are killed. WHAT is a name (of a mark), a
 * blob (the source of two programs), the site of that call, a kernel (that stands for all functions of the host).
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kymo/marker.h>

#include "between.h"

static cl_context context;
static cl_device_id device;
static cl_command_queue queues[2];

static void prepare(void)
{
	cl_platform_id platform;
	cl_int error;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		exit(77);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	for (int i = 0; i < 2; i++)
		queues[i] = clCreateCommandQueue(context, device, 0, NULL);
}

static void nothing(void *data)
{
	(void)data;
}

static void native(cl_command_queue queue)
{
	if (clEnqueueNativeKernel(queue, nothing, NULL, 0, 0, NULL, NULL, 0, NULL, NULL) !=
	    CL_SUCCESS)
		exit(2);
	clFinish(queue);
}

static void mark(void)
{
	kymo_mark("meet");
}

static void source(void)
{
	const char *text = "kernel void met(global int *x) { *x = 1; }";

	clCreateProgramWithSource(context, 1, &text, NULL, NULL);
}

static void kernel_first(void)
{
	native(queues[0]);
}

static void kernel_second(void)
{
	native(queues[1]);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "name") == 0) {
		kymo_mark("before");
		between(n, mark, mark);
	}
	prepare();
	if (strcmp(argv[1], "blob") == 0 || strcmp(argv[1], "site") == 0)
		between(n, source, source);
	if (strcmp(argv[1], "kernel") == 0)
		between(n, kernel_first, kernel_second);
	return 2;
}
