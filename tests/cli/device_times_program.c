/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels on every OpenCL device there is, a queue and a thread for each: so that times of several
 * clocks are told at once. Prints how many devices; 77: there is none.
 */
#include <CL/cl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LAUNCHES 60

static const char *const source = "kernel void add(global float *x) { size_t i = get_global_id(0);"
				  " for (int k = 0; k < 2000; k++) x[i] = x[i] * 0.5f + 1.0f; }";

static void check(cl_int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %d\n", what, error);
	exit(1);
}

static void *work(void *arg)
{
	cl_device_id device = arg;
	size_t items = 4096;
	cl_int error;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem memory;

	check(error, "clCreateContext");
	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	check(error, "clCreateCommandQueue");
	program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &error);
	check(error, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "add", &error);
	check(error, "clCreateKernel");
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, items * sizeof(float), NULL, &error);
	check(error, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(memory), &memory), "clSetKernelArg");
	for (int i = 0; i < LAUNCHES; i++) {
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		check(clFinish(queue), "clFinish");
	}
	clReleaseMemObject(memory);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return NULL;
}

int main(void)
{
	cl_device_id devices[16];
	cl_platform_id platform;
	pthread_t threads[16];
	cl_uint count = 0;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count) || count == 0)
		return 77;
	count = count < 16 ? count : 16;
	for (cl_uint i = 0; i < count; i++)
		check(pthread_create(&threads[i], NULL, work, devices[i]), "pthread_create");
	for (cl_uint i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%u devices\n", count);
	return 0;
}
