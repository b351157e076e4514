/* SPDX-License-Identifier: Apache-2.0 */
/* Lattice slices on two devices, of which one has 51 and the other 49: it does not divide better. */
#include "../../common/ocl.h"

enum { STEPS = 100, N = 4096, TAKES = 200 };

static const char source[] = "kernel void sweep(global float *x, int slices, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	for (int k = 0; k < slices; k++)\n"
			     "		x[i] += 1.0f;\n"
			     "	if (i == 0)\n"
			     "		takes(us * slices);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel sweep = ocl_kernel(ocl_build(&o, source, ""), "sweep");
	const size_t global = N, local = 64, size = sizeof(float) * N;
	const int slices[2] = {51, 49};
	cl_command_queue queue[2];
	cl_mem x[2];
	float *host = memory(size), sum = 0;

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
		clFinish(queue[0]);
		clFinish(queue[1]);
	}
	for (int d = 0; d < 2; d++) {
		clEnqueueReadBuffer(queue[d], x[d], CL_TRUE, 0, size, host, 0, NULL, NULL);
		sum += host[0];
		clReleaseMemObject(x[d]);
		clReleaseCommandQueue(queue[d]);
	}
	printf("lattice %g\n", (double)sum);
	free(host);
	ocl_close(&o);
	return 0;
}
