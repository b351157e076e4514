/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls each extension function of OpenCL once, by name, with nothing but a queue and a context,
 * and says what it returned.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

cl_platform_id probe_platform;
cl_device_id probe_device;
cl_context probe_context;
cl_command_queue probe_queue;

void *probe_find(const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(probe_platform, name);

	if (!function) {
		fprintf(stderr, "there is no %s\n", name);
		exit(1);
	}
	return function;
}

void probe_say(const char *name, int result)
{
	printf("%s %d\n", name, result);
}

int main(void)
{
	cl_int error;

	if (clGetPlatformIDs(1, &probe_platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(probe_platform, CL_DEVICE_TYPE_ALL, 1, &probe_device, NULL) !=
		    CL_SUCCESS)
		return 1;
	probe_context = clCreateContext(NULL, 1, &probe_device, NULL, NULL, &error);
	probe_queue = clCreateCommandQueueWithProperties(probe_context, probe_device, NULL, &error);
	probe_all();
	printf("no such function: %d\n",
	       clGetExtensionFunctionAddressForPlatform(probe_platform, "clNoSuchKHR") == NULL);
	/* The loader's own functions of sharing lead through the table. */
	printf("clEnqueueAcquireGLObjects %d\n",
	       clEnqueueAcquireGLObjects(probe_queue, 0, NULL, 0, NULL, NULL));
	printf("clFinish %d\n", clFinish(probe_queue));
	clReleaseCommandQueue(probe_queue);
	clReleaseContext(probe_context);
	return 0;
}
