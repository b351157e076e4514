/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter bank whose coefficients change with each step: each is sent by itself, as they are kept in
 * many small arrays.
 */
#include "../../common/ocl.h"

enum { STEPS = 60, COEFFICIENTS = 400, EACH = 64, BANK = 3000 };

static const char source[] = "kernel void bank(global const float *c, global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + c[i % 6400];\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel bank = ocl_kernel(ocl_build(&o, source, ""), "bank");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = 4096, local = 64, each = EACH, all = (size_t)COEFFICIENTS * EACH;
	cl_mem there = ocl_buffer(&o, all), x = ocl_buffer(&o, sizeof(float) * global);
	float *host = memory(all), *result = memory(sizeof(float) * global);

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, sizeof(float) * global, result, 0, NULL, NULL);
	ocl_set_mem(bank, 0, there);
	ocl_set_mem(bank, 1, x);
	ocl_set_int(bank, 2, BANK);
	for (int i = 0; i < STEPS; i++) {
		for (size_t k = 0; k < all / sizeof(float); k++)
			host[k] = (float)((k + (size_t)i) % 13);
#ifdef REPAIRED
		clEnqueueWriteBuffer(queue, there, CL_FALSE, 0, all, host, 0, NULL, NULL);
#else
		for (size_t k = 0; k < COEFFICIENTS; k++)
			clEnqueueWriteBuffer(queue, there, CL_TRUE, k * each, each,
					     (char *)host + k * each, 0, NULL, NULL);
#endif
		check(clEnqueueNDRangeKernel(queue, bank, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clFinish(queue);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof(float) * global, result, 0, NULL, NULL);
	printf("bank %08x\n", fingerprint(1, result, sizeof(float) * global));
	clReleaseMemObject(there);
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	free(result);
	ocl_close(&o);
	return 0;
}
