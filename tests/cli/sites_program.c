/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels from several lines, on all devices, some by a library; copies; forgets some objects.
 * Lines that sites.py asks about end in a comment "site NAME"; what they do it knows.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

int library_launch(cl_command_queue queue, cl_kernel kernel);

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) != CL_SUCCESS) {                                                        \
			fprintf(stderr, "line %d\n", __LINE__);                                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define LAUNCH(queue, kernel, dims, items, block)                                                  \
	clEnqueueNDRangeKernel(queue, kernel, dims, NULL, items, block, 0, NULL, NULL)
#define WRITE(queue, buffer)                                                                       \
	clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(zeros), zeros, 0, NULL, NULL)

enum { DEVICES = 8 };

static const char source[] =
	"__kernel void mine(__global int *a) { if (get_global_id(0) == 0) a[0]++; }\n"
	"__kernel void ncclDevKernel_Sum(__global int *a) { a[0]++; }\n"
	"__kernel void Cijk_Ailk(__global int *a) { a[0]++; }\n";

static cl_context context;
static cl_kernel mine, nccl, tensile;
static char zeros[4096];

static void __attribute__((noinline)) work(cl_command_queue q)
{
	const size_t wide[2] = {64, 4}, block[2] = {16, 2};

	for (int i = 0; i < 3; i++)
		MUST(LAUNCH(q, mine, 2, wide, block)); /* site wide */
	MUST(clFinish(q));                             /* site finish */
}

static void __attribute__((noinline)) more(cl_command_queue q)
{
	const size_t narrow[1] = {96}, block[1] = {32};

	for (int i = 0; i < 5; i++)
		MUST(LAUNCH(q, mine, 1, narrow, block)); /* site narrow */
	for (int i = 0; i < 7; i++)
		MUST(library_launch(q, mine)); /* site library */
	for (int i = 0; i < 2; i++)
		MUST(LAUNCH(q, nccl, 1, narrow, NULL)); /* site nccl */
	MUST(LAUNCH(q, tensile, 1, narrow, NULL));      /* site tensile */
}

static void __attribute__((noinline)) copies(cl_command_queue q, cl_mem buffer)
{
	for (int i = 0; i < 4; i++)
		MUST(WRITE(q, buffer)); /* site write */
}

static void __attribute__((noinline)) forget(void)
{
	for (int i = 0; i < 2; i++) {
		if (!clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, NULL, NULL)) /* site leak */
			exit(1);
	}
	if (!clCreateBuffer(context, CL_MEM_READ_WRITE, 5000, NULL, NULL)) /* site large */
		exit(1);
}

int main(void)
{
	cl_device_id devices[DEVICES];
	cl_platform_id platform;
	cl_program program;
	cl_mem buffer;
	cl_uint n;

	MUST(clGetPlatformIDs(1, &platform, NULL));
	MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &n));
	n = n < DEVICES ? n : DEVICES;
	context = clCreateContext(NULL, n, devices, NULL, NULL, NULL);
	program = clCreateProgramWithSource(context, 1, (const char *[]){source}, NULL, NULL);
	MUST(clBuildProgram(program, n, devices, "", NULL, NULL));
	mine = clCreateKernel(program, "mine", NULL);
	nccl = clCreateKernel(program, "ncclDevKernel_Sum", NULL);
	tensile = clCreateKernel(program, "Cijk_Ailk", NULL);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(zeros), NULL, NULL);
	MUST(clSetKernelArg(mine, 0, sizeof(buffer), &buffer));
	MUST(clSetKernelArg(nccl, 0, sizeof(buffer), &buffer));
	MUST(clSetKernelArg(tensile, 0, sizeof(buffer), &buffer));
	for (cl_uint i = 0; i < n; i++) {
		cl_command_queue q = clCreateCommandQueue(context, devices[i], 0, NULL);

		work(q);
		more(q);
		copies(q, buffer);
		MUST(clFinish(q));
		MUST(clReleaseCommandQueue(q));
	}
	forget();
	MUST(clReleaseMemObject(buffer));
	printf("%u\n", n);
	return 0;
}
