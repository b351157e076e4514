/* SPDX-License-Identifier: Apache-2.0 */
/* Work shared evenly by two devices, of which the second gets its part when the first is done. */
#include "../../common/ocl.h"

enum { ROUNDS = 80, N = 16384, TAKES = 7000 };

static const char source[] = "kernel void fold(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 5;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel fold = ocl_kernel(ocl_build(&o, source, ""), "fold");
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_command_queue queue[2];
	cl_mem x[2];
	float *host = memory(size);
	uint32_t hash = 1;

	if (o.devices < 2)
		return 77;
	for (cl_uint d = 0; d < 2; d++) {
		queue[d] = ocl_queue(&o, d, 0);
		x[d] = ocl_buffer(&o, size);
		clEnqueueWriteBuffer(queue[d], x[d], CL_TRUE, 0, size, host, 0, NULL, NULL);
	}
	ocl_set_int(fold, 1, TAKES);
	for (int i = 0; i < ROUNDS; i++) {
		for (int d = 0; d < 2; d++) {
			ocl_set_mem(fold, 0, x[d]);
			check(clEnqueueNDRangeKernel(queue[d], fold, 1, NULL, &global, &local, 0,
						     NULL, NULL),
			      "clEnqueueNDRangeKernel");
#ifdef REPAIRED
			clFlush(queue[d]);
#else
			clFinish(queue[d]);
#endif
		}
#ifdef REPAIRED
		clFinish(queue[0]);
		clFinish(queue[1]);
#endif
	}
	for (int d = 0; d < 2; d++) {
		clEnqueueReadBuffer(queue[d], x[d], CL_TRUE, 0, size, host, 0, NULL, NULL);
		hash = fingerprint(hash, host, size);
		clReleaseMemObject(x[d]);
		clReleaseCommandQueue(queue[d]);
	}
	printf("parts %08x\n", hash);
	free(host);
	ocl_close(&o);
	return 0;
}
