/* SPDX-License-Identifier: Apache-2.0 */
/* A stencil whose author calls clFinish() after each of its short kernels, to be safe. */
#include "../../common/ocl.h"

enum { STEPS = 6000, N = 512 };

static const char source[] =
	"kernel void relax(global const float *in, global float *out)\n"
	"{\n"
	"	int i = get_global_id(0), n = get_global_size(0);\n"
	"	float a = in[i == 0 ? n - 1 : i - 1], b = in[i == n - 1 ? 0 : i + 1];\n"
	"	for (int k = 0; k < 20; k++)\n"
	"		a = 0.5f * a + 0.25f * in[i] + 0.25f * b;\n"
	"	out[i] = a;\n"
	"}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel relax = ocl_kernel(ocl_build(&o, source, ""), "relax");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem plate[2] = {ocl_buffer(&o, size), ocl_buffer(&o, size)};
	float *host = memory(size);

	for (int i = 0; i < N; i++)
		host[i] = (float)(i % 13);
	clEnqueueWriteBuffer(queue, plate[0], CL_TRUE, 0, size, host, 0, NULL, NULL);
	for (int i = 0; i < STEPS; i++) {
		ocl_set_mem(relax, 0, plate[i % 2]);
		ocl_set_mem(relax, 1, plate[(i + 1) % 2]);
		check(clEnqueueNDRangeKernel(queue, relax, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
#ifdef REPAIRED
		if (i % 100 == 99)
			clFlush(queue);
#else
		clFinish(queue);
#endif
	}
	clEnqueueReadBuffer(queue, plate[STEPS % 2], CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("plate %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(plate[0]);
	clReleaseMemObject(plate[1]);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
