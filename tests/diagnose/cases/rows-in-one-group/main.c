/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixty-four lines of a sky survey, each a work-item that takes its time. All of them are in one
 * work-group, so that one compute unit of four does everything.
 */
#include "../../common/ocl.h"

enum { NIGHTS = 60, ROWS = 64, TAKES = 200 };

static const char source[] = "kernel void fit(global float *row, int night, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	float x = i;\n"
			     "	for (int k = 0; k < 100; k++)\n"
			     "		x = 0.5f * x + night;\n"
			     "	row[i] = x;\n"
			     "	takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel fit = ocl_kernel(ocl_build(&o, source, ""), "fit");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
#ifdef REPAIRED
	const size_t local = 8;
#else
	const size_t local = 64;
#endif
	const size_t global = ROWS, size = sizeof(float) * ROWS;
	cl_mem row = ocl_buffer(&o, size);
	float *host = memory(size);

	ocl_set_mem(fit, 0, row);
	ocl_set_int(fit, 2, TAKES);
	for (int i = 0; i < NIGHTS; i++) {
		ocl_set_int(fit, 1, i);
		check(clEnqueueNDRangeKernel(queue, fit, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	}
	clEnqueueReadBuffer(queue, row, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("rows %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(row);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
