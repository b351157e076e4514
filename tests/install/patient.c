/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that somebody looks at late: it makes a kernel, waits until the FIFO ATTACH has a
 * reader, runs the kernel until its input ends, then makes and runs another.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <CL/cl.h>

static const char *source = "kernel void early(global int *x) { x[get_global_id(0)] += 1; }\n"
			    "kernel void later(global int *x) { x[get_global_id(0)] *= 2; }\n";

static cl_command_queue queue;
static cl_mem memory;

static int run(cl_kernel kernel)
{
	const size_t size = 256;

	return clSetKernelArg(kernel, 0, sizeof(memory), &memory) ||
	       clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL) ||
	       clFinish(queue);
}

static cl_program build(cl_device_id device)
{
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);

	queue = clCreateCommandQueue(context, device, 0, NULL);
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 1024, NULL, NULL);
	return clBuildProgram(program, 1, &device, "", NULL, NULL) ? NULL : program;
}

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	cl_platform_id platform;
	cl_device_id device;
	cl_program program;
	cl_kernel early;
	int fifo, over;

	alarm(100); /* nobody came */
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	program = build(device);
	early = program ? clCreateKernel(program, "early", NULL) : NULL;
	fifo = early && run(early) == 0 ? open(getenv("ATTACH"), O_WRONLY) : -1;
	if (fifo < 0 || write(fifo, "go\n", 3) != 3 || close(fifo) != 0)
		return 1;
	do {
		over = poll(&input, 1, 0) > 0;
		if (run(early))
			return 1;
	} while (!over);
	return run(clCreateKernel(program, "later", NULL));
}
