/* SPDX-License-Identifier: Apache-2.0 */
/* A chemistry code that computes on the host and has a device for a small part of it, a few times. */
#include "../../common/ocl.h"

enum { MOLECULES = 6, N = 65536, TAKES = 5000, INTEGRALS = 200000 };

static const char source[] = "kernel void density(global float *x, int number, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = number + i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel density = ocl_kernel(ocl_build(&o, source, ""), "density");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	double energy = 0;

	ocl_set_mem(density, 0, x);
	ocl_set_int(density, 2, TAKES);
	for (int i = 0; i < MOLECULES; i++) {
		ocl_set_int(density, 1, i);
		check(clEnqueueNDRangeKernel(queue, density, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
		energy += compute_us(INTEGRALS, (double)host[i]); /* of this density */
	}
	printf("energy %g\n", energy);
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
