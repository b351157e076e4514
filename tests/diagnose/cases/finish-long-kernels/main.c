/* SPDX-License-Identifier: Apache-2.0 */
/* A volume renderer that waits for each of its passes of 20 ms to show how far it is. */
#include "../../common/ocl.h"

enum { PASSES = 60, N = 65536, TAKES = 20000 };

static const char source[] = "kernel void pass(global float *x, int number, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] += 1.0f / (1 + number);\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel pass = ocl_kernel(ocl_build(&o, source, ""), "pass");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	char bar[PASSES + 1] = "";

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(pass, 0, x);
	ocl_set_int(pass, 2, TAKES);
	for (int i = 0; i < PASSES; i++) {
		ocl_set_int(pass, 1, i);
		check(clEnqueueNDRangeKernel(queue, pass, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clFinish(queue);
		bar[i] = '.';
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("%s %08x\n", bar, fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
