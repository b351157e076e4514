/* SPDX-License-Identifier: Apache-2.0 */
/* Builds three programs for all devices at once: one with four kernels, one twice, one with a mistake in it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES = 4 };

static cl_context context;
static cl_device_id devices[DEVICES];
static cl_uint count;

static void check(cl_int error, cl_int wanted, const char *what)
{
	if (error == wanted)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}

static void build(const char *source, int times, cl_int wanted)
{
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	cl_kernel kernels[4];
	cl_uint made = 0;

	for (int i = 0; i < times; i++)
		check(clBuildProgram(program, count, devices, NULL, NULL, NULL), wanted,
		      "clBuildProgram");
	if (wanted != CL_SUCCESS)
		return;
	check(clCreateKernelsInProgram(program, 4, kernels, &made), CL_SUCCESS,
	      "clCreateKernelsInProgram");
	for (cl_uint i = 0; i < made; i++)
		clReleaseKernel(kernels[i]);
}

int main(void)
{
	cl_platform_id platform;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS, "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &count), CL_SUCCESS,
	      "clGetDeviceIDs");
	context = clCreateContext(NULL, count, devices, NULL, NULL, &error);
	check(error, CL_SUCCESS, "clCreateContext");
	build("kernel void a(global int *p) { *p = 1; } kernel void b(global int *p) { *p = 2; }"
	      "kernel void c(global int *p) { *p = 3; } kernel void d(global int *p) { *p = 4; }",
	      1, CL_SUCCESS);
	build("kernel void twice(global int *p) { *p = 5; }", 2, CL_SUCCESS);
	build("kernel void broken(global int *p) { *p = no_such_name; }", 1,
	      CL_BUILD_PROGRAM_FAILURE);
	return 0;
}
