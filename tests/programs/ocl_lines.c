/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of which it is known by a formula how often each line runs, what it moves and computes. Says what it has computed:
 * with and without instrumentation it must say the same.
 */
#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 4096, SIDE = 32, TILE = 8, GROUP = 64 };

static const char source[] =
	"kernel void copy(global const float *a, global float *b)\n"
	"{\n"
	"	b[get_global_id(0)] = a[get_global_id(0)];\n"
	"}\n"
	"kernel void saxpy(global const float *x, global float *y, float a)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	y[i] = a * x[i] + y[i];\n"
	"}\n"
	"kernel void naive(global const float *a, global const float *b, global float *c, int n)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	float sum = 0;\n"
	"	for (int k = 0; k < n; k++)\n"
	"		sum += a[y * n + k] * b[k * n + x];\n"
	"	c[y * n + x] = sum;\n"
	"}\n"
	"kernel void tiled(global const float *a, global const float *b, global float *c, int n,\n"
	"		   local float *ta, local float *tb)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	int lx = get_local_id(0), ly = get_local_id(1);\n"
	"	float sum = 0;\n"
	"	for (int t = 0; t < n; t += 8) {\n"
	"		ta[ly * 8 + lx] = a[y * n + t + lx];\n"
	"		tb[ly * 8 + lx] = b[(t + ly) * n + x];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		for (int k = 0; k < 8; k++)\n"
	"			sum += ta[ly * 8 + k] * tb[k * 8 + lx];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	c[y * n + x] = sum;\n"
	"}\n"
	"kernel void stencil(global const float *a, global float *b, int n)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	if (i > 0 && i < n - 1)\n"
	"		b[i] = a[i - 1] + a[i] + a[i + 1];\n"
	"}\n"
	"kernel void strided(global const float *a, global float *b, int stride)\n"
	"{\n"
	"	b[get_global_id(0)] = a[get_global_id(0) * stride % 4096];\n"
	"}\n"
	"kernel void tally(global const float *a, volatile global uint *hits)\n"
	"{\n"
	"	if (a[get_global_id(0)] > 2.0f)\n"
	"		atomic_inc(hits);\n"
	"}\n"
	"kernel void grow(global float *cells)\n"
	"{\n"
	"	cells[get_global_id(0)] *= 1.5f;\n"
	"}\n";

static const char speaking[] = "kernel void says(global float *cells)\n"
			       "{\n"
			       "	cells[get_global_id(0)] += 1;\n"
			       "	if (get_global_id(0) == 0)\n"
			       "		printf(\"once\\n\");\n"
			       "}\n";

struct all {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem a, b, c;
};

static void start(const struct all *a, cl_kernel kernel, cl_uint dims, size_t global, size_t local)
{
	const size_t sizes[2] = {global, global}, groups[2] = {local, local};

	CHECK(clEnqueueNDRangeKernel, a->queue, kernel, dims, NULL, sizes, local ? groups : NULL, 0,
	      NULL, NULL);
	clFinish(a->queue);
}

static void say(const struct all *a, const char *what, cl_mem mem)
{
	static unsigned char data[ITEMS * 4];
	uint64_t h = 14695981039346656037ull;

	CHECK(clEnqueueReadBuffer, a->queue, mem, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL);
	for (size_t i = 0; i < sizeof(data); i++)
		h = (h ^ data[i]) * 1099511628211ull;
	printf("%s %016llx\n", what, (unsigned long long)h);
	fflush(stdout);
}

static cl_kernel with(const struct all *a, const char *name, cl_mem x, cl_mem y)
{
	cl_kernel kernel = make_kernel(a->program, name);

	CHECK(clSetKernelArg, kernel, 0, sizeof(x), &x);
	if (y)
		CHECK(clSetKernelArg, kernel, 1, sizeof(y), &y);
	return kernel;
}

static void run(const struct all *a, const char *name, cl_mem x, cl_mem y, size_t local)
{
	cl_kernel kernel = with(a, name, x, y);

	start(a, kernel, 1, ITEMS, local);
	say(a, name, y ? y : x);
	clReleaseKernel(kernel);
}

static void linear(const struct all *a, size_t local)
{
	const float factor = 1.25f;
	const int n = ITEMS, stride = 3;
	cl_kernel saxpy = with(a, "saxpy", a->a, a->b), stencil = with(a, "stencil", a->a, a->c),
		  strided = with(a, "strided", a->b, a->c);

	run(a, "copy", a->a, a->b, local);
	CHECK(clSetKernelArg, saxpy, 2, sizeof(factor), &factor);
	start(a, saxpy, 1, ITEMS, local);
	say(a, "saxpy", a->b);
	CHECK(clSetKernelArg, stencil, 2, sizeof(n), &n);
	start(a, stencil, 1, ITEMS, local);
	say(a, "stencil", a->c);
	CHECK(clSetKernelArg, strided, 2, sizeof(stride), &stride);
	start(a, strided, 1, ITEMS, local);
	say(a, "strided", a->c);
	run(a, "tally", a->a, a->c, local);
	run(a, "grow", a->c, NULL, local);
	clReleaseKernel(saxpy);
	clReleaseKernel(stencil);
	clReleaseKernel(strided);
}

static void product(const struct all *a, const char *name)
{
	const int n = SIDE;
	cl_kernel kernel = with(a, name, a->a, a->b);
	bool tiled = strcmp(name, "tiled") == 0;

	CHECK(clSetKernelArg, kernel, 2, sizeof(a->c), &a->c);
	CHECK(clSetKernelArg, kernel, 3, sizeof(n), &n);
	for (cl_uint i = 4; tiled && i < 6; i++)
		CHECK(clSetKernelArg, kernel, i, TILE * TILE * sizeof(float), NULL);
	start(a, kernel, 2, SIDE, TILE);
	say(a, name, a->c);
	clReleaseKernel(kernel);
}

static void speak(const struct all *a, size_t local)
{
	struct all own = *a;

	own.program = make_program(a->context, speaking);
	run(&own, "says", a->c, NULL, local);
	clReleaseProgram(own.program);
}

int main(int argc, char **argv)
{
	static long group = GROUP;
	static const struct program_option options[] = {{"group", &group, NULL},
							{NULL, NULL, NULL}};
	static float numbers[ITEMS];
	struct all a;

	program_start("ocl_lines", argc, argv, options);
	a.device = first_device();

	a.context = make_context(a.device);
	a.queue = make_queue(a.context, a.device, CL_QUEUE_PROFILING_ENABLE);
	a.program = make_program(a.context, source);
	for (int i = 0; i < ITEMS; i++)
		numbers[i] = (float)(i % 17) / 4;
	a.a = make_buffer(a.context, sizeof(numbers));
	a.b = make_buffer(a.context, sizeof(numbers));
	a.c = make_buffer(a.context, sizeof(numbers));
	CHECK(clEnqueueWriteBuffer, a.queue, a.a, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL,
	      NULL);
	CHECK(clEnqueueWriteBuffer, a.queue, a.c, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL,
	      NULL);
	linear(&a, (size_t)(group > 1 ? group : 0));
	product(&a, "naive");
	product(&a, "tiled");
	speak(&a, (size_t)(group > 1 ? group : 0));
	return program_end();
}
