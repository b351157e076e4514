/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a map on the device: memory grows until the cache has 40 of them, then the oldest goes. */
#include "../../common/ocl.h"

enum { KEPT = 40, TILES = 200, N = 1 << 16, TAKES = 5000 };

static const char source[] = "kernel void draw(global float *x, int tile, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = tile + i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel draw = ocl_kernel(ocl_build(&o, source, ""), "draw");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem cache[KEPT] = {NULL};
	float *host = memory(size);

	ocl_set_int(draw, 2, TAKES);
	for (int i = 0; i < TILES; i++) {
		cl_mem *tile = &cache[i % KEPT];

		if (*tile)
			clReleaseMemObject(*tile);
		*tile = ocl_buffer(&o, size);
		ocl_set_mem(draw, 0, *tile);
		ocl_set_int(draw, 1, i);
		check(clEnqueueNDRangeKernel(queue, draw, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clFlush(queue);
	}
	clEnqueueReadBuffer(queue, cache[0], CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("map %08x\n", fingerprint(1, host, size));
	for (int i = 0; i < KEPT; i++)
		clReleaseMemObject(cache[i]);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
