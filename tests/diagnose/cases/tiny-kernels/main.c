/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An integrator that gives each of its small updates of 256 oscillators to the device as a kernel of
 * its own: sending them takes far longer than computing them.
 */
#include "../../common/ocl.h"

enum { STEPS = 120000, N = 256 };

static const char source[] = "kernel void kick(global float *x, global float *v, int steps)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	for (int k = 0; k < steps; k++) {\n"
			     "		v[i] = v[i] - 0.01f * x[i];\n"
			     "		x[i] = x[i] + 0.01f * v[i];\n"
			     "	}\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel kick = ocl_kernel(ocl_build(&o, source, ""), "kick");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size), v = ocl_buffer(&o, size);
	float *host = memory(size);
#ifdef REPAIRED
	const int together = 500;
#else
	const int together = 1;
#endif

	clEnqueueWriteBuffer(queue, v, CL_TRUE, 0, size, host, 0, NULL, NULL);
	for (int i = 0; i < N; i++)
		host[i] = 1.0f + (float)i / 16;
	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(kick, 0, x);
	ocl_set_mem(kick, 1, v);
	ocl_set_int(kick, 2, together);
	for (int i = 0; i < STEPS; i += together) {
		check(clEnqueueNDRangeKernel(queue, kick, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		if (i % 500 == 0)
			clFlush(queue);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("oscillators %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseMemObject(v);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
