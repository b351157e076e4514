/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two models on one device are coupled by a field that neither of them needs on the host: it is
 * fetched from the first and handed to the second by way of the host, as it was between devices once.
 */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { STEPS = 45, WORDS = 1 << 18, OCEAN = 5000, AIR = 4000 };

static const char source[] = "kernel void ocean(global float *out, int step, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	for (int k = i; k < 1 << 18; k += 4096)\n"
			     "		out[k] = step + k % 19;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n"
			     "kernel void air(global const float *in, global float *sum, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	float s = 0;\n"
			     "	for (int k = i; k < 1 << 18; k += 4096)\n"
			     "		s += in[k];\n"
			     "	sum[i] = 0.5f * sum[i] + s;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_program program = ocl_build(&o, source, "");
	cl_kernel ocean = ocl_kernel(program, "ocean"), air = ocl_kernel(program, "air");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = 4096, local = 64, size = sizeof(float) * WORDS;
	cl_mem surface = ocl_buffer(&o, size), below = surface;
	cl_mem sums = ocl_buffer(&o, sizeof(float) * global);
	float *host = memory(size), *sum = memory(sizeof(float) * global);

#ifndef REPAIRED
	below = ocl_buffer(&o, size);
#endif
	clEnqueueWriteBuffer(queue, sums, CL_TRUE, 0, sizeof(float) * global, sum, 0, NULL, NULL);
	ocl_set_mem(ocean, 0, surface);
	ocl_set_int(ocean, 2, OCEAN);
	ocl_set_mem(air, 0, below);
	ocl_set_mem(air, 1, sums);
	ocl_set_int(air, 2, AIR);
	for (int i = 0; i < STEPS; i++) {
		ocl_set_int(ocean, 1, i);
		check(clEnqueueNDRangeKernel(queue, ocean, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
#ifndef REPAIRED
		clEnqueueReadBuffer(queue, surface, CL_TRUE, 0, size, host, 0, NULL, NULL);
		clEnqueueWriteBuffer(queue, below, CL_TRUE, 0, size, host, 0, NULL, NULL);
#endif
		check(clEnqueueNDRangeKernel(queue, air, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		if (i % 9 == 8)
			clFinish(queue);
	}
	clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, sizeof(float) * global, sum, 0, NULL, NULL);
	printf("coupled %08x\n", fingerprint(1, sum, sizeof(float) * global));
	clReleaseMemObject(surface);
	if (below != surface)
		clReleaseMemObject(below);
	clReleaseMemObject(sums);
	clReleaseCommandQueue(queue);
	free(host);
	free(sum);
	ocl_close(&o);
	return 0;
}
