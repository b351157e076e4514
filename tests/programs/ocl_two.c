/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All devices of the first platform at once, each with two queues of its own, which is only
 * interesting where there are several (POCL_DEVICES="pthread pthread"): one build for all, kernels,
 * copies, fills and maps on each; commands that wait for nothing beside calls that do.
 */
#include "support.h"

#include <string.h>

enum { DEVICES = 8, SIZE = 1 << 16, ROUNDS = 5 };

static const char source[] = "kernel void work(global float *a, int n)\n"
			     "{\n"
			     "	float x = a[get_global_id(0)];\n"
			     "	for (int k = 0; k < n; k++)\n"
			     "		x = x * 1.0001f + 1;\n"
			     "	a[get_global_id(0)] = x;\n"
			     "}\n";
static char data[SIZE];

static void map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags)
{
	cl_int error;
	void *at = CALL(clEnqueueMapBuffer, queue, buffer, CL_TRUE, flags, 0, SIZE, 0, NULL, NULL,
			&error);

	check(error, "clEnqueueMapBuffer");
	tally_copy("map", SIZE);
	CHECK(clEnqueueUnmapMemObject, queue, buffer, at, 0, NULL, NULL);
	tally_copy("unmap", flags == CL_MAP_READ ? 0 : SIZE);
}

static void transfers(cl_command_queue queue, cl_mem buffer)
{
	const char zero = 0;

	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL);
	tally_copy("write", SIZE);
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL);
	tally_copy("read", SIZE);
	CHECK(clEnqueueFillBuffer, queue, buffer, &zero, 1, 0, SIZE, 0, NULL, NULL);
	tally_copy("fill", SIZE);
	map(queue, buffer, CL_MAP_READ);
	map(queue, buffer, CL_MAP_READ | CL_MAP_WRITE);
}

static void kernels(cl_command_queue queue, cl_device_id device, cl_kernel kernel, cl_mem buffer,
		    int steps)
{
	const size_t global = SIZE / sizeof(float);

	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);
	CHECK(clSetKernelArg, kernel, 1, sizeof(steps), &steps);
	for (int i = 0; i < ROUNDS; i++)
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	tally_kernels(queue, device, "work", global, ROUNDS);
}

static void queue_side(cl_command_queue queue)
{
	CHECK(clEnqueueMarkerWithWaitList, queue, 0, NULL, NULL);
	CHECK(clEnqueueBarrierWithWaitList, queue, 0, NULL, NULL);
}

int main(int argc, char **argv)
{
	const struct program_option options[] = {{0}};
	cl_device_id devices[DEVICES];
	cl_platform_id platform;
	cl_context context;
	cl_program program;
	cl_uint n;
	cl_int error;

	program_start("ocl_two", argc, argv, options);
	CHECK(clGetPlatformIDs, 1, &platform, NULL);
	CHECK(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &n);
	n = n > DEVICES ? DEVICES : n;
	context = CALL(clCreateContext, NULL, n, devices, NULL, NULL, &error);
	check(error, "clCreateContext");
	program =
		CALL(clCreateProgramWithSource, context, 1, (const char *[]){source}, NULL, &error);
	check(error, "clCreateProgramWithSource");
	CHECK(clBuildProgram, program, n, devices, "", NULL, NULL);
	for (cl_uint i = 0; i < 2 * n; i++) {
		cl_command_queue queue = make_queue(context, devices[i / 2], 0);
		cl_kernel kernel = make_kernel(program, "work");
		cl_mem buffer = make_buffer(context, SIZE);

		kernels(queue, devices[i / 2], kernel, buffer, 100 << i);
		transfers(queue, buffer);
		queue_side(queue);
		CHECK(clFinish, queue);
		CHECK(clReleaseMemObject, buffer);
		CHECK(clReleaseKernel, kernel);
		CHECK(clReleaseCommandQueue, queue);
	}
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseContext, context);
	tally_fact("devices", n);
	return program_end();
}
