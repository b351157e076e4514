/* SPDX-License-Identifier: Apache-2.0 */
/* A command that does its work and returns from main() with its few objects, which the system frees. */
#include "../../common/ocl.h"

enum { STEPS = 100, N = 16384, TAKES = 10000 };

static const char source[] = "kernel void march(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = i % 10;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel march = ocl_kernel(ocl_build(&o, source, ""), "march");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);

	ocl_set_mem(march, 0, x);
	ocl_set_int(march, 1, TAKES);
	for (int i = 0; i < STEPS; i++)
		check(clEnqueueNDRangeKernel(queue, march, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("%08x\n", fingerprint(1, host, size));
	free(host);
	return 0;
}
