/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An iterative solver that reads its residual with a blocking call after each sweep, because it
 * decides by it whether to go on. A sweep takes 12 ms.
 */
#include "../../common/ocl.h"

enum { N = 65536, TAKES = 12000, MOST = 500 };

static const char source[] = "kernel void sweep(global float *x, global float *residual, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	float old = x[i];\n"
			     "	x[i] = 0.9f * old;\n"
			     "	if (i == 0) {\n"
			     "		*residual = fabs(old - x[i]);\n"
			     "		takes(us);\n"
			     "	}\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel sweep = ocl_kernel(ocl_build(&o, source, ""), "sweep");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size), residual = ocl_buffer(&o, sizeof(float));
	float *host = memory(size), r = 1;
	int sweeps = 0;

	for (int i = 0; i < N; i++)
		host[i] = 1000;
	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(sweep, 0, x);
	ocl_set_mem(sweep, 1, residual);
	ocl_set_int(sweep, 2, TAKES);
	while (r > 0.01f && sweeps++ < MOST) {
		check(clEnqueueNDRangeKernel(queue, sweep, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, residual, CL_TRUE, 0, sizeof(r), &r, 0, NULL, NULL);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("%d sweeps, %08x\n", sweeps, fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseMemObject(residual);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
