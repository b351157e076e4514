/* SPDX-License-Identifier: Apache-2.0 */
/* An image server that forgets to release the buffer of each picture that it has served. */
#include "../../common/ocl.h"

enum { PICTURES = 120, N = 1 << 16, TAKES = 5000 };

static const char source[] = "kernel void scale(global float *x, int number, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = number + i % 11;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static struct ocl o;
static cl_kernel scale;
static cl_command_queue queue;

static uint32_t serve(int number, float *picture, uint32_t hash)
{
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_int error;
	cl_mem x = clCreateBuffer(o.context, CL_MEM_READ_WRITE, size, NULL, &error);

	check(error, "clCreateBuffer");
	ocl_set_mem(scale, 0, x);
	ocl_set_int(scale, 1, number);
	ocl_set_int(scale, 2, TAKES);
	check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &global, &local, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, picture, 0, NULL, NULL);
#ifdef REPAIRED
	clReleaseMemObject(x);
#endif
	return fingerprint(hash, picture, size);
}

int main(void)
{
	float *picture = memory(sizeof(float) * N);
	uint32_t hash = 1;

	o = ocl_open();
	scale = ocl_kernel(ocl_build(&o, source, ""), "scale");
	queue = ocl_queue(&o, 0, 0);
	for (int i = 0; i < PICTURES; i++)
		hash = serve(i, picture, hash);
	printf("pictures %08x\n", hash);
	clReleaseCommandQueue(queue);
	free(picture);
	ocl_close(&o);
	return 0;
}
