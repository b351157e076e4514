/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose results show it if a kernel ran more or less than once: atomics, memory that is read
 * and written, sub-buffers that overlap, images, kernels that use what others have left. It says what it
 * has computed; a run of it that is counted must say the same.
 */
#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 4096, HALF = CELLS / 2, SIDE = 64 };

static const char source[] =
	"kernel void touch(global uint *fresh, uint step)\n"
	"{ fresh[get_global_id(0) * step] = 1; }\n"
	"kernel void add(global uint *cells, volatile global uint *total)\n"
	"{ cells[get_global_id(0)] += get_global_id(0) + 1; atomic_add(total, "
	"cells[get_global_id(0)]); }\n"
	"kernel void mix_halves(global uint *low, global uint *high, global const uint *same)\n"
	"{ size_t i = get_global_id(0); low[i] = low[i] * 3 + high[i]; }\n"
	"kernel void paint(read_write image2d_t image)\n"
	"{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"  write_imageui(image, at, read_imageui(image, at) + (uint4)(at.x, at.y, 1, 7)); }\n"
	"kernel void tick(volatile global uint *ticks)\n"
	"{ atomic_inc(ticks); }\n"
	"kernel void spin(global uint *cells, uint n)\n"
	"{ uint x = cells[get_global_id(0)]; for (uint i = 0; i < n; i++) x = x * 1103515245u + "
	"12345u;\n"
	"  cells[get_global_id(0)] = x; }\n";

static uint64_t hash(const void *data, size_t size)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < size; i++)
		h = (h ^ ((const unsigned char *)data)[i]) * 1099511628211ull;
	return h;
}

static unsigned called;

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
	called += status == CL_COMPLETE;
}

struct all {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
};

static void run(const struct all *a, cl_kernel kernel, cl_uint dims, size_t global, cl_event *event)
{
	const size_t sizes[2] = {global, global};

	CHECK(clEnqueueNDRangeKernel, a->queue, kernel, dims, NULL, sizes, NULL, 0, NULL, event);
}

static void say(const struct all *a, const char *what, cl_mem mem, size_t size)
{
	static unsigned char data[CELLS * 4 + SIDE * SIDE * 16];

	CHECK(clEnqueueReadBuffer, a->queue, mem, CL_TRUE, 0, size, data, 0, NULL, NULL);
	printf("%s %016llx\n", what, (unsigned long long)hash(data, size));
}

/* In and out, and atomics: three launches, each on what the last one left. */
static void add(const struct all *a, long launches)
{
	static uint32_t zero[CELLS];
	cl_mem cells = make_buffer(a->context, sizeof(zero)), total = make_buffer(a->context, 4);
	cl_kernel kernel = make_kernel(a->program, "add");
	cl_event event;
	cl_ulong queued, start, end;

	CHECK(clEnqueueWriteBuffer, a->queue, cells, CL_FALSE, 0, sizeof(zero), zero, 0, NULL,
	      NULL);
	CHECK(clEnqueueWriteBuffer, a->queue, total, CL_FALSE, 0, 4, zero, 0, NULL, NULL);
	CHECK(clSetKernelArg, kernel, 0, sizeof(cells), &cells);
	CHECK(clSetKernelArg, kernel, 1, sizeof(total), &total);
	for (long i = 0; i < launches; i++) {
		run(a, kernel, 1, CELLS, &event);
		CHECK(clSetEventCallback, event, CL_COMPLETE, on_complete, NULL);
		CHECK(clWaitForEvents, 1, &event);
		CHECK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_QUEUED, 8, &queued,
		      NULL);
		CHECK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_START, 8, &start, NULL);
		CHECK(clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END, 8, &end, NULL);
		expect("times in order", queued <= start && start <= end, 1);
		CHECK(clReleaseEvent, event);
	}
	CHECK(clFinish, a->queue);
	say(a, "cells", cells, sizeof(zero));
	say(a, "total", total, 4);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseMemObject, cells);
	CHECK(clReleaseMemObject, total);
}

/* Sub-buffers of one buffer that overlap, memory of the program's own, and memory that is only read. */
static void mix_halves(const struct all *a)
{
	static uint32_t own[CELLS] __attribute__((aligned(4096)));
	const cl_buffer_region low = {0, HALF * 4}, high = {HALF * 2, HALF * 4};
	cl_kernel kernel = make_kernel(a->program, "mix_halves");
	cl_int error;
	cl_mem all, parts[2], same;

	for (uint32_t i = 0; i < CELLS; i++)
		own[i] = i;
	all = clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof(own), own,
			     &error);
	check(error, "clCreateBuffer");
	parts[0] = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &low, &error);
	check(error, "clCreateSubBuffer");
	parts[1] = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &high, &error);
	check(error, "clCreateSubBuffer");
	same = clCreateBuffer(a->context, CL_MEM_READ_ONLY, 4096, NULL, &error);
	check(error, "clCreateBuffer");
	CHECK(clSetKernelArg, kernel, 0, sizeof(cl_mem), &parts[0]);
	CHECK(clSetKernelArg, kernel, 1, sizeof(cl_mem), &parts[1]);
	CHECK(clSetKernelArg, kernel, 2, sizeof(cl_mem), &same);
	run(a, kernel, 1, HALF / 2, NULL);
	run(a, kernel, 1, HALF / 2, NULL);
	CHECK(clFinish, a->queue);
	say(a, "shifted", all, sizeof(own));
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseMemObject, parts[0]);
	CHECK(clReleaseMemObject, parts[1]);
	CHECK(clReleaseMemObject, same);
	CHECK(clReleaseMemObject, all);
}

