/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel with regions, launched twice: without Kymo they are nothing; one that reads texels; and one that loads and stores
 * in one line. Says what it computed.
 */
#include "support.h"

#include <stdio.h>

enum { ITEMS = 256, GROUP = 64, TURNS = 5 };

static const char source[] =
	"#ifndef KYMO_REGION_BEGIN\n"
	"#define KYMO_REGION_BEGIN(name)\n"
	"#define KYMO_REGION_END(name)\n"
	"#endif\n"
	"kernel void turns(global int *out, int n)\n"
	"{\n"
	"	int i = get_global_id(0), sum = 0;\n"
	"	KYMO_REGION_BEGIN(\"all turns\");\n"
	"	for (int k = 0; k < n; k++) {\n"
	"		KYMO_REGION_BEGIN(turn);\n"
	"		sum += k;\n"
	"		KYMO_REGION_END(turn);\n"
	"	}\n"
	"	KYMO_REGION_END(\"all turns\");\n"
	"	if (i % 4 == 0) {\n"
	"		KYMO_REGION_BEGIN(left);\n"
	"		return;\n"
	"	}\n"
	"	out[i] = sum;\n"
	"}\n"
	"kernel void texels(read_only image2d_t in, global float *out)\n"
	"{\n"
	"	const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | "
	"CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
	"	int i = get_global_id(0);\n"
	"	out[i] = read_imagef(in, s, (int2)(i % 16, i / 16)).x;\n"
	"}\n"
	"kernel void both(global const int *in, global int *out)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	out[i] = in[i * 2] + 1;\n"
	"}\n"
	"kernel void copied(global int *out, local int *some)\n"
	"{\n"
	"	event_t e = async_work_group_copy(some, out + get_group_id(0) * 64, 64, 0);\n"
	"	wait_group_events(1, &e);\n"
	"	out[get_global_id(0)] = some[get_local_id(0)] + 1;\n"
	"}\n";

static void run_copied(cl_command_queue queue, cl_program program, cl_mem out)
{
	const size_t items = ITEMS, group = GROUP;
	cl_kernel kernel = make_kernel(program, "copied");
	int results[ITEMS];
	long sum = 0;

	for (int i = 0; i < ITEMS; i++)
		results[i] = i;
	CHECK(clEnqueueWriteBuffer, queue, out, CL_TRUE, 0, sizeof(results), results, 0, NULL,
	      NULL);
	CHECK(clSetKernelArg, kernel, 0, sizeof(out), &out);
	CHECK(clSetKernelArg, kernel, 1, GROUP * sizeof(int), NULL);
	CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
	CHECK(clEnqueueReadBuffer, queue, out, CL_TRUE, 0, sizeof(results), results, 0, NULL, NULL);
	for (int i = 0; i < ITEMS; i++)
		sum += results[i];
	expect("copied", sum, ITEMS * (ITEMS + 1) / 2);
	clReleaseKernel(kernel);
}

static void run_texels(cl_context context, cl_command_queue queue, cl_program program, cl_mem out)
{
	const cl_image_format format = {CL_R, CL_FLOAT};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
	const size_t items = ITEMS, group = GROUP;
	cl_kernel kernel = make_kernel(program, "texels");
	float texels[ITEMS];
	cl_int error;
	cl_mem image;

	for (int i = 0; i < ITEMS; i++)
		texels[i] = (float)i;
	image = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc,
			      texels, &error);
	check(error, "clCreateImage");
	CHECK(clSetKernelArg, kernel, 0, sizeof(image), &image);
	CHECK(clSetKernelArg, kernel, 1, sizeof(out), &out);
	CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
	clFinish(queue);
	clReleaseMemObject(image);
	clReleaseKernel(kernel);
}

static void run_both(cl_context context, cl_command_queue queue, cl_program program, cl_mem out)
{
	const size_t items = ITEMS, group = GROUP;
	cl_kernel kernel = make_kernel(program, "both");
	int numbers[2 * ITEMS], last = 0;
	cl_mem in = make_buffer(context, sizeof(numbers));

	for (int i = 0; i < 2 * ITEMS; i++)
		numbers[i] = i;
	CHECK(clEnqueueWriteBuffer, queue, in, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL, NULL);
	CHECK(clSetKernelArg, kernel, 0, sizeof(in), &in);
	CHECK(clSetKernelArg, kernel, 1, sizeof(out), &out);
	CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
	CHECK(clEnqueueReadBuffer, queue, out, CL_TRUE, (ITEMS - 1) * sizeof(last), sizeof(last),
	      &last, 0, NULL, NULL);
	expect("last", last, 2 * (ITEMS - 1) + 1);
	clReleaseMemObject(in);
	clReleaseKernel(kernel);
}

int main(int argc, char **argv)
{
	static const struct program_option options[] = {{NULL, NULL, NULL}};
	const size_t items = ITEMS, group = GROUP;
	cl_command_queue queue;
	cl_context context;
	cl_program program;
	cl_device_id device;
	cl_kernel kernel;
	cl_mem out;
	int n = TURNS, results[ITEMS] = {0};
	long sum = 0;

	program_start("ocl_regions", argc, argv, options);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, CL_QUEUE_PROFILING_ENABLE);
	program = make_program(context, source);
	out = make_buffer(context, sizeof(results));
	kernel = make_kernel(program, "turns");
	CHECK(clEnqueueWriteBuffer, queue, out, CL_TRUE, 0, sizeof(results), results, 0, NULL,
	      NULL);
	CHECK(clSetKernelArg, kernel, 0, sizeof(out), &out);
	CHECK(clSetKernelArg, kernel, 1, sizeof(n), &n);
	for (int i = 0; i < 2; i++)
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &items, &group, 0, NULL,
		      NULL);
	CHECK(clEnqueueReadBuffer, queue, out, CL_TRUE, 0, sizeof(results), results, 0, NULL, NULL);
	for (int i = 0; i < ITEMS; i++)
		sum += results[i];
	expect("sum", sum, ITEMS / 4 * 3 * (TURNS * (TURNS - 1) / 2));
	run_texels(context, queue, program, out);
	run_copied(queue, program, out);
	run_both(context, queue, program, out);
	printf("sum %ld\n", sum);
	return program_end();
}
