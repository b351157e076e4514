/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that asks for what may not be there and copes: a property of another vendor's devices,
 * and as much memory as it can get. Its calls fail a few times, and it looks at each.
 */
#include "../../common/ocl.h"

enum { STEPS = 100, N = 16384, TAKES = 10000, OTHER_VENDORS = 0x4fff };

static const char source[] = "kernel void march(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = i % 10;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static cl_mem as_much_as_there_is(const struct ocl *o, size_t least)
{
	cl_ulong most = 0;
	size_t size;

	clGetDeviceInfo(o->device[0], CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
	for (size = (size_t)most * 4; size > least; size /= 4) {
		cl_int error;
		cl_mem m = clCreateBuffer(o->context, CL_MEM_READ_WRITE, size, NULL, &error);

		if (error == CL_SUCCESS)
			return m;
	}
	return ocl_buffer(o, least);
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel march = ocl_kernel(ocl_build(&o, source, ""), "march");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_uint warp = 0;
	cl_mem x;
	float *host = memory(size);

	if (clGetDeviceInfo(o.device[0], OTHER_VENDORS, sizeof(warp), &warp, NULL) != CL_SUCCESS)
		warp = 32;
	x = as_much_as_there_is(&o, size);
	ocl_set_mem(march, 0, x);
	ocl_set_int(march, 1, TAKES);
	for (int i = 0; i < STEPS; i++)
		check(clEnqueueNDRangeKernel(queue, march, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	printf("%u, %08x\n", warp, fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
