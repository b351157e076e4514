/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many commands under way at a time: ocl_flood COMMANDS PROCESSES ENDING. Each process gives COMMANDS
 * to two queues by turns, kernels to the first and fills of 4 bytes to the second, that wait for an
 * event. ENDING kill: the event is never set, the process kills itself; end: it is set, everything
 * finishes. rounds: so it does, three times, and then come three commands that wait for ever.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char source[] = "kernel void advance(global int *cells) { cells[0]++; }\n";

static cl_context context;
static cl_command_queue queues[2];
static cl_mem buffers[2];
static cl_kernel step;

static void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "ocl_flood: %s: error %d\n", what, error);
	_exit(2);
}

static void prepare(void)
{
	const char *text = source;
	cl_platform_id platform;
	cl_program program;
	cl_device_id device;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	step = clCreateKernel(program, "advance", NULL);
	for (unsigned i = 0; i < 2; i++) {
		queues[i] = clCreateCommandQueue(context, device, 0, NULL);
		buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
	}
	check(clSetKernelArg(step, 0, sizeof(buffers[0]), &buffers[0]), "clSetKernelArg");
}

static cl_event submit(long commands)
{
	cl_event gate = clCreateUserEvent(context, NULL);
	const size_t one = 1;
	const int zero = 0;

	for (long i = 0; i < commands; i++) {
		cl_uint waits = i < 2; /* the rest wait for what is before them */
		const cl_event *first = waits ? &gate : NULL;

		if (i % 2 == 0)
			check(clEnqueueNDRangeKernel(queues[0], step, 1, NULL, &one, NULL, waits,
						     first, NULL),
			      "clEnqueueNDRangeKernel");
		else
			check(clEnqueueFillBuffer(queues[1], buffers[1], &zero, sizeof(zero), 0, 4,
						  waits, first, NULL),
			      "clEnqueueFillBuffer");
	}
	return gate;
}

static void complete(long commands)
{
	cl_event gate = submit(commands);

	check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
	check(clFinish(queues[0]), "clFinish");
	check(clFinish(queues[1]), "clFinish");
	clReleaseEvent(gate);
}

static void flood(long commands, const char *how)
{
	prepare();
	if (strcmp(how, "end") == 0) {
		complete(commands);
		return;
	}
	for (int i = 0; strcmp(how, "rounds") == 0 && i < 3; i++)
		complete(commands);
	submit(strcmp(how, "rounds") == 0 ? 3 : commands);
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	long commands, processes;

	if (argc != 4)
		return 2;
	commands = atol(argv[1]);
	processes = atol(argv[2]);
	for (long i = 1; i < processes; i++) {
		if (fork() == 0) {
			flood(commands, argv[3]);
			return 0;
		}
	}
	while (processes > 1 && wait(NULL) > 0)
		;
	flood(commands, argv[3]);
	return 0;
}
