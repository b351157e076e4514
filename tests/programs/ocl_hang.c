/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that never finishes on two devices, or two queues of one: ocl_hang ENDING [POLLS]. A kernel
 * `endless` runs for ever on the first, a kernel `gated` and a fill of 4096 bytes wait on the second
 * for an event that is never set; a thread of its own gives them in. Before that five kernels `quick`
 * finish, POLLS queries of an event are made, and what is refused or no work is given in: a kernel
 * without its arguments, a marker. Prints "ready" and ends as ENDING says: kill, segv, abort, quit
 * (_exit), leave (exit), wait (until it is killed).
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
	"kernel void quick(global int *cells) { cells[get_global_id(0)]++; }\n"
	"kernel void endless(global volatile int *cells) { while (cells[0] >= 0) cells[1]++; }\n"
	"kernel void gated(global int *cells) { cells[get_global_id(0)]--; }\n";

static const size_t global = 4;
static cl_context context;
static cl_program program;
static cl_command_queue queues[2];
static cl_mem buffers[2];
static int zeros[1024]; /* below zero `endless` would end */

static void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "ocl_hang: %s: error %d\n", what, error);
	exit(2);
}

static void prepare(void)
{
	const char *text = source;
	cl_device_id devices[2];
	cl_platform_id platform;
	cl_uint count;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count), "clGetDeviceIDs");
	count = count > 2 ? 2 : count;
	context = clCreateContext(NULL, count, devices, NULL, NULL, NULL);
	program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	check(clBuildProgram(program, count, devices, "", NULL, NULL), "clBuildProgram");
	for (unsigned i = 0; i < 2; i++) {
		queues[i] = clCreateCommandQueue(context, devices[i % count], 0, NULL);
		buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4096,
					    zeros, NULL);
	}
}

static cl_kernel kernel_of(const char *name, unsigned i)
{
	cl_kernel k = clCreateKernel(program, name, NULL);

	check(clSetKernelArg(k, 0, sizeof(buffers[i]), &buffers[i]), "clSetKernelArg");
	return k;
}

static void finish_some(long polls)
{
	cl_kernel quick = kernel_of("quick", 0), bare = clCreateKernel(program, "quick", NULL);
	cl_event last;
	cl_int status;

	for (int i = 0; i < 5; i++)
		check(clEnqueueNDRangeKernel(queues[0], quick, 1, NULL, &global, NULL, 0, NULL,
					     i == 4 ? &last : NULL),
		      "clEnqueueNDRangeKernel");
	check(clFinish(queues[0]), "clFinish");
	for (long i = 0; i < polls; i++)
		clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			       NULL);
	if (clEnqueueNDRangeKernel(queues[0], bare, 1, NULL, &global, NULL, 0, NULL, NULL) ==
	    CL_SUCCESS)
		check(-1, "a kernel without arguments was taken");
}

static void *hang(void *data)
{
	cl_event gate = clCreateUserEvent(context, NULL);
	static const int zero;

	check(clEnqueueNDRangeKernel(queues[0], kernel_of("endless", 0), 1, NULL, &global, NULL, 0,
				     NULL, NULL),
	      "endless");
	check(clEnqueueNDRangeKernel(queues[1], kernel_of("gated", 1), 1, NULL, &global, NULL, 1,
				     &gate, NULL),
	      "gated");
	check(clEnqueueFillBuffer(queues[1], buffers[1], &zero, sizeof(zero), 0, 4096, 0, NULL,
				  NULL),
	      "fill");
	check(clEnqueueMarkerWithWaitList(queues[1], 0, NULL, NULL), "marker");
	check(clFlush(queues[0]), "clFlush");
	check(clFlush(queues[1]), "clFlush");
	return NULL;
}

static void end(const char *how)
{
	volatile int *volatile nowhere = NULL;

	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "segv") == 0)
		*nowhere = 1; /* the runtime may have a handler that lets raise() pass */
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "quit") == 0)
		_exit(0);
	if (strcmp(how, "leave") == 0)
		exit(0);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	prepare();
	finish_some(argc > 2 ? atol(argv[2]) : 0);
	pthread_create(&thread, NULL, hang, NULL);
	pthread_join(thread, NULL);
	puts("ready");
	fflush(stdout);
	end(argv[1]);
}
