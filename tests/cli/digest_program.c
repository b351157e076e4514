/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that one thing bounds beyond doubt, on one device: digest_program WHAT. That takes three times as
 * long as all that went before, however busy the machine is, and two seconds at least.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* SPIN is what the kernel is called. */
static const char source[] = "kernel void SPIN(global float *a, int n)\n"
			     "{\n"
			     "	float x = a[get_global_id(0)];\n"
			     "	for (int k = 0; k < n; k++)\n"
			     "		x = sin(x) + 1;\n"
			     "	a[get_global_id(0)] = x;\n"
			     "}\n";

enum { ITEMS = 64, ROUNDS = 20, BUILDS = 8, TRANSFER = 64 << 20 };

static cl_platform_id platform;
static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_mem buffer;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double begun;

/* Seconds that one thing has to take. */
static double long_enough(void)
{
	double so_far = 3 * (now() - begun);

	return so_far > 2 ? so_far : 2;
}

static void host_sleep(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&t, NULL);
}

static void use_device(void)
{
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, NULL);
}

static cl_kernel build_with(const char *options)
{
	const char *text = source;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	cl_kernel kernel = NULL;

	if (clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS)
		exit(1);
	clCreateKernelsInProgram(program, 1, &kernel, NULL);
	return kernel;
}

static cl_kernel build_called(const char *name)
{
	char options[128];

	snprintf(options, sizeof(options), "-DSPIN=%s", name);
	return build_with(options);
}

/* A program that no cache knows. */
static cl_kernel build_anew(int number)
{
	char options[128];

	snprintf(options, sizeof(options), "-DSPIN=spin -DN%d=%ld", number, (long)(now() * 1e6));
	return build_with(options);
}

static void run(cl_kernel kernel, int n)
{
	size_t items = ITEMS;

	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	clSetKernelArg(kernel, 1, sizeof(n), &n);
	if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL) !=
		    CL_SUCCESS ||
	    clFinish(queue) != CL_SUCCESS)
		exit(1);
}

/* Kernels until they have taken so long. Returns how long they took. */
static double compute(cl_kernel kernel, double seconds)
{
	double begin = now();

	while (now() - begin < seconds)
		run(kernel, 400000);
	return now() - begin;
}

static void transfer(double seconds)
{
	char *data = calloc(1, TRANSFER);
	cl_mem large = clCreateBuffer(context, CL_MEM_READ_WRITE, TRANSFER, NULL, NULL);
	double begin = now();

	memset(data, 1, TRANSFER);
	while (now() - begin < seconds)
		if (clEnqueueWriteBuffer(queue, large, CL_TRUE, 0, TRANSFER, data, 0, NULL, NULL) !=
		    CL_SUCCESS)
			exit(1);
	clReleaseMemObject(large);
	free(data);
}

static void builds(double seconds)
{
	double begin = now();

	/* A runtime may compile a part of what is launched when that is launched: more is built than that. */
	for (int i = 0; now() - begin < seconds; i += 4) {
		for (int k = 1; k < 4; k++)
			build_anew(i + k);
		run(build_anew(i), 1);
	}
}

/* Something for each line of a digest: several kernels, calls, devices, and several things to find. */
static void much(void)
{
	cl_device_id devices[3];
	cl_uint number;
	static const char *const names[] = {"one", "two", "three", "four", "five", "six"};
	cl_kernel kernels[6];

	for (int i = 0; i < 6; i++)
		kernels[i] = build_called(names[i]);
	for (int i = 0; i < ROUNDS; i++) {
		if (i < BUILDS)
			run(build_anew(i), 1);
		host_sleep(0.01);
		for (int k = 0; k < 6; k++)
			run(kernels[k], 1000);
		clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, NULL);
		clSetKernelArg(kernels[0], 99, sizeof(i), &i);
	}
	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 3, devices, &number) != CL_SUCCESS)
		exit(1);
	for (cl_uint i = 1; i < number && i < 3; i++) {
		device = devices[i];
		use_device();
		for (cl_uint k = 0; k < i; k++)
			run(build_called("ncclDevKernel_spin"), 400000);
	}
}

/* With threads of the runtime's compiler beside it, the search for leaks of some sanitizers crashes at the end. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	cl_kernel kernel;
	double seconds;

	begun = now();
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 1;
	use_device();
	kernel = build_called("spin");
	if (strcmp(what, "start-up") == 0 || strcmp(what, "much") == 0)
		host_sleep(long_enough());
	run(kernel, 1);
	if (strcmp(what, "much") == 0)
		much();
	seconds = long_enough();
	for (int i = 0; strcmp(what, "host") == 0 && i < ROUNDS; i++) {
		host_sleep(seconds / ROUNDS);
		run(kernel, 1);
	}
	for (int i = 0; strcmp(what, "late") == 0 && i < ROUNDS; i++)
		host_sleep(compute(kernel,
				   seconds / ROUNDS)); /* as long, however busy the machine is */
	if (strcmp(what, "kernels") == 0)
		compute(kernel, seconds);
	if (strcmp(what, "communication") == 0) /* by its name it sends to other devices */
		compute(build_called("ncclDevKernel_spin"), seconds);
	if (strcmp(what, "transfers") == 0)
		transfer(seconds);
	if (strcmp(what, "builds") == 0)
		builds(seconds);
	if (strcmp(what, "wind-down") == 0)
		host_sleep(seconds);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
