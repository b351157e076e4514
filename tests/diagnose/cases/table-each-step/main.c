/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radiation code that makes the buffer of its table of opacities anew in every step, with the same
 * contents, and gives it back at the end.
 */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { STEPS = 100, WORDS = 1 << 18, CELLS = 8192, TAKES = 4000 };

static const char source[] =
	"kernel void absorb(global float *x, global const float *table, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	x[i] = 0.5f * x[i] + table[(i * 31) % (1 << 18)];\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

static cl_mem make_table(const struct ocl *o, float *opacity)
{
	cl_int error;
	cl_mem table = clCreateBuffer(o->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
				      sizeof(float) * WORDS, opacity, &error);

	check(error, "clCreateBuffer");
	return table;
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel absorb = ocl_kernel(ocl_build(&o, source, ""), "absorb");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = CELLS, local = 64, size = sizeof(float) * CELLS;
	cl_mem x = ocl_buffer(&o, size), table = NULL;
	float *host = memory(size), *opacity = memory(sizeof(float) * WORDS);

	for (int i = 0; i < WORDS; i++)
		opacity[i] = (float)(i % 19);
	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(absorb, 0, x);
	ocl_set_int(absorb, 2, TAKES);
	for (int i = 0; i < STEPS; i++) {
#ifdef REPAIRED
		if (!table)
			table = make_table(&o, opacity);
#else
		table = make_table(&o, opacity);
#endif
		ocl_set_mem(absorb, 1, table);
		check(clEnqueueNDRangeKernel(queue, absorb, 1, NULL, &global, &local, 0, NULL,
					     NULL),
		      "clEnqueueNDRangeKernel");
		clFinish(queue);
#ifndef REPAIRED
		clReleaseMemObject(table);
#endif
	}
#ifdef REPAIRED
	clReleaseMemObject(table);
#endif
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("x %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	free(opacity);
	ocl_close(&o);
	return 0;
}
