/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Monte Carlo code whose host draws the next batch of starting points between two launches, when
 * the device has nothing to do.
 */
#include "../../common/ocl.h"

enum { BATCHES = 100, N = 4096, TAKES = 5000, DRAWS = 4000 };

static const char source[] = "kernel void walk(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = fabs(x[i] - 0.5f);\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static void draw(float *points, int batch)
{
	for (int i = 0; i < N; i++)
		points[i] = (float)((i * 2654435761u + (unsigned)batch) % 1024) / 1024;
	compute_us(DRAWS, batch);
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel walk = ocl_kernel(ocl_build(&o, source, ""), "walk");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *points[2] = {memory(size), memory(size)}, *ends = memory(size);
	uint32_t hash = 1;

	ocl_set_mem(walk, 0, x);
	ocl_set_int(walk, 1, TAKES);
	draw(points[0], 0);
	for (int i = 0; i < BATCHES; i++) {
		clEnqueueWriteBuffer(queue, x, CL_FALSE, 0, size, points[i % 2], 0, NULL, NULL);
		check(clEnqueueNDRangeKernel(queue, walk, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, x, CL_FALSE, 0, size, ends, 0, NULL, NULL);
		clFlush(queue);
#ifdef REPAIRED
		draw(points[(i + 1) % 2], i + 1);
		clFinish(queue);
#else
		clFinish(queue);
		draw(points[(i + 1) % 2], i + 1);
#endif
		hash = fingerprint(hash, ends, size);
	}
	printf("walks %08x\n", hash);
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(points[0]);
	free(points[1]);
	free(ends);
	ocl_close(&o);
	return 0;
}
