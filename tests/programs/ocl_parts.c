/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All devices of the first platform, each whole and as two parts (sub-devices) of a compute unit: each whole
 * and each part runs its own number of kernels: 1, 2, 3 of the first device, then 4, 5, 6.
 */
#include "support.h"

enum { DEVICES = 8, PARTS = 2, SIZE = 1 << 12 };

static const char source[] = "kernel void work(global float *a, int n)\n"
			     "{\n"
			     "	float x = a[get_global_id(0)];\n"
			     "	for (int k = 0; k < n; k++)\n"
			     "		x = x * 1.0001f + 1;\n"
			     "	a[get_global_id(0)] = x;\n"
			     "}\n";

/* So many kernels, and one copy to the device. */
static void work_on(cl_device_id device, int launches)
{
	const size_t global = SIZE / sizeof(float);
	cl_context context = make_context(device);
	cl_command_queue queue = make_queue(context, device, 0);
	cl_program program = make_program(context, source);
	cl_kernel kernel = make_kernel(program, "work");
	cl_mem buffer = make_buffer(context, SIZE);
	const int steps = 100;
	const float data[SIZE / sizeof(float)] = {0};

	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL);
	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);
	CHECK(clSetKernelArg, kernel, 1, sizeof(steps), &steps);
	for (int i = 0; i < launches; i++)
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	CHECK(clFinish, queue);
	CHECK(clReleaseMemObject, buffer);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
}

int main(int argc, char **argv)
{
	const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
	const struct program_option options[] = {{0}};
	cl_device_id devices[DEVICES], parts[PARTS];
	cl_platform_id platform;
	cl_uint n;
	int launches = 1;

	program_start("ocl_parts", argc, argv, options);
	CHECK(clGetPlatformIDs, 1, &platform, NULL);
	CHECK(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &n);
	n = n > DEVICES ? DEVICES : n;
	for (cl_uint i = 0; i < n; i++) {
		cl_uint made = 0;

		if (CALL(clCreateSubDevices, devices[i], halves, PARTS, parts, &made) != CL_SUCCESS)
			made = 0;
		work_on(devices[i], launches++);
		for (cl_uint k = 0; k < made; k++)
			work_on(parts[k], launches++);
		tally_fact(i ? "parts_1" : "parts_0", made);
	}
	tally_fact("devices", n);
	return program_end();
}
