/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are sought in the frames of a film. The host waits for what was found in a frame, and then decodes
 * the next one, for 5 ms with small differences.
 */
#include "../../common/ocl.h"

enum { FRAMES = 90, N = 4096, TAKES = 6000, DECODE = 5000 };

static const char source[] = "kernel void seek(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 3;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static double decode(int frame)
{
	return compute_us(DECODE + 13.0 * (frame * 7 % 11), frame);
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel seek = ocl_kernel(ocl_build(&o, source, ""), "seek");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *found = memory(size);
	double film = decode(0);
	uint32_t hash = 1;

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, found, 0, NULL, NULL);
	ocl_set_mem(seek, 0, x);
	ocl_set_int(seek, 1, TAKES);
	for (int i = 0; i < FRAMES; i++) {
		check(clEnqueueNDRangeKernel(queue, seek, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clFlush(queue);
#ifdef REPAIRED
		film += decode(i + 1);
#endif
		clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, found, 0, NULL, NULL);
		hash = fingerprint(hash, found, size);
#ifndef REPAIRED
		film += decode(i + 1);
#endif
	}
	printf("found %08x %g\n", hash, film);
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(found);
	ocl_close(&o);
	return 0;
}
