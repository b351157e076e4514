/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline of two stages on the same device. What the first computed is fetched and sent back
 * unchanged for the second: a relic of the time when the host did the second stage.
 */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { ROUNDS = 40, WORDS = 1 << 18, TAKES = 3000 };

static const char source[] =
	"kernel void blur(global float *out, int round, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	for (int k = i; k < 1 << 18; k += get_global_size(0))\n"
	"		out[k] = round + k % 17;\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n"
	"kernel void histogram(global const float *in, global float *sum, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	float s = 0;\n"
	"	for (int k = i; k < 1 << 18; k += get_global_size(0))\n"
	"		s += in[k];\n"
	"	sum[i] = s;\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_program program = ocl_build(&o, source, "");
	cl_kernel blur = ocl_kernel(program, "blur"), histogram = ocl_kernel(program, "histogram");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = 4096, local = 64, size = sizeof(float) * WORDS;
	cl_mem blurred = ocl_buffer(&o, size), sums = ocl_buffer(&o, global * sizeof(float));
	float *host = memory(size), *sum = memory(global * sizeof(float));
	uint32_t hash = 1;

	ocl_set_mem(blur, 0, blurred);
	ocl_set_int(blur, 2, TAKES);
	ocl_set_mem(histogram, 0, blurred);
	ocl_set_mem(histogram, 1, sums);
	ocl_set_int(histogram, 2, TAKES);
	for (int i = 0; i < ROUNDS; i++) {
		ocl_set_int(blur, 1, i);
		check(clEnqueueNDRangeKernel(queue, blur, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
#ifndef REPAIRED
		clEnqueueReadBuffer(queue, blurred, CL_FALSE, 0, size, host, 0, NULL, NULL);
		clEnqueueWriteBuffer(queue, blurred, CL_FALSE, 0, size, host, 0, NULL, NULL);
#endif
		check(clEnqueueNDRangeKernel(queue, histogram, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, global * sizeof(float), sum, 0, NULL,
				    NULL);
		hash = fingerprint(hash, sum, global * sizeof(float));
	}
	printf("histogram %08x\n", hash);
	clReleaseMemObject(blurred);
	clReleaseMemObject(sums);
	clReleaseCommandQueue(queue);
	free(host);
	free(sum);
	ocl_close(&o);
	return 0;
}
