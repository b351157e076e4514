/* SPDX-License-Identifier: Apache-2.0 */
/* The device's part of a strip, through OpenCL: one queue, nothing waited for but the edges. */
#include "drum.h"
#include "drum_cl.h"

#include <CL/cl.h>
#include <kymo/marker.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	char name[128];
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem now, next;
	size_t row_bytes;
} device;

static void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "drum: %s failed with OpenCL error %d\n", what, error);
	exit(EXIT_FAILURE);
}

/* The first platform's devices, one for each rank in turn. */
static cl_device_id find_device(int rank)
{
	cl_platform_id platform;
	cl_device_id devices[64];
	cl_uint n = 0;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, devices, &n) != CL_SUCCESS) {
		fprintf(stderr, "drum: no OpenCL device; clinfo -l lists what is there\n");
		exit(EXIT_FAILURE);
	}
	return devices[(cl_uint)rank % (n < 64 ? n : 64)];
}

static cl_mem make_buffer(const struct part *p, float *points)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				       device.row_bytes * (size_t)(p->rows + 2), points, &error);

	check(error, "clCreateBuffer");
	return buffer;
}

static void make_kernel(cl_device_id id)
{
	const char *source = drum_cl;
	cl_int error;
	cl_program program = clCreateProgramWithSource(device.context, 1, &source, NULL, &error);

	check(error, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &id, "", NULL, NULL), "clBuildProgram");
	device.kernel = clCreateKernel(program, "vibrate", &error);
	check(error, "clCreateKernel");
	clReleaseProgram(program);
}

void device_setup(const struct part *p, int rank)
{
	cl_device_id id = find_device(rank);
	const cl_float rate = RATE;
	cl_int error;

	clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(device.name) - 1, device.name, NULL);
	device.context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
	check(error, "clCreateContext");
	device.queue = clCreateCommandQueue(device.context, id, 0, &error);
	check(error, "clCreateCommandQueue");
	kymo_name(KYMO_OBJECT_QUEUE, "opencl", (uint64_t)(uintptr_t)device.queue, "membrane");
	device.row_bytes = sizeof(float) * (size_t)p->width;
	device.now = make_buffer(p, p->now);
	device.next = make_buffer(p, p->next);
	make_kernel(id);
	check(clSetKernelArg(device.kernel, 2, sizeof(cl_int), &p->width), "clSetKernelArg");
	check(clSetKernelArg(device.kernel, 3, sizeof(rate), &rate), "clSetKernelArg");
}

const char *device_name(void)
{
	return device.name;
}

static void read_row(cl_mem from, int number, float *to)
{
	check(clEnqueueReadBuffer(device.queue, from, CL_FALSE, device.row_bytes * (size_t)number,
				  device.row_bytes, to, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
}

static void write_row(cl_mem to, int number, const float *from)
{
	check(clEnqueueWriteBuffer(device.queue, to, CL_FALSE, device.row_bytes * (size_t)number,
				   device.row_bytes, from, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
}

void device_vibrate(const struct part *p, float *last)
{
	const size_t points[2] = {(size_t)p->width - 2, (size_t)p->rows};
	cl_mem swap = device.now;

	check(clSetKernelArg(device.kernel, 0, sizeof(cl_mem), &device.now), "clSetKernelArg");
	check(clSetKernelArg(device.kernel, 1, sizeof(cl_mem), &device.next), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(device.queue, device.kernel, 2, NULL, points, NULL, 0, NULL,
				     NULL),
	      "clEnqueueNDRangeKernel");
	read_row(device.next, 1, row(p->next, p, 1));
	read_row(device.next, p->rows, last);
	check(clFlush(device.queue), "clFlush");
	device.now = device.next;
	device.next = swap;
}

void device_wait(void)
{
	check(clFinish(device.queue), "clFinish");
}

void device_surround(const struct part *p, const float *above, const float *below)
{
	write_row(device.now, 0, above);
	write_row(device.now, p->rows + 1, below);
}

void device_read(const struct part *p)
{
	check(clEnqueueReadBuffer(device.queue, device.now, CL_TRUE, 0,
				  device.row_bytes * (size_t)(p->rows + 2), p->now, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
}

void device_release(void)
{
	clReleaseMemObject(device.now);
	clReleaseMemObject(device.next);
	clReleaseKernel(device.kernel);
	clReleaseCommandQueue(device.queue);
	clReleaseContext(device.context);
}
