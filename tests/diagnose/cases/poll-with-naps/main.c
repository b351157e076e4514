/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ray tracer that renders tile after tile and asks every 10 ms whether the tile is done: each
 * kernel of 6 ms is seen to have ended 4 ms late.
 */
#include <unistd.h>

#include "../../common/ocl.h"

enum { TILES = 120, PIXELS = 16384, TAKES = 6000 };

static const char source[] = "kernel void trace(global int *tile, int number, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	tile[i] = (i * 31 + number) % 255;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static void wait_for(cl_event event)
{
#ifdef REPAIRED
	check(clWaitForEvents(1, &event), "clWaitForEvents");
#else
	cl_int status = CL_QUEUED;

	while (status != CL_COMPLETE) {
		usleep(10000);
		check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				     &status, NULL),
		      "clGetEventInfo");
	}
#endif
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel trace = ocl_kernel(ocl_build(&o, source, ""), "trace");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = PIXELS, local = 64, size = sizeof(int) * PIXELS;
	cl_mem tile = ocl_buffer(&o, size);
	int *host = memory(size);
	uint32_t hash = 1;

	ocl_set_mem(trace, 0, tile);
	ocl_set_int(trace, 2, TAKES);
	for (int i = 0; i < TILES; i++) {
		cl_event done;

		ocl_set_int(trace, 1, i);
		check(clEnqueueNDRangeKernel(queue, trace, 1, NULL, &global, &local, 0, NULL,
					     &done),
		      "clEnqueueNDRangeKernel");
		clFlush(queue);
		wait_for(done);
		clReleaseEvent(done);
	}
	clEnqueueReadBuffer(queue, tile, CL_TRUE, 0, size, host, 0, NULL, NULL);
	hash = fingerprint(hash, host, size);
	printf("picture %08x\n", hash);
	clReleaseMemObject(tile);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
