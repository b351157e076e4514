/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that idles while the thread that feeds it waits, for MS milliseconds at least, and launches again: for who holds a
 * lock, in a sleep, in poll(), in a read from a pipe; or, beside, another thread waits for a lock while this one does not.
 *
 *	lock_idle_program MS [lock|sleep|poll|file|beside]
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int pipes[2];

static void pause_for_ms(void)
{
	const struct timespec length = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&length, NULL); /* what is measured */
}

static void *write_late(void *data)
{
	pause_for_ms();
	return write(pipes[1], "x", 1) == 1 ? data : NULL;
}

static void *wait_for_lock(void *data)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void wait_for_holder(void)
{
	pthread_t thread;

	pthread_barrier_init(&taken, NULL, 2);
	pthread_create(&thread, NULL, hold, NULL);
	pthread_barrier_wait(&taken);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static void read_what_comes_late(void)
{
	pthread_t thread;
	char byte;

	if (pipe(pipes) != 0)
		exit(1);
	pthread_create(&thread, NULL, write_late, NULL);
	if (read(pipes[0], &byte, 1) != 1)
		exit(1);
	pthread_join(thread, NULL);
}

/* Threads that wait for each other, and not for the device; it is not waited for either. */
static void begin_beside(pthread_t threads[2])
{
	pthread_barrier_init(&taken, NULL, 2);
	pthread_create(&threads[0], NULL, hold, NULL);
	pthread_barrier_wait(&taken);
	pthread_create(&threads[1], NULL, wait_for_lock, NULL);
}

static void wait_somehow(const char *how)
{
	if (strcmp(how, "lock") == 0)
		wait_for_holder();
	else if (strcmp(how, "sleep") == 0)
		pause_for_ms();
	else if (strcmp(how, "poll") == 0)
		poll(NULL, 0, (int)ms);
	else if (strcmp(how, "file") == 0)
		read_what_comes_late();
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "lock";
	const size_t size = 1 << 16;
	cl_platform_id platform;
	cl_command_queue queue;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_kernel kernel;
	cl_mem data;
	pthread_t threads[2];
	const int beside = strcmp(how, "beside") == 0;

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
	if (beside)
		begin_beside(threads);
	for (int i = 0; i < (beside ? 400 : 4); i++) {
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
		if (!beside || i % 100 == 99)
			clFinish(queue);
		if (i == 2 && !beside)
			wait_somehow(how);
	}
	for (int i = 0; beside && i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
