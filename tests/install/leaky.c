/* SPDX-License-Identifier: Apache-2.0 */
/* A program that allocates 8,000 bytes of device memory at most, and never frees 3,000 of them. */
#include <CL/cl.h>

static void use(cl_context context, size_t bytes)
{
	clReleaseMemObject(clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL));
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	clCreateBuffer(context, CL_MEM_READ_WRITE, 3000, NULL, NULL); /* forgotten */
	use(context, 5000);
	use(context, 1000);
	return 0;
}
