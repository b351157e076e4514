/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of independent tasks in an out-of-order queue, with a barrier behind every task: the queue
 * may reorder and never does.
 */
#include "../../common/ocl.h"

enum { PAIRS = 100, N = 16384, TAKES = 6000 };

static const char source[] = "kernel void task(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + 3.0f;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel task = ocl_kernel(ocl_build(&o, source, ""), "task");
	cl_command_queue queue = ocl_queue(&o, 0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x[2] = {ocl_buffer(&o, size), ocl_buffer(&o, size)};
	float *host = memory(size);
	uint32_t hash = 1;

	for (int k = 0; k < 2; k++)
		clEnqueueWriteBuffer(queue, x[k], CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_int(task, 1, TAKES);
	for (int i = 0; i < PAIRS; i++) {
		for (int k = 0; k < 2; k++) {
			ocl_set_mem(task, 0, x[k]);
			check(clEnqueueNDRangeKernel(queue, task, 1, NULL, &global, &local, 0, NULL,
						     NULL),
			      "clEnqueueNDRangeKernel");
#ifndef REPAIRED
			clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
#endif
		}
#ifdef REPAIRED
		clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL); /* between pairs it is needed */
#endif
		clFlush(queue);
	}
	for (int k = 0; k < 2; k++) {
		clEnqueueReadBuffer(queue, x[k], CL_TRUE, 0, size, host, 0, NULL, NULL);
		hash = fingerprint(hash, host, size);
		clReleaseMemObject(x[k]);
	}
	printf("tasks %08x\n", hash);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
