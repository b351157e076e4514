/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of which it is known what it has done: it obeys a line at a time and answers when it is done.
 * "calls N" (of clGetDeviceInfo), "kernels DEVICE NAME N", "write DEVICE BYTES N", "read DEVICE BYTES N",
 * "allocate BYTES", "free" (the last one), "block" (a thread waits until "unblock").
 */
#include <CL/cl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, BUFFERS = 64, ROOM = 1 << 20 };

static const char source[] =
	"kernel void first(global float *x) { x[get_global_id(0)] += 1; }\n"
	"kernel void second(global float *x) { x[get_global_id(0)] *= 2; }\n"
	"kernel void _Z5scaleIfEvPT_(global float *x) { x[get_global_id(0)] *= 3; }\n";

static cl_device_id devices[DEVICES];
static cl_uint device_count;
static cl_context context;
static cl_command_queue queues[DEVICES];
static cl_program program;
static cl_mem memory, buffers[BUFFERS];
static unsigned buffer_count;
static cl_event blocked;
static pthread_t waiter;
static char bytes[ROOM];

static void must(cl_int status)
{
	if (status != CL_SUCCESS) {
		printf("OpenCL error %d\n", status);
		exit(1);
	}
}

static void begin(void)
{
	cl_platform_id platform;
	cl_int status;

	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &device_count));
	device_count = device_count < DEVICES ? device_count : DEVICES;
	context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
	must(status);
	for (unsigned i = 0; i < device_count; i++) {
		queues[i] = clCreateCommandQueue(context, devices[i], 0, &status);
		must(status);
	}
	program = clCreateProgramWithSource(context, 1, (const char *[]){source}, NULL, &status);
	must(status);
	must(clBuildProgram(program, device_count, devices, NULL, NULL, NULL));
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, ROOM, NULL, &status);
	must(status);
}

static void run_kernels(unsigned device, const char *name, unsigned n)
{
	const size_t size = 256;
	cl_int status;
	cl_kernel kernel = clCreateKernel(program, name, &status);

	must(status);
	must(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
	for (unsigned i = 0; i < n; i++)
		must(clEnqueueNDRangeKernel(queues[device], kernel, 1, NULL, &size, NULL, 0, NULL,
					    NULL));
	must(clFinish(queues[device]));
	must(clReleaseKernel(kernel));
}

static void *wait_there(void *data)
{
	must(clWaitForEvents(1, &blocked));
	return NULL;
}

static void block(void)
{
	cl_int status;

	blocked = clCreateUserEvent(context, &status);
	must(status);
	pthread_create(&waiter, NULL, wait_there, NULL);
}

static void unblock(void)
{
	must(clSetUserEventStatus(blocked, CL_COMPLETE));
	pthread_join(waiter, NULL);
	must(clReleaseEvent(blocked));
}

static void obey(const char *line)
{
	unsigned device, n, size;
	char name[16];
	cl_uint units;
	cl_int status;

	if (sscanf(line, "calls %u", &n) == 1) {
		for (unsigned i = 0; i < n; i++)
			must(clGetDeviceInfo(devices[0], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units),
					     &units, NULL));
	} else if (sscanf(line, "kernels %u %15s %u", &device, name, &n) == 3) {
		run_kernels(device, name, n);
	} else if (sscanf(line, "write %u %u %u", &device, &size, &n) == 3) {
		for (unsigned i = 0; i < n; i++)
			must(clEnqueueWriteBuffer(queues[device], memory, CL_TRUE, 0, size, bytes,
						  0, NULL, NULL));
	} else if (sscanf(line, "read %u %u %u", &device, &size, &n) == 3) {
		for (unsigned i = 0; i < n; i++)
			must(clEnqueueReadBuffer(queues[device], memory, CL_TRUE, 0, size, bytes, 0,
						 NULL, NULL));
	} else if (sscanf(line, "allocate %u", &size) == 1) {
		buffers[buffer_count++] =
			clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
		must(status);
	} else if (strcmp(line, "free\n") == 0) {
		must(clReleaseMemObject(buffers[--buffer_count]));
	} else if (strcmp(line, "block\n") == 0) {
		block();
	} else if (strcmp(line, "unblock\n") == 0) {
		unblock();
	} else {
		printf("what is %s", line);
		exit(1);
	}
}

int main(void)
{
	char line[128];

	begin();
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		printf("done\n");
	}
	return 0;
}
