/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two independent fields are advanced in a queue each. Out of caution every step waits for the last
 * step of the other field too, which it does not read.
 */
#include "../../common/ocl.h"

enum { STEPS = 120, CELLS = 65536, TAKES = 5000 };

static const char source[] = "kernel void advance(global float *field, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	field[i] = 0.5f * field[i] + 1.0f;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel advance = ocl_kernel(ocl_build(&o, source, ""), "advance");
	cl_command_queue queue[2] = {ocl_queue(&o, 0, 0), ocl_queue(&o, 0, 0)};
	const size_t global = CELLS, local = 256, size = sizeof(float) * CELLS;
	cl_event last[2] = {NULL, NULL};
	cl_mem field[2];
	float *host = memory(size);
	uint32_t hash = 1;

	for (int f = 0; f < 2; f++) {
		field[f] = ocl_buffer(&o, size);
		host[0] = (float)f;
		clEnqueueWriteBuffer(queue[f], field[f], CL_TRUE, 0, size, host, 0, NULL, NULL);
	}
	ocl_set_int(advance, 1, TAKES);
	for (int i = 0; i < STEPS; i++) {
		for (int f = 0; f < 2; f++) {
#ifdef REPAIRED
			cl_event after = last[f];
#else
			cl_event after = last[!f];
#endif
			cl_event done;

			ocl_set_mem(advance, 0, field[f]);
			check(clEnqueueNDRangeKernel(queue[f], advance, 1, NULL, &global, &local,
						     after != NULL, after ? &after : NULL, &done),
			      "clEnqueueNDRangeKernel");
			clFlush(queue[f]);
			if (last[f])
				clReleaseEvent(last[f]);
			last[f] = done;
		}
	}
	for (int f = 0; f < 2; f++) {
		clEnqueueReadBuffer(queue[f], field[f], CL_TRUE, 0, size, host, 0, NULL, NULL);
		hash = fingerprint(hash, host, size);
		clReleaseEvent(last[f]);
		clReleaseMemObject(field[f]);
		clReleaseCommandQueue(queue[f]);
	}
	printf("fields %08x\n", hash);
	free(host);
	ocl_close(&o);
	return 0;
}
