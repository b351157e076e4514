/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of kernels, two of them under way at any time: the host waits for the one before the last, so that the
 * device never runs dry.
 */
#include "../../common/ocl.h"

enum { BATCHES = 60, KERNELS = 10, N = 4096, EACH = 2000 };

static const char source[] = "kernel void relax(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 5;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel relax = ocl_kernel(ocl_build(&o, source, ""), "relax");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	cl_event over[2] = {NULL, NULL};

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(relax, 0, x);
	ocl_set_int(relax, 1, EACH);
	for (int i = 0; i < BATCHES; i++) {
		if (over[i % 2]) {
			clWaitForEvents(1, &over[i % 2]);
			clReleaseEvent(over[i % 2]);
		}
		for (int k = 0; k < KERNELS; k++)
			check(clEnqueueNDRangeKernel(queue, relax, 1, NULL, &global, &local, 0,
						     NULL, k == KERNELS - 1 ? &over[i % 2] : NULL),
			      "clEnqueueNDRangeKernel");
		clFlush(queue);
	}
	clFinish(queue);
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("field %08x\n", fingerprint(1, host, size));
	for (int k = 0; k < 2; k++)
		clReleaseEvent(over[k]);
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
