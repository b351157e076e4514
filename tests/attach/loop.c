/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of OpenCL that has begun when Kymo comes: it runs the kernel "twice" again and again on a queue that it
 * made before, waits for it, and checks what it computed. A line on its input ends it; it prints how many kernels it
 * ran between the lines "from" and "to", when the first and last of all began, and whether the numbers are right.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 1024, MOST = 1 << 20 };

static const char *const source =
	"__kernel void twice(__global int *x) { x[get_global_id(0)] = 2 * get_global_id(0) + 1; }";
static atomic_bool over;
static unsigned long long begun[MOST];

static void *wait_for_line(void *unused)
{
	char line[64];

	if (fgets(line, sizeof(line), stdin))
		atomic_store(&over, true);
	return NULL;
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

int main(void)
{
	const struct timespec nap = {0, 1000000};
	unsigned n = 0, wrong = 0;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;
	size_t items = N;
	int out[N];
	pthread_t reader;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	program = clCreateProgramWithSource(context, 1, (const char **)(void *)&source, NULL, NULL);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
		return 2;
	kernel = clCreateKernel(program, "twice", NULL);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(out), NULL, NULL);
	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	printf("ready\n");
	fflush(stdout);
	pthread_create(&reader, NULL, wait_for_line, NULL);
	while (!atomic_load(&over) && n < MOST) {
		begun[n++] = now();
		memset(out, 0, sizeof(out));
		wrong += clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL,
						NULL) != CL_SUCCESS;
		wrong += clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(out), out, 0, NULL,
					     NULL) != CL_SUCCESS;
		wrong += out[N - 1] != 2 * (N - 1) + 1;
		nanosleep(&nap, NULL);
	}
	pthread_join(reader, NULL);
	printf("rounds %u wrong %u\n", n, wrong);
	for (unsigned i = 0; i < n; i++)
		printf("0 %llu\n", begun[i]);
	clReleaseMemObject(buffer);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
