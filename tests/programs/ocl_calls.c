/* SPDX-License-Identifier: Apache-2.0 */
/* Many short calls and nothing else: ocl_calls COUNT. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000;
	cl_platform_id platform;
	char name[256];

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) {
		fputs("ocl_calls: no OpenCL platform\n", stderr);
		return 77;
	}
	for (long i = 0; i < count; i++)
		if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL) !=
		    CL_SUCCESS)
			return 1;
	return 0;
}
