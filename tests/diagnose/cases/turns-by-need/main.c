/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices in a chain: the second refines what the first has just computed, and the first starts
 * from what the second made of it. They cannot work at the same time.
 */
#include "../../common/ocl.h"

enum { ROUNDS = 60, N = 4096, TAKES = 9000 };

static const char source[] = "kernel void refine(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 5;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel refine = ocl_kernel(ocl_build(&o, source, ""), "refine");
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_command_queue queue[2];
	cl_mem x;
	float *host = memory(size);

	if (o.devices < 2)
		return 77;
	queue[0] = ocl_queue(&o, 0, 0);
	queue[1] = ocl_queue(&o, 1, 0);
	x = ocl_buffer(&o, size);
	clEnqueueWriteBuffer(queue[0], x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(refine, 0, x);
	ocl_set_int(refine, 1, TAKES);
	for (int i = 0; i < ROUNDS; i++) {
		for (int d = 0; d < 2; d++) {
			check(clEnqueueNDRangeKernel(queue[d], refine, 1, NULL, &global, &local, 0,
						     NULL, NULL),
			      "clEnqueueNDRangeKernel");
			clFinish(queue[d]);
		}
	}
	clEnqueueReadBuffer(queue[0], x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("%08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue[0]);
	clReleaseCommandQueue(queue[1]);
	free(host);
	ocl_close(&o);
	return 0;
}
