/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lattice slices on two equal devices. The split was tuned on a machine whose second device was an
 * old one, and gives the first four times as much.
 */
#include "../../common/ocl.h"

enum { STEPS = 70, SLICES = 20, N = 8192, TAKES = 1000 };

static const char source[] = "kernel void sweep(global float *x, int slices, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	for (int k = 0; k < slices; k++)\n"
			     "		x[k * get_global_size(0) + i] += 1.0f;\n"
			     "	if (i == 0)\n"
			     "		takes(us * slices);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel sweep = ocl_kernel(ocl_build(&o, source, ""), "sweep");
	const size_t global = N, local = 64, size = sizeof(float) * N * SLICES;
	cl_command_queue queue[2];
	cl_mem x[2];
	float *host = memory(size), sum = 0;
#ifdef REPAIRED
	const int slices[2] = {SLICES / 2, SLICES / 2};
#else
	const int slices[2] = {SLICES * 4 / 5, SLICES / 5};
#endif

	if (o.devices < 2)
		return 77;
	for (cl_uint d = 0; d < 2; d++) {
		queue[d] = ocl_queue(&o, d, 0);
		x[d] = ocl_buffer(&o, size);
		clEnqueueWriteBuffer(queue[d], x[d], CL_TRUE, 0, size, host, 0, NULL, NULL);
	}
	ocl_set_int(sweep, 2, TAKES);
	for (int i = 0; i < STEPS; i++) {
		for (int d = 0; d < 2; d++) {
			ocl_set_mem(sweep, 0, x[d]);
			ocl_set_int(sweep, 1, slices[d]);
			check(clEnqueueNDRangeKernel(queue[d], sweep, 1, NULL, &global, &local, 0,
						     NULL, NULL),
			      "clEnqueueNDRangeKernel");
			clFlush(queue[d]);
		}
		clFinish(queue[0]); /* both are needed for the next step's boundary */
		clFinish(queue[1]);
	}
	for (int d = 0; d < 2; d++) {
		clEnqueueReadBuffer(queue[d], x[d], CL_TRUE, 0, size, host, 0, NULL, NULL);
		for (int k = 0; k < N * slices[d]; k += N)
			sum += host[k];
		clReleaseMemObject(x[d]);
		clReleaseCommandQueue(queue[d]);
	}
	printf("lattice %g\n", (double)sum);
	free(host);
	ocl_close(&o);
	return 0;
}
