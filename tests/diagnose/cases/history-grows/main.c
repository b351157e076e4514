/* SPDX-License-Identifier: Apache-2.0 */
/* A solver that keeps a copy of its field on the device after every step, and never needs one. */
#include "../../common/ocl.h"

enum { STEPS = 150, N = 1 << 17, TAKES = 5000 };

static const char source[] = "kernel void advance(global float *x, global float *copy, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 3;\n"
			     "	copy[i] = x[i];\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel advance = ocl_kernel(ocl_build(&o, source, ""), "advance");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size), history[STEPS] = {NULL};
	float *host = memory(size);

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(advance, 0, x);
	ocl_set_int(advance, 2, TAKES);
	for (int i = 0; i < STEPS; i++) {
#ifdef REPAIRED
		int kept = 0;
#else
		int kept = i;
#endif

		if (!history[kept])
			history[kept] =
				clCreateBuffer(o.context, CL_MEM_READ_WRITE, size, NULL, NULL);
		ocl_set_mem(advance, 1, history[kept]);
		check(clEnqueueNDRangeKernel(queue, advance, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
		clFlush(queue);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("field %08x\n", fingerprint(1, host, size));
	for (int i = 0; i < STEPS; i++)
		if (history[i])
			clReleaseMemObject(history[i]);
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
