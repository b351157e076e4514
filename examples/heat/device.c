/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL objects of the heat example: made before the computation, released after it. */
#include "heat.h"
#include "heat_cl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64, NAME_SIZE = 256 };

void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "heat: %s failed with OpenCL error %d\n", what, error);
	exit(EXIT_FAILURE);
}

static bool is_wanted(cl_device_id device, const char *wanted)
{
	char name[NAME_SIZE] = "";

	check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL),
	      "clGetDeviceInfo");
	return !wanted || strstr(name, wanted);
}

/* The first device that is wanted, of any platform and any type. */
static cl_device_id find_device(const char *wanted)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id devices[MAX_DEVICES];
	cl_uint n_platforms = 0;

	if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
		n_platforms = 0;
	for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; p++) {
		cl_uint n = 0;

		if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n))
			continue;
		for (cl_uint d = 0; d < n && d < MAX_DEVICES; d++)
			if (is_wanted(devices[d], wanted))
				return devices[d];
	}
	fprintf(stderr, "heat: no OpenCL device%s%s; clinfo -l lists what is there\n",
		wanted ? " called " : "", wanted ? wanted : "");
	exit(EXIT_FAILURE);
}

void print_device(const struct solver *s)
{
	char name[NAME_SIZE] = "";
	char version[NAME_SIZE] = "";

	clGetDeviceInfo(s->device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	clGetDeviceInfo(s->device, CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL);
	printf("device      %s, %s\n", name, version);
}

static void print_build_log(const struct solver *s)
{
	static char log[16384];

	clGetProgramBuildInfo(s->program, s->device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
			      NULL);
	fprintf(stderr, "%s\n", log);
}

static cl_kernel make_kernel(const struct solver *s, const char *name)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(s->program, name, &error);

	check(error, name);
	return kernel;
}

static void make_kernels(struct solver *s)
{
	const char *source = heat_cl;
	cl_int error;

	s->program = clCreateProgramWithSource(s->context, 1, &source, NULL, &error);
	check(error, "clCreateProgramWithSource");
	error = clBuildProgram(s->program, 1, &s->device, "", NULL, NULL);
	if (error != CL_SUCCESS)
		print_build_log(s);
	check(error, "clBuildProgram");
	s->init = make_kernel(s, "init");
	s->advance = make_kernel(s, "advance");
	s->border = make_kernel(s, "border");
	s->measure = make_kernel(s, "measure");
}

static cl_command_queue make_queue(const struct solver *s)
{
	cl_int error;
	cl_command_queue queue = clCreateCommandQueue(s->context, s->device, 0, &error);

	check(error, "clCreateCommandQueue");
	return queue;
}

/* The schedules that overlap nothing use one queue under three names. */
static void make_queues(struct solver *s)
{
	bool overlap = s->options.schedule == SCHEDULE_OVERLAP;

	s->compute = make_queue(s);
	s->transfer = overlap ? make_queue(s) : s->compute;
	s->measuring = overlap ? make_queue(s) : s->compute;
}

static cl_mem make_buffer(const struct solver *s, size_t size)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE, size, NULL, &error);

	check(error, "clCreateBuffer");
	return buffer;
}

static void *make_memory(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		check(CL_OUT_OF_HOST_MEMORY, "malloc");
	return memory;
}

static void make_buffers(struct solver *s)
{
	size_t n = (size_t)s->options.size;

	for (int i = 0; i < 2; i++)
		s->plate[i] = make_buffer(s, n * n * sizeof(cl_float));
	for (int i = 0; i < SLOTS; i++) {
		s->frame[i] = make_buffer(s, n * n * sizeof(cl_float));
		s->rows[i] = make_buffer(s, n * sizeof(cl_float2));
		s->host_frame[i] = make_memory(n * n * sizeof(cl_float));
		s->host_rows[i] = make_memory(n * sizeof(cl_float2));
	}
}

void solver_init(struct solver *s, const struct options *options)
{
	cl_int error;

	*s = (struct solver){.options = *options};
	s->device = find_device(options->device);
	s->context = clCreateContext(NULL, 1, &s->device, NULL, NULL, &error);
	check(error, "clCreateContext");
	make_queues(s);
	make_kernels(s);
	make_buffers(s);
}

static void release_queues(struct solver *s)
{
	if (s->transfer != s->compute)
		clReleaseCommandQueue(s->transfer);
	if (s->measuring != s->compute)
		clReleaseCommandQueue(s->measuring);
	clReleaseCommandQueue(s->compute);
}

void solver_release(struct solver *s)
{
	for (int i = 0; i < 2; i++)
		clReleaseMemObject(s->plate[i]);
	for (int i = 0; i < SLOTS; i++) {
		clReleaseMemObject(s->frame[i]);
		clReleaseMemObject(s->rows[i]);
		free(s->host_frame[i]);
		free(s->host_rows[i]);
	}
	clReleaseKernel(s->init);
	clReleaseKernel(s->advance);
	clReleaseKernel(s->border);
	clReleaseKernel(s->measure);
	clReleaseProgram(s->program);
	release_queues(s);
	clReleaseContext(s->context);
}
