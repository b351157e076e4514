/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something to select from: a thread for each device, each with numbered steps and a range inside these,
 * transfers by a function of their own, marks, a buffer each.
 *
 *     select_program STEPS [WAIT [turns]]: with WAIT, milliseconds of sleep after each step; threads launch by turns
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <CL/cl.h>
#include <kymo/marker.h>

#define N       4096
#define DEVICES 2
/* So large that handles of other objects lie in as many bytes behind that of a buffer. */
#define BYTES ((size_t)256 << 20)

static const char *source = "kernel void scale(global float *x) { x[get_global_id(0)] *= 2; }\n"
			    "kernel void shift(global float *x) { x[get_global_id(0)] += 1; }\n";
static int steps;
static unsigned wait_ms;

/* By turns: of two threads that launch at once, who is first is nobody's knowledge. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turns, turn;

struct worker {
	cl_context context;
	cl_command_queue queue;
	cl_kernel scale, shift;
	cl_mem data;
	pthread_t thread;
	int number;
};

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "select_program: %s\n", what);
	exit(1);
}

__attribute__((noinline)) static void move_data(struct worker *w)
{
	static _Thread_local float x[N];

	clEnqueueWriteBuffer(w->queue, w->data, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
	clEnqueueReadBuffer(w->queue, w->data, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
}

static void run(struct worker *w, cl_kernel kernel)
{
	const size_t size = N;

	clSetKernelArg(kernel, 0, sizeof(w->data), &w->data);
	need(clEnqueueNDRangeKernel(w->queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL) ==
		     CL_SUCCESS,
	     "enqueue");
}

static void await_turn(int of)
{
	pthread_mutex_lock(&lock);
	while (turns && turn != of)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void end_turn(int of)
{
	pthread_mutex_lock(&lock);
	turn = (of + 1) % DEVICES;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* The work of a step may end after it: nothing waits for it in the odd ones. */
static void step(struct worker *w, int i)
{
	kymo_range_push("step");
	await_turn(w->number);
	run(w, w->scale);
	kymo_range_push("inner");
	run(w, w->shift);
	kymo_range_pop();
	end_turn(w->number);
	if (i % 2 == 0)
		clFinish(w->queue);
	kymo_range_pop();
	if (wait_ms)
		usleep(wait_ms * 1000);
}

static void *work(void *data)
{
	struct worker *w = data;

	kymo_range_push("work");
	move_data(w);
	for (int i = 0; i < steps; i++)
		step(w, i);
	clFinish(w->queue);
	kymo_range_pop();
	await_turn(w->number);
	run(w, w->shift);
	end_turn(w->number);
	clFinish(w->queue);
	clReleaseMemObject(w->data); /* another thread's, whose records come first */
	return NULL;
}

static void begin(struct worker *w, cl_device_id device)
{
	cl_program program;
	cl_int error;

	w->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	need(error == CL_SUCCESS, "context");
	w->queue = clCreateCommandQueue(w->context, device, 0, &error);
	program = clCreateProgramWithSource(w->context, 1, &source, NULL, &error);
	need(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "build");
	w->scale = clCreateKernel(program, "scale", &error);
	w->shift = clCreateKernel(program, "shift", &error);
	clReleaseProgram(program);
	w->data = clCreateBuffer(w->context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
	need(error == CL_SUCCESS, "buffer");
}

int main(int argc, char **argv)
{
	struct worker w[DEVICES];
	cl_device_id device[DEVICES];
	cl_platform_id platform;
	cl_uint n;

	steps = argc > 1 ? atoi(argv[1]) : 10;
	wait_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	turns = argc > 3;
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, device, &n) != CL_SUCCESS)
		return 77;
	for (int i = 0; i < DEVICES; i++) {
		w[i].number = i;
		begin(&w[i], device[(cl_uint)i < n ? i : 0]);
	}
	kymo_mark("ready");
	for (int i = 0; i < DEVICES; i++)
		need(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0, "thread");
	for (int i = 0; i < DEVICES; i++)
		pthread_join(w[i].thread, NULL);
	kymo_mark("done");
	return 0;
}
