/* SPDX-License-Identifier: Apache-2.0 */
/* A stencil in three orders: a program for each, from one source, and all of them in each step. */
#include "../../common/ocl.h"

enum { STEPS = 80, ORDERS = 3, N = 4096, TAKES = 4000 };

static const char source[] = "kernel void stencil(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + (i + ORDER) % 7;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	cl_kernel stencil[ORDERS];

	for (int k = 0; k < ORDERS; k++) {
		char options[32];

		snprintf(options, sizeof(options), "-DORDER=%d", k + 1);
		stencil[k] = ocl_kernel(ocl_build(&o, source, options), "stencil");
		ocl_set_mem(stencil[k], 0, x);
		ocl_set_int(stencil[k], 1, TAKES);
	}
	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	for (int i = 0; i < STEPS; i++) {
		for (int k = 0; k < ORDERS; k++)
			check(clEnqueueNDRangeKernel(queue, stencil[k], 1, NULL, &global, &local, 0,
						     NULL, NULL),
			      "clEnqueueNDRangeKernel");
		clFinish(queue); /* the step is shown */
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("field %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