static void paint(const struct all *a)
{
	static uint32_t pixels[SIDE * SIDE * 4];
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT32};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
	const size_t from[3] = {0}, region[3] = {SIDE, SIDE, 1};
	cl_kernel kernel = make_kernel(a->program, "paint");
	cl_int error;
	cl_mem image = clCreateImage(a->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format,
				     &desc, pixels, &error);

	check(error, "clCreateImage");
	CHECK(clSetKernelArg, kernel, 0, sizeof(image), &image);
	run(a, kernel, 2, SIDE, NULL);
	run(a, kernel, 2, SIDE, NULL);
	CHECK(clEnqueueReadImage, a->queue, image, CL_TRUE, from, region, 0, 0, pixels, 0, NULL,
	      NULL);
	printf("painted %016llx\n", (unsigned long long)hash(pixels, sizeof(pixels)));
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseMemObject, image);
}

/* Pages that nobody has touched, of memory of the program's own. */
static void touch(const struct all *a, long pages, unsigned char *fresh)
{
	cl_kernel kernel = make_kernel(a->program, "touch");
	const cl_uint step = 4096 / 4;
	cl_int error;
	cl_mem mem = clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
				    (size_t)pages * 4096, fresh, &error);

	check(error, "clCreateBuffer");
	CHECK(clSetKernelArg, kernel, 0, sizeof(mem), &mem);
	CHECK(clSetKernelArg, kernel, 1, sizeof(step), &step);
	run(a, kernel, 1, (size_t)pages, NULL);
	CHECK(clFinish, a->queue);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseMemObject, mem);
}

/* Read by the provider of a test. */
__attribute__((aligned(4096), visibility("default"))) uint32_t ocl_replay_ticks[1024];

/* Launch n adds n, or so many times as much, to memory of the program's own. */
static void tick(const struct all *a, long launches, long times)
{
	cl_kernel kernel = make_kernel(a->program, "tick");
	cl_int error;
	cl_mem mem = clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
				    sizeof(ocl_replay_ticks), ocl_replay_ticks, &error);

	check(error, "clCreateBuffer");
	CHECK(clSetKernelArg, kernel, 0, sizeof(mem), &mem);
	for (long i = 1; i <= launches; i++)
		run(a, kernel, 1, (size_t)(i * times), NULL);
	say(a, "ticks", mem, sizeof(ocl_replay_ticks));
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseMemObject, mem);
}

static void spin(const struct all *a, long n, long launches)
{
	cl_kernel kernel = make_kernel(a->program, "spin");
	cl_mem mem = make_buffer(a->context, CELLS * 4);
	const cl_uint zero = 0, length = (cl_uint)n;

	CHECK(clEnqueueFillBuffer, a->queue, mem, &zero, 4, 0, CELLS * 4, 0, NULL, NULL);
	CHECK(clSetKernelArg, kernel, 0, sizeof(mem), &mem);
	CHECK(clSetKernelArg, kernel, 1, sizeof(length), &length);
	for (long i = 0; i < launches; i++)
		run(a, kernel, 1, CELLS, NULL);
	CHECK(clFinish, a->queue);
	say(a, "spun", mem, CELLS * 4);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseMemObject, mem);
}

int main(int argc, char **argv)
{
	static long ticks = 6, times = 1, launches = 3, pages = 512, length = 2000, spins = 3;
	static unsigned char fresh[1 << 22] __attribute__((aligned(4096)));
	static const struct program_option options[] = {{"launches", &launches, NULL},
							{"pages", &pages, NULL},
							{"length", &length, NULL},
							{"spins", &spins, NULL},
							{"ticks", &ticks, NULL},
							{"tick", &times, NULL},
							{NULL, NULL, NULL}};
	struct all a;

	program_start("ocl_replay", argc, argv, options);
	a.device = first_device();
	a.context = make_context(a.device);
	a.queue = make_queue(a.context, a.device, CL_QUEUE_PROFILING_ENABLE);
	a.program = make_program(a.context, source);
	add(&a, launches);
	mix_halves(&a);
	paint(&a);
	tick(&a, ticks, times);
	touch(&a, 1, fresh);
	touch(&a, pages, fresh + 4096);
	spin(&a, length, spins);
	expect("callbacks", called, launches);
	CHECK(clReleaseProgram, a.program);
	CHECK(clReleaseCommandQueue, a.queue);
	CHECK(clReleaseContext, a.context);
	return program_end();
}
