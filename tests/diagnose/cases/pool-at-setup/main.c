/* SPDX-License-Identifier: Apache-2.0 */
/* A solver that takes its two hundred buffers from the device once, at setup, and reuses them. */
#include "../../common/ocl.h"

enum { POOL = 200, STEPS = 200, N = 16384, TAKES = 5000 };

static const char source[] = "kernel void fill(global float *x, int step, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = step + i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel fill = ocl_kernel(ocl_build(&o, source, ""), "fill");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem pool[POOL];
	float *host = memory(size);

	for (int i = 0; i < POOL; i++)
		pool[i] = ocl_buffer(&o, size);
	ocl_set_int(fill, 2, TAKES);
	for (int i = 0; i < STEPS; i++) {
		ocl_set_mem(fill, 0, pool[i % POOL]);
		ocl_set_int(fill, 1, i);
		check(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	}
	clEnqueueReadBuffer(queue, pool[7], CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("pool %08x\n", fingerprint(1, host, size));
	for (int i = 0; i < POOL; i++)
		clReleaseMemObject(pool[i]);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
