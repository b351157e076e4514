/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hydrodynamics code: each step has one kernel of 10 ms and eight that set borders in a moment.
 * All are sent ahead, so that the device is never short of work.
 */
#include "../../common/ocl.h"

enum { STEPS = 100, SIDES = 8, N = 65536, TAKES = 10000 };

static const char source[] = "kernel void flux(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n"
			     "kernel void border(global float *x, int side)\n"
			     "{\n"
			     "	x[get_global_id(0) + 512 * side] = side;\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_program program = ocl_build(&o, source, "");
	cl_kernel flux = ocl_kernel(program, "flux"), border = ocl_kernel(program, "border");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, few = 512, local = 128, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(flux, 0, x);
	ocl_set_int(flux, 1, TAKES);
	ocl_set_mem(border, 0, x);
	for (int i = 0; i < STEPS; i++) {
		check(clEnqueueNDRangeKernel(queue, flux, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		for (int side = 0; side < SIDES; side++) {
			ocl_set_int(border, 1, side);
			check(clEnqueueNDRangeKernel(queue, border, 1, NULL, &few, &local, 0, NULL,
						     NULL),
			      "clEnqueueNDRangeKernel");
		}
		clFlush(queue);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("flow %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
