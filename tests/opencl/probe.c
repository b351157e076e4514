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

static void launch(const char *name)
{
	static const char *source = "kernel void a() {}";
	const size_t one = 1;
	cl_program program = clCreateProgramWithSource(probe_context, 1, &source, NULL, NULL);
	cl_kernel kernel;

	clBuildProgram(program, 1, &probe_device, NULL, NULL, NULL);
	kernel = clCreateKernel(program, name, NULL);
	clEnqueueNDRangeKernel(probe_queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
}

/* With an argument: a kernel before all functions, and two afterwards. */
int main(int argc, char **argv)
{
	cl_int error;

	if (clGetPlatformIDs(1, &probe_platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(probe_platform, CL_DEVICE_TYPE_ALL, 1, &probe_device, NULL) !=
		    CL_SUCCESS)
		return 1;
	probe_context = clCreateContext(NULL, 1, &probe_device, NULL, NULL, &error);
	probe_queue = clCreateCommandQueueWithProperties(probe_context, probe_device, NULL, &error);
	if (argc > 1)
		launch("before");
	probe_all();
	if (argc > 1) {
		launch("after");
		launch("after");
	}
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
