/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller: each step's input is computed from the last step's output, on the device, and both
 * travel over the one queue. Nothing here could run beside anything else; the kernels are most of it.
 */
#include "../../common/ocl.h"

enum { STEPS = 150, N = 1024, TAKES = 8000 };

static const char source[] =
	"kernel void respond(global const float *in, global float *out, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	out[i] = 0.5f * in[i] + i % 9;\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel respond = ocl_kernel(ocl_build(&o, source, ""), "respond");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem in = ocl_buffer(&o, size), out = ocl_buffer(&o, size);
	float *signal = memory(size);

	ocl_set_mem(respond, 0, in);
	ocl_set_mem(respond, 1, out);
	ocl_set_int(respond, 2, TAKES);
	for (int i = 0; i < STEPS; i++) {
		clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, size, signal, 0, NULL, NULL);
		check(clEnqueueNDRangeKernel(queue, respond, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, out, CL_TRUE, 0, size, signal, 0, NULL, NULL);
		for (int k = 0; k < N; k++)
			signal[k] = 0.75f * signal[k];
	}
	printf("signal %08x\n", fingerprint(1, signal, size));
	clReleaseMemObject(in);
	clReleaseMemObject(out);
	clReleaseCommandQueue(queue);
	free(signal);
	ocl_close(&o);
	return 0;
}
