/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setting up OpenCL, as every program has it somewhere. PoCL's devices are the host's processors,
 * which would make all times depend on who else uses them: kernels here compute what they compute
 * and then rest in the function takes(), as if another processor were busy for that long. With
 * POCL_MAX_PTHREAD_COUNT=4 the device has four compute units that rest side by side.
 */
#ifndef DIAGNOSE_OCL_H
#define DIAGNOSE_OCL_H

#include <CL/cl.h>
#include <string.h>

#include "work.h"

enum { OCL_DEVICES = 4, OCL_KEPT = 32 };

struct ocl {
	cl_platform_id platform;
	cl_device_id device[OCL_DEVICES];
	cl_uint devices;
	cl_context context;
};

/* Programs and kernels, until ocl_close(). */
static cl_program ocl_programs[OCL_KEPT];
static cl_kernel ocl_kernels[OCL_KEPT];
static unsigned ocl_program_count, ocl_kernel_count;

static inline void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "%s failed with OpenCL error %d\n", what, error);
	exit(EXIT_FAILURE);
}

static inline struct ocl ocl_open(void)
{
	struct ocl o = {0};
	cl_int error;

	if (clGetPlatformIDs(1, &o.platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(o.platform, CL_DEVICE_TYPE_ALL, OCL_DEVICES, o.device, &o.devices)) {
		fprintf(stderr, "no OpenCL device\n");
		exit(77);
	}
	o.devices = o.devices < OCL_DEVICES ? o.devices : OCL_DEVICES;
	o.context = clCreateContext(NULL, o.devices, o.device, NULL, NULL, &error);
	check(error, "clCreateContext");
	return o;
}

static inline cl_command_queue ocl_queue(const struct ocl *o, cl_uint device,
					 cl_command_queue_properties properties)
{
	cl_int error;
	cl_command_queue q =
		clCreateCommandQueue(o->context, o->device[device], properties, &error);

	check(error, "clCreateCommandQueue");
	return q;
}

static const char ocl_takes[] =
	"void takes(ulong us)\n"
	"{\n"
	"	ulong t[2];\n"
	"	long r;\n"
	"	t[0] = us / 1000000; t[1] = us % 1000000 * 1000;\n"
	"	__asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(35L), \"D\"(t), \"S\"(0L)\n"
	"			 : \"rcx\", \"r11\", \"memory\");\n"
	"}\n";

static inline cl_program ocl_build(const struct ocl *o, const char *source, const char *options)
{
	const char *sources[2] = {ocl_takes, source};
	char log[8192] = "";
	cl_int error;
	cl_program p = clCreateProgramWithSource(o->context, 2, sources, NULL, &error);

	check(error, "clCreateProgramWithSource");
	error = clBuildProgram(p, o->devices, o->device, options, NULL, NULL);
	if (error != CL_SUCCESS) {
		clGetProgramBuildInfo(p, o->device[0], CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
				      NULL);
		fprintf(stderr, "%s\n", log);
	}
	check(error, "clBuildProgram");
	if (ocl_program_count < OCL_KEPT)
		ocl_programs[ocl_program_count++] = p;
	return p;
}

static inline cl_kernel ocl_kernel(cl_program program, const char *name)
{
	cl_int error;
	cl_kernel k = clCreateKernel(program, name, &error);

	check(error, name);
	if (ocl_kernel_count < OCL_KEPT)
		ocl_kernels[ocl_kernel_count++] = k;
	return k;
}

static inline cl_mem ocl_buffer(const struct ocl *o, size_t size)
{
	cl_int error;
	cl_mem m = clCreateBuffer(o->context, CL_MEM_READ_WRITE, size, NULL, &error);

	check(error, "clCreateBuffer");
	return m;
}

static inline void ocl_set(cl_kernel k, cl_uint index, size_t size, const void *value)
{
	check(clSetKernelArg(k, index, size, value), "clSetKernelArg");
}

static inline void ocl_set_mem(cl_kernel k, cl_uint index, cl_mem value)
{
	ocl_set(k, index, sizeof(value), &value);
}

static inline void ocl_set_int(cl_kernel k, cl_uint index, cl_int value)
{
	ocl_set(k, index, sizeof(value), &value);
}

static inline void ocl_close(const struct ocl *o)
{
	while (ocl_kernel_count)
		clReleaseKernel(ocl_kernels[--ocl_kernel_count]);
	while (ocl_program_count)
		clReleaseProgram(ocl_programs[--ocl_program_count]);
	clReleaseContext(o->context);
}

#endif
