/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parameter sweep that bakes the parameter into the program's source: a build for every point of
 * the sweep, although the kernel could take it as an argument.
 */
#include "../../common/ocl.h"

enum { POINTS = 4, N = 4096, TAKES = 5000 };

static const char source[] = "#ifdef RATE\n"
			     "kernel void grow(global float *out, int us)\n"
			     "{\n"
			     "	float rate = RATE;\n"
			     "#else\n"
			     "kernel void grow(global float *out, int us, int rate)\n"
			     "{\n"
			     "#endif\n"
			     "	int i = get_global_id(0);\n"
			     "	float x = 0.5f;\n"
			     "	for (int k = 0; k < i % 32; k++)\n"
			     "		x = x + rate * x * (1.0f - x) / 16.0f;\n"
			     "	out[i] = floor(x * 1000.0f);\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem out = ocl_buffer(&o, size);
	float *host = memory(size);
	uint32_t hash = 1;
#ifdef REPAIRED
	cl_program program = ocl_build(&o, source, "");
	cl_kernel grow = ocl_kernel(program, "grow");
#endif

	for (int i = 0; i < POINTS; i++) {
#ifdef REPAIRED
		ocl_set_int(grow, 2, i);
#else
		char options[64];
		const char *sources[2] = {ocl_takes, source};
		cl_program program = clCreateProgramWithSource(o.context, 2, sources, NULL, NULL);
		cl_kernel grow;

		snprintf(options, sizeof(options), "-DRATE=%d", i);
		check(clBuildProgram(program, 1, o.device, options, NULL, NULL), "clBuildProgram");
		grow = clCreateKernel(program, "grow", NULL);
#endif
		ocl_set_mem(grow, 0, out);
		ocl_set_int(grow, 1, TAKES);
		check(clEnqueueNDRangeKernel(queue, grow, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, out, CL_TRUE, 0, size, host, 0, NULL, NULL);
		hash = fingerprint(hash, host, size);
#ifndef REPAIRED
		clReleaseKernel(grow);
		clReleaseProgram(program);
#endif
	}
	printf("sweep %08x\n", hash);
	clReleaseMemObject(out);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
