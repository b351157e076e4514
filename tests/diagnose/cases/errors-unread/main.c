/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solver that writes its boundary behind the end of the buffer. Each write fails, nobody reads the
 * status, and the boundary stays what it was.
 */
#include "../../common/ocl.h"

enum { STEPS = 120, N = 16384, TAKES = 5000 };

static const char source[] = "kernel void relax(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 3;\n"
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
	float *host = memory(size), edge[4] = {0, 0, 0, 0};
#ifdef REPAIRED
	const size_t last = size - sizeof(edge);
#else
	const size_t last = size;
#endif

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(relax, 0, x);
	ocl_set_int(relax, 1, TAKES);
	for (int i = 0; i < STEPS; i++) {
		clEnqueueWriteBuffer(queue, x, CL_FALSE, last, sizeof(edge), edge, 0, NULL, NULL);
		clEnqueueNDRangeKernel(queue, relax, 1, NULL, &global, &local, 0, NULL, NULL);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("inside %08x\n", fingerprint(1, host, size - sizeof(edge)));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
