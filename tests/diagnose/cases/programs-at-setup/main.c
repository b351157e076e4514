/* SPDX-License-Identifier: Apache-2.0 */
/* A filter that builds a program for each of its four pixel types at setup, and then works for long. */
#include "../../common/ocl.h"

enum { TYPES = 4, PICTURES = 120, N = 16384, TAKES = 9000 };

static const char source[] = "kernel void filter(global TYPE *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = (TYPE)(i % 100);\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	static const char *const options[TYPES] = {"-DTYPE=float", "-DTYPE=int", "-DTYPE=uint",
						   "-DTYPE=short"};
	struct ocl o = ocl_open();
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = 4 * N;
	cl_mem x = ocl_buffer(&o, size);
	int *host = memory(size);
	cl_kernel filter[TYPES];

	for (int t = 0; t < TYPES; t++) {
		filter[t] = ocl_kernel(ocl_build(&o, source, options[t]), "filter");
		ocl_set_mem(filter[t], 0, x);
		ocl_set_int(filter[t], 1, TAKES);
	}
	for (int i = 0; i < PICTURES; i++)
		check(clEnqueueNDRangeKernel(queue, filter[i % TYPES], 1, NULL, &global, &local, 0,
					     NULL, NULL),
		      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, 2 * N, host, 0, NULL, NULL);
	printf("filtered %08x\n", fingerprint(1, host, 2 * N));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
