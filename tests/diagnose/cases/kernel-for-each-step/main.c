/* SPDX-License-Identifier: Apache-2.0 */
/* A solver that makes its kernel anew in every step, and releases it in none. */
#include "../../common/ocl.h"

enum { STEPS = 150, N = 16384, TAKES = 5000 };

static const char source[] = "kernel void advance(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 3;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static cl_kernel kernel_of(cl_program program, cl_mem x)
{
	cl_int error;
	cl_kernel k = clCreateKernel(program, "advance", &error);

	check(error, "clCreateKernel");
	ocl_set_mem(k, 0, x);
	ocl_set_int(k, 1, TAKES);
	return k;
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_program program = ocl_build(&o, source, "");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	for (int i = 0; i < STEPS; i++) {
		cl_kernel advance = kernel_of(program, x);

		check(clEnqueueNDRangeKernel(queue, advance, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
		clFlush(queue);
#ifdef REPAIRED
		clReleaseKernel(advance);
#endif
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("field %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
