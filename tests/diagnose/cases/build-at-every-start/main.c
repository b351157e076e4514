/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small tool that is run often: it compiles a library of kernels at every start and uses one of
 * them for a moment, because somebody switched the cache of compiled kernels off.
 */
#include "../../common/ocl.h"

enum { KERNELS = 150, STEPS = 30, N = 4096, TAKES = 5000 };

static const char pattern[] = "kernel void stage_%d(global float *x, int us)\n"
			      "{\n"
			      "	int i = get_global_id(0);\n"
			      "	float a = x[i];\n"
			      "	for (int k = 0; k < %d + i %% 4; k++)\n"
			      "		a = a * 0.5f + native_sqrt(fabs(a) + %d.0f) + (a > 1.0f ? "
			      "pow(a, 0.3f) : a);\n"
			      "	x[i] = a;\n"
			      "	if (i == 0)\n"
			      "		takes(us);\n"
			      "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	char *source = memory(sizeof(pattern) * KERNELS * 2), *end = source;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	cl_kernel stage;

	for (int i = 0; i < KERNELS; i++)
		end += sprintf(end, pattern, i, i % 7, i % 5);
	stage = ocl_kernel(ocl_build(&o, source, ""), "stage_1");
	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(stage, 0, x);
	ocl_set_int(stage, 1, TAKES);
	for (int i = 0; i < STEPS; i++)
		check(clEnqueueNDRangeKernel(queue, stage, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("stages %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	free(source);
	ocl_close(&o);
	return 0;
}
