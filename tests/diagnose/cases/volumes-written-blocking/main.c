/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes of a scanner are filtered one by one. Each is written with a blocking call, although there
 * is a second buffer and a second queue: while a volume travels, the device has nothing to do.
 */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { VOLUMES = 90, VOXELS = 1 << 18, TAKES = 5500 };

static const char source[] =
	"kernel void smooth(global const float *in, global float *sums, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	float s = 0;\n"
	"	for (int k = i; k < 1 << 18; k += 4096)\n"
	"		s += in[k];\n"
	"	sums[i] = 0.5f * sums[i] + s;\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_command_queue sending = ocl_queue(&o, 0, 0), filtering = ocl_queue(&o, 0, 0);
	cl_kernel smooth = ocl_kernel(ocl_build(&o, source, ""), "smooth");
	const size_t global = 4096, local = 64, size = sizeof(float) * VOXELS;
	cl_mem in[2] = {ocl_buffer(&o, size), ocl_buffer(&o, size)};
	cl_mem sums = ocl_buffer(&o, sizeof(float) * 4096);
	cl_event filtered[2] = {NULL, NULL};
	float *volume[2] = {memory(size), memory(size)}, *result = memory(sizeof(float) * 4096);

	for (int k = 0; k < VOXELS; k++)
		volume[0][k] = volume[1][k] = (float)(k % 11);
	clEnqueueWriteBuffer(sending, sums, CL_TRUE, 0, sizeof(float) * 4096, result, 0, NULL,
			     NULL);
	ocl_set_mem(smooth, 1, sums);
	ocl_set_int(smooth, 2, TAKES);
	for (int i = 0; i < VOLUMES; i++) {
		int slot = i % 2;
		cl_event sent;

		if (filtered[slot]) {
			check(clWaitForEvents(1, &filtered[slot]), "clWaitForEvents");
			clReleaseEvent(filtered[slot]);
		}
#ifdef REPAIRED
		check(clEnqueueWriteBuffer(sending, in[slot], CL_FALSE, 0, size, volume[slot], 0,
					   NULL, &sent),
		      "clEnqueueWriteBuffer");
		check(clFlush(sending), "clFlush");
#else
		check(clEnqueueWriteBuffer(filtering, in[slot], CL_TRUE, 0, size, volume[slot], 0,
					   NULL, &sent),
		      "clEnqueueWriteBuffer");
#endif
		ocl_set_mem(smooth, 0, in[slot]);
		check(clEnqueueNDRangeKernel(filtering, smooth, 1, NULL, &global, &local, 1, &sent,
					     &filtered[slot]),
		      "clEnqueueNDRangeKernel");
		check(clFlush(filtering), "clFlush");
		clReleaseEvent(sent);
	}
	clFinish(filtering);
	clEnqueueReadBuffer(filtering, sums, CL_TRUE, 0, sizeof(float) * 4096, result, 0, NULL,
			    NULL);
	printf("volumes %08x\n", fingerprint(1, result, sizeof(float) * 4096));
	for (int i = 0; i < 2; i++) {
		clReleaseEvent(filtered[i]);
		clReleaseMemObject(in[i]);
		free(volume[i]);
	}
	clReleaseMemObject(sums);
	clReleaseCommandQueue(sending);
	clReleaseCommandQueue(filtering);
	free(result);
	ocl_close(&o);
	return 0;
}
