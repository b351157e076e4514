/* SPDX-License-Identifier: Apache-2.0 */
/* Names for all that a program can name, and a little work to show them with. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <kymo/marker.h>

enum { SKIPPED = 77 };

static void name(uint32_t kind, const void *handle, const char *text)
{
	kymo_name(kind, "opencl", (uint64_t)(uintptr_t)handle, text);
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;
	int value = 3;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return SKIPPED;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	kymo_name(KYMO_OBJECT_PROCESS, NULL, 0, "solver of mine");
	kymo_name_thread("chief of mine");
	name(KYMO_OBJECT_DEVICE, device, "cruncher of mine");
	name(KYMO_OBJECT_CONTEXT, context, "world of mine");
	name(KYMO_OBJECT_QUEUE, queue, "lane of mine");
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(value), NULL, NULL);
	clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL);
	clFinish(queue);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
