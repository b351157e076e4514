/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image filter over the frames of a film. Frames come back on a queue of their own, but each is
 * read with a blocking call, so that the filter stands still while a frame travels.
 */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { FRAMES = 80, WIDTH = 512, HEIGHT = 512, PIXELS = WIDTH * HEIGHT, TAKES = 6000 };

static const char source[] = "kernel void sharpen(global float *out, int frame, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	for (int k = i; k < 512 * 512; k += 4096)\n"
			     "		out[k] = frame + 0.25f * (k % 7);\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_command_queue filtering = ocl_queue(&o, 0, 0), transfer = ocl_queue(&o, 0, 0);
	cl_kernel sharpen = ocl_kernel(ocl_build(&o, source, ""), "sharpen");
	const size_t global = 4096, local = 64, size = sizeof(float) * PIXELS;
	cl_mem image[2] = {ocl_buffer(&o, size), ocl_buffer(&o, size)};
	float *frame[2] = {memory(size), memory(size)};
	cl_event filtered, arrived[2] = {NULL, NULL};
	uint32_t hash = 1;

	ocl_set_int(sharpen, 2, TAKES);
	for (int i = 0; i < FRAMES; i++) {
		int slot = i % 2;

		if (arrived[slot]) {
			check(clWaitForEvents(1, &arrived[slot]), "clWaitForEvents");
			clReleaseEvent(arrived[slot]);
			hash = fingerprint(hash, frame[slot], 4096);
		}
		ocl_set_mem(sharpen, 0, image[slot]);
		ocl_set_int(sharpen, 1, i);
		check(clEnqueueNDRangeKernel(filtering, sharpen, 1, NULL, &global, &local, 0, NULL,
					     &filtered),
		      "clEnqueueNDRangeKernel");
		check(clFlush(filtering), "clFlush");
#ifdef REPAIRED
		check(clEnqueueReadBuffer(transfer, image[slot], CL_FALSE, 0, size, frame[slot], 1,
					  &filtered, &arrived[slot]),
		      "clEnqueueReadBuffer");
#else
		check(clEnqueueReadBuffer(transfer, image[slot], CL_TRUE, 0, size, frame[slot], 1,
					  &filtered, &arrived[slot]),
		      "clEnqueueReadBuffer");
#endif
		check(clFlush(transfer), "clFlush");
		clReleaseEvent(filtered);
	}
	for (int i = FRAMES; i < FRAMES + 2; i++) {
		clWaitForEvents(1, &arrived[i % 2]);
		clReleaseEvent(arrived[i % 2]);
		hash = fingerprint(hash, frame[i % 2], 4096);
	}
	printf("film %08x\n", hash);
	for (int i = 0; i < 2; i++) {
		clReleaseMemObject(image[i]);
		free(frame[i]);
	}
	clReleaseCommandQueue(filtering);
	clReleaseCommandQueue(transfer);
	ocl_close(&o);
	return 0;
}
