/* SPDX-License-Identifier: Apache-2.0 */
/* A model whose 300 coefficients are sent one by one, before a simulation that needs no copy more. */
#include "../../common/ocl.h"

enum { COEFFICIENTS = 300, STEPS = 100, N = 65536, TAKES = 10000 };

static const char source[] =
	"kernel void simulate(global float *x, global const float *c, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	x[i] = 0.5f * x[i] + c[i % 300];\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel simulate = ocl_kernel(ocl_build(&o, source, ""), "simulate");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size), c = ocl_buffer(&o, sizeof(float) * COEFFICIENTS);
	float *host = memory(size);

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	for (size_t i = 0; i < COEFFICIENTS; i++) {
		float value = 1.0f / (float)(i + 1);

		clEnqueueWriteBuffer(queue, c, CL_TRUE, i * sizeof(value), sizeof(value), &value, 0,
				     NULL, NULL);
	}
	ocl_set_mem(simulate, 0, x);
	ocl_set_mem(simulate, 1, c);
	ocl_set_int(simulate, 2, TAKES);
	for (int i = 0; i < STEPS; i++)
		check(clEnqueueNDRangeKernel(queue, simulate, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("model %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseMemObject(c);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
