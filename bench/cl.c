/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program on OpenCL that does one thing again and again, for run.py to run with and without
 * Kymo. Prints what a round took, by the clock and on processors (the device is one here).
 *
 *   cl start             context, queue and nothing else
 *   cl kernels ROUNDS    a tiny kernel enqueued and finished
 *   cl batch ROUNDS      the same, finished once every hundred
 *   cl timed-kernels, timed-batch
 *                        the same, the program asking for device times itself: what timing costs
 *                        on this platform whoever does it
 *   cl arguments ROUNDS  clSetKernelArg, the cheapest call that programs make often
 *
 * A third argument `turns` does so many rounds for each line of standard input, and prints what they
 * took: run.py gives several programs their turns, so that what else the machine does meets all of them.
 */
#define CL_TARGET_OPENCL_VERSION 120

#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem memory;
static bool timed;
static cl_event events[100]; /* of kernels not finished yet, when timed */

static void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "cl: %s: error %d\n", what, error);
	exit(3);
}

static void open_device(cl_device_id *device)
{
	cl_platform_id platform;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, device, NULL, NULL, &error);
	check(error, "clCreateContext");
	queue = clCreateCommandQueue(context, *device, timed ? CL_QUEUE_PROFILING_ENABLE : 0,
				     &error);
	check(error, "clCreateCommandQueue");
}

static void make_kernel(cl_device_id device)
{
	const char *source = "__kernel void one(__global int *p) { p[get_global_id(0)] += 1; }";
	cl_int error;
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);

	check(error, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "one", &error);
	check(error, "clCreateKernel");
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &error);
	check(error, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(memory), &memory), "clSetKernelArg");
}

static void take_times(unsigned long count)
{
	static const cl_profiling_info what[] = {
		CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
		CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
	cl_ulong t;

	for (unsigned long i = 0; i < count; i++) {
		for (unsigned k = 0; k < 4; k++)
			check(clGetEventProfilingInfo(events[i], what[k], sizeof(t), &t, NULL),
			      "clGetEventProfilingInfo");
		check(clReleaseEvent(events[i]), "clReleaseEvent");
	}
}

static void kernels(unsigned long rounds, unsigned long each)
{
	size_t global = 1, local = 1;

	for (unsigned long i = 0; i < rounds; i++) {
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
					     timed ? &events[i % each] : NULL),
		      "clEnqueueNDRangeKernel");
		if ((i + 1) % each != 0 && i + 1 != rounds)
			continue;
		check(clFinish(queue), "clFinish");
		if (timed)
			take_times(i % each + 1);
	}
}

static void arguments(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		clSetKernelArg(kernel, 0, sizeof(memory), &memory);
}

static void run(const char *what, unsigned long rounds)
{
	if (strcmp(what, "kernels") == 0)
		kernels(rounds, 1);
	else if (strcmp(what, "batch") == 0)
		kernels(rounds, 100);
	else
		arguments(rounds);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_timed(const char *what, unsigned long rounds)
{
	double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);

	run(what, rounds);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	begin = now(CLOCK_MONOTONIC) - begin;
	printf("rounds=%lu ns=%.3f cpu_ns=%.3f\n", rounds, begin * 1e9 / (double)rounds,
	       cpu * 1e9 / (double)rounds);
	fflush(stdout);
}

static void run_turns(const char *what, unsigned long rounds)
{
	int c;

	while ((c = getchar()) != EOF)
		if (c == '\n')
			run_timed(what, rounds);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	cl_device_id device;
	const char *what = argc > 1 ? argv[1] : "";
	bool turns = argc > 3 && strcmp(argv[3], "turns") == 0;

	if (argc < 2 || (argc < 3 && strcmp(what, "start") != 0)) {
		fputs("usage: cl start | [timed-]kernels ROUNDS | [timed-]batch ROUNDS | "
		      "arguments ROUNDS [turns]\n",
		      stderr);
		return 2;
	}
	timed = strncmp(what, "timed-", 6) == 0;
	what += timed ? 6 : 0;
	open_device(&device);
	if (rounds) {
		make_kernel(device);
		run(what, rounds / 10 + 1);
		if (turns)
			run_turns(what, rounds);
		else
			run_timed(what, rounds);
	}
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
