/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues that take turns on one field because each really needs what the other wrote. */
#include "../../common/ocl.h"

enum { STEPS = 80, N = 16384, TAKES = 7000 };

static const char source[] = "kernel void odd(global const float *in, global float *out, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	out[i] = 0.5f * in[i] + i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel odd = ocl_kernel(ocl_build(&o, source, ""), "odd");
	cl_command_queue queue[2] = {ocl_queue(&o, 0, 0), ocl_queue(&o, 0, 0)};
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x[2] = {ocl_buffer(&o, size), ocl_buffer(&o, size)};
	float *host = memory(size);
	cl_event last = NULL;

	clEnqueueWriteBuffer(queue[0], x[0], CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_int(odd, 2, TAKES);
	for (int i = 0; i < 2 * STEPS; i++) {
		cl_event done;

		ocl_set_mem(odd, 0, x[i % 2]);
		ocl_set_mem(odd, 1, x[(i + 1) % 2]);
		check(clEnqueueNDRangeKernel(queue[i % 2], odd, 1, NULL, &global, &local,
					     last != NULL, last ? &last : NULL, &done),
		      "clEnqueueNDRangeKernel");
		clFlush(queue[i % 2]);
		if (last)
			clReleaseEvent(last);
		last = done;
	}
	clWaitForEvents(1, &last);
	clReleaseEvent(last);
	clEnqueueReadBuffer(queue[0], x[0], CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("field %08x\n", fingerprint(1, host, size));
	for (int k = 0; k < 2; k++) {
		clReleaseMemObject(x[k]);
		clReleaseCommandQueue(queue[k]);
	}
	free(host);
	ocl_close(&o);
	return 0;
}
