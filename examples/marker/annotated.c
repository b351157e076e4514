/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An iteration on a device with its phases as ranges, so that a summary can say what each of them
 * costs:  kymo run annotated && kymo summary --by scope,op annotated-*.kymo
 */
#include <stdio.h>
#include <stdlib.h>

#include <CL/cl.h>
#include <kymo/marker.h>

#define N     65536
#define STEPS 5

static const char *source = "kernel void scale(global float *x) { x[get_global_id(0)] *= 2; }\n"
			    "kernel void shift(global float *x) { x[get_global_id(0)] += 1; }\n";

static kymo_string_t step_name = KYMO_STRING("step");

struct device {
	cl_context context;
	cl_command_queue queue;
	cl_kernel scale, shift;
	cl_mem data;
};

static int setup(struct device *d)
{
	cl_platform_id platform;
	cl_device_id id;
	cl_program program;
	cl_int error;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) != CL_SUCCESS)
		return 0;
	d->context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
	d->queue = clCreateCommandQueue(d->context, id, 0, &error);
	kymo_name(KYMO_OBJECT_QUEUE, "opencl", (uint64_t)(uintptr_t)d->queue, "work");
	kymo_range_push("build");
	program = clCreateProgramWithSource(d->context, 1, &source, NULL, &error);
	error = clBuildProgram(program, 1, &id, "", NULL, NULL);
	kymo_range_pop();
	if (error != CL_SUCCESS)
		return 0;
	d->scale = clCreateKernel(program, "scale", &error);
	d->shift = clCreateKernel(program, "shift", &error);
	clReleaseProgram(program);
	d->data = clCreateBuffer(d->context, CL_MEM_READ_WRITE, N * sizeof(float), NULL, &error);
	return error == CL_SUCCESS;
}

static void step(struct device *d, int i)
{
	const size_t size = N;
	kymo_payload_t number = kymo_int64("number", i);
	kymo_marker_t m = {
		.size = sizeof(m), .string = &step_name, .payload = &number, .payload_count = 1};

	kymo_range_push_full(&m);
	clSetKernelArg(d->scale, 0, sizeof(d->data), &d->data);
	clEnqueueNDRangeKernel(d->queue, d->scale, 1, NULL, &size, NULL, 0, NULL, NULL);
	kymo_range_push("shift");
	clSetKernelArg(d->shift, 0, sizeof(d->data), &d->data);
	clEnqueueNDRangeKernel(d->queue, d->shift, 1, NULL, &size, NULL, 0, NULL, NULL);
	kymo_range_pop();
	kymo_range_pop();
}

int main(void)
{
	static float x[N];
	struct device d;

	kymo_name_thread("driver");
	kymo_range_push("setup");
	if (!setup(&d)) {
		puts("no OpenCL device");
		return 77;
	}
	kymo_range_pop();
	kymo_range_push("solve");
	clEnqueueWriteBuffer(d.queue, d.data, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
	for (int i = 0; i < STEPS; i++)
		step(&d, i);
	clFinish(d.queue);
	kymo_range_pop();
	clEnqueueReadBuffer(d.queue, d.data, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
	printf("%g\n", (double)x[N - 1]);
	clReleaseMemObject(d.data);
	clReleaseKernel(d.scale);
	clReleaseKernel(d.shift);
	clReleaseCommandQueue(d.queue);
	clReleaseContext(d.context);
	return 0;
}
