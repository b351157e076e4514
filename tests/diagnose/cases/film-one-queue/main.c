/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a film are sent to the device, graded and fetched. No frame depends on another, and
 * there are three sets of buffers, but all commands go to one queue, which does one at a time.
 */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { FRAMES = 60, SLOTS = 3, WORDS = 1 << 18, TAKES = 5000 };

static const char source[] =
	"kernel void grade(global const float *in, global float *out, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	for (int k = i; k < 1 << 18; k += get_global_size(0))\n"
	"		out[k] = sqrt(in[k]);\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel grade = ocl_kernel(ocl_build(&o, source, ""), "grade");
	cl_command_queue up = ocl_queue(&o, 0, 0), compute = up, down = up;
	const size_t global = 4096, local = 64, size = sizeof(float) * WORDS;
	cl_event sent[SLOTS], graded[SLOTS], back[SLOTS] = {NULL};
	cl_mem in[SLOTS], out[SLOTS];
	float *raw[SLOTS], *result[SLOTS];
	uint32_t hash = 1;

#ifdef REPAIRED
	compute = ocl_queue(&o, 0, 0);
	down = ocl_queue(&o, 0, 0);
#endif
	for (int s = 0; s < SLOTS; s++) {
		in[s] = ocl_buffer(&o, size);
		out[s] = ocl_buffer(&o, size);
		raw[s] = memory(size);
		result[s] = memory(size);
		for (int k = 0; k < WORDS; k++)
			raw[s][k] = (float)(k % 1000);
	}
	ocl_set_int(grade, 2, TAKES);
	for (int i = 0; i < FRAMES + SLOTS; i++) {
		int s = i % SLOTS;

		if (back[s]) {
			check(clWaitForEvents(1, &back[s]), "clWaitForEvents");
			clReleaseEvent(back[s]);
			hash = fingerprint(hash, result[s], 256);
		}
		if (i >= FRAMES)
			continue;
		raw[s][0] = (float)i;
		clEnqueueWriteBuffer(up, in[s], CL_FALSE, 0, size, raw[s], 0, NULL, &sent[s]);
		clFlush(up);
		ocl_set_mem(grade, 0, in[s]);
		ocl_set_mem(grade, 1, out[s]);
		clEnqueueNDRangeKernel(compute, grade, 1, NULL, &global, &local, 1, &sent[s],
				       &graded[s]);
		clFlush(compute);
		clEnqueueReadBuffer(down, out[s], CL_FALSE, 0, size, result[s], 1, &graded[s],
				    &back[s]);
		clFlush(down);
		clReleaseEvent(sent[s]);
		clReleaseEvent(graded[s]);
	}
	printf("film %08x\n", hash);
	for (int s = 0; s < SLOTS; s++) {
		clReleaseMemObject(in[s]);
		clReleaseMemObject(out[s]);
		free(raw[s]);
		free(result[s]);
	}
	if (compute != up) {
		clReleaseCommandQueue(compute);
		clReleaseCommandQueue(down);
	}
	clReleaseCommandQueue(up);
	ocl_close(&o);
	return 0;
}
