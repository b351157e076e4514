/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of which it is known by a formula which lines of memory and which banks warps of 32 work items access. Says what
 * they have computed: with and without Kymo it must be the same.
 */
#include "support.h"

#include <stdint.h>
#include <stdio.h>

enum { SIDE = 64, ITEMS = SIDE * SIDE, STRIDE_MOST = 40, TURNS = 600 };

static const char source[] = "kernel void strided(global const float *a, global float *b, int s)\n"
			     "{\n"
			     "	b[get_global_id(0)] =\n"
			     "		a[get_global_id(0) * s];\n"
			     "}\n"
			     "kernel void naive(global const float *a, global float *b)\n"
			     "{\n"
			     "	int x = get_global_id(0), y = get_global_id(1);\n"
			     "	b[x * 64 + y] =\n"
			     "		a[y * 64 + x];\n"
			     "}\n"
			     "#define TRANSPOSE(NAME, WIDTH) \\\n"
			     "kernel void NAME(global const float *a, global float *b) \\\n"
			     "{ \\\n"
			     "	local float tile[32][WIDTH];\n"
			     "TRANSPOSE(tiled, 32)\n"
			     "	int x = get_global_id(0), y = get_global_id(1), i = "
			     "get_local_id(0), j = get_local_id(1);\n"
			     "	tile[j][i] = a[y * 64 + x];\n"
			     "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			     "	x = get_group_id(1) * 32 + i, y = get_group_id(0) * 32 + j;\n"
			     "	b[y * 64 + x] =\n"
			     "		tile[i][j];\n"
			     "}\n"
			     "TRANSPOSE(padded, 33)\n"
			     "	int x = get_global_id(0), y = get_global_id(1), i = "
			     "get_local_id(0), j = get_local_id(1);\n"
			     "	tile[j][i] = a[y * 64 + x];\n"
			     "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			     "	x = get_group_id(1) * 32 + i, y = get_group_id(0) * 32 + j;\n"
			     "	b[y * 64 + x] =\n"
			     "		tile[i][j];\n"
			     "}\n"
			     "kernel void some(global const float *a, global float *b)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	if (i % 4 == 0)\n"
			     "		b[i] =\n"
			     "			a[i];\n"
			     "}\n"
			     "kernel void many(global const float *a, global float *b, int n)\n"
			     "{\n"
			     "	float sum = 0;\n"
			     "	for (int k = 0; k < n; k++)\n"
			     "		sum += a[(get_global_id(0) + k) & 4095];\n"
			     "	b[get_global_id(0)] = sum;\n"
			     "}\n"
			     "kernel void held(global float *b, global float *unused)\n"
			     "{\n"
			     "	b[get_global_id(0)] += 1;\n"
			     "}\n"
			     "kernel void counts(global const float *a, volatile global int *b)\n"
			     "{\n"
			     "	atomic_inc(b + (int)a[get_global_id(0)] % 16);\n"
			     "}\n";

struct all {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem a, b;
};

static void say(const struct all *a, const char *what)
{
	static unsigned char data[ITEMS * 4];
	uint64_t h = 14695981039346656037ull;

	CHECK(clEnqueueReadBuffer, a->queue, a->b, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL);
	for (size_t i = 0; i < sizeof(data); i++)
		h = (h ^ data[i]) * 1099511628211ull;
	printf("%s %016llx\n", what, (unsigned long long)h);
}

/* `number`: the third argument; 0: it has none. */
static void run(const struct all *a, const char *name, int number, size_t width, size_t height)
{
	const size_t linear[1] = {ITEMS}, square[2] = {SIDE, SIDE}, group[2] = {width, height};
	cl_kernel kernel = make_kernel(a->program, name);

	CHECK(clSetKernelArg, kernel, 0, sizeof(a->a), &a->a);
	CHECK(clSetKernelArg, kernel, 1, sizeof(a->b), &a->b);
	if (number)
		CHECK(clSetKernelArg, kernel, 2, sizeof(number), &number);
	CHECK(clEnqueueNDRangeKernel, a->queue, kernel, height ? 2 : 1, NULL,
	      height ? square : linear, width ? group : NULL, 0, NULL, NULL);
	clFinish(a->queue);
	say(a, name);
	clReleaseKernel(kernel);
}

/* Memory that the program has mapped is its own to write into, whatever kernels do beside it; and a launch without a size. */
static void run_held(const struct all *a)
{
	cl_kernel kernel = make_kernel(a->program, "held");
	const size_t half = ITEMS / 2;
	cl_int error;
	float *mine;

	CHECK(clSetKernelArg, kernel, 0, sizeof(a->b), &a->b);
	CHECK(clSetKernelArg, kernel, 1, sizeof(a->b), &a->b);
	mine = clEnqueueMapBuffer(a->queue, a->b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
				  half * sizeof(*mine), half * sizeof(*mine), 0, NULL, NULL,
				  &error);
	check(error, "clEnqueueMapBuffer");
	CHECK(clEnqueueNDRangeKernel, a->queue, kernel, 1, NULL, &half, NULL, 0, NULL, NULL);
	clFinish(a->queue);
	mine[0] = 7;
	CHECK(clEnqueueUnmapMemObject, a->queue, a->b, mine, 0, NULL, NULL);
	/* Runtimes of before OpenCL 2.1 refuse it. */
	clEnqueueNDRangeKernel(a->queue, kernel, 1, NULL, NULL, NULL, 0, NULL, NULL);
	say(a, "held");
	clReleaseKernel(kernel);
}

int main(int argc, char **argv)
{
	static const struct program_option options[] = {{NULL, NULL, NULL}};
	static const int strides[] = {1, 3, 32, STRIDE_MOST};
	static float numbers[ITEMS * STRIDE_MOST];
	cl_device_id device;
	struct all a;

	program_start("ocl_accesses", argc, argv, options);
	device = first_device();
	a.context = make_context(device);
	a.queue = make_queue(a.context, device, CL_QUEUE_PROFILING_ENABLE);
	a.program = make_program(a.context, source);
	a.a = make_buffer(a.context, sizeof(numbers));
	a.b = make_buffer(a.context, ITEMS * sizeof(float));
	for (int i = 0; i < ITEMS * STRIDE_MOST; i++)
		numbers[i] = (float)(i % 1009);
	CHECK(clEnqueueWriteBuffer, a.queue, a.a, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL,
	      NULL);
	for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++)
		run(&a, "strided", strides[i], 64, 0);
	run(&a, "strided", 2, 0, 0);
	run(&a, "naive", 0, 32, 8);
	run(&a, "tiled", 0, 32, 32);
	run(&a, "padded", 0, 32, 32);
	run(&a, "some", 0, 128, 0);
	run(&a, "many", TURNS, 256, 0);
	run(&a, "counts", 0, 64, 0);
	run_held(&a);
	return program_end();
}
