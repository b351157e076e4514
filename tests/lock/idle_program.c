/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that idles while the thread that feeds it waits for a lock: launches, waits for who holds the lock, for MS
 * milliseconds at least, and launches again.
 *
 *	lock_idle_program MS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <CL/cl.h>

static const char *source = "kernel void scale(global float *x) { x[get_global_id(0)] *= 2; }\n";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t taken;
static long ms;

static void *hold(void *data)
{
	const struct timespec length = {ms / 1000, ms % 1000 * 1000000};

	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&taken);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL); /* what is measured */
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	const size_t size = 1 << 16;
	cl_platform_id platform;
	cl_command_queue queue;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_kernel kernel;
	cl_mem data;
	pthread_t thread;

	ms = argc > 1 ? atol(argv[1]) : 1;
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
		return 1;
	kernel = clCreateKernel(program, "scale", NULL);
	data = clCreateBuffer(context, CL_MEM_READ_WRITE, size * sizeof(float), NULL, NULL);
	clSetKernelArg(kernel, 0, sizeof(data), &data);
	pthread_barrier_init(&taken, NULL, 2);
	for (int i = 0; i < 4; i++) {
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
		clFinish(queue);
		if (i != 2)
			continue;
		pthread_create(&thread, NULL, hold, NULL);
		pthread_barrier_wait(&taken);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pthread_join(thread, NULL);
	}
	return 0;
}
