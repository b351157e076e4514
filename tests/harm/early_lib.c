/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is used before main() and after it: its constructor makes 5 marks and runs 5
 * kernels, its destructor makes 3 and runs 3. EARLY_ONLY=marker leaves the kernels out.
 */
#include <stdlib.h>
#include <string.h>

#include <kymo/marker.h>

#ifdef HAVE_OPENCL
#include <CL/cl.h>

static cl_command_queue queue;
static cl_kernel kernel;

static void check(cl_int status)
{
	if (status != CL_SUCCESS)
		exit(77);
}

static void prepare(void)
{
	const char *text = "kernel void early(global int *p) { p[get_global_id(0)]++; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_mem memory;
	cl_int status;

	check(clGetPlatformIDs(1, &platform, NULL));
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status);
	queue = clCreateCommandQueue(context, device, 0, &status);
	check(status);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	check(status);
	check(clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "early", &status);
	check(status);
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64 * sizeof(cl_int), NULL, &status);
	check(status);
	check(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
}

static void run_kernel(void)
{
	size_t size = 64;

	if (!queue)
		prepare();
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
	check(clFinish(queue));
}
#else
static void run_kernel(void)
{
}
#endif

void early_work(int times);

void early_work(int times)
{
	const char *only = getenv("EARLY_ONLY");

	for (int i = 0; i < times; i++) {
		if (!only || strcmp(only, "opencl") != 0)
			kymo_mark("early");
		if (!only || strcmp(only, "marker") != 0)
			run_kernel();
	}
}

__attribute__((constructor)) static void loaded(void)
{
	early_work(5);
}

__attribute__((destructor)) static void unloaded(void)
{
	early_work(3);
}
