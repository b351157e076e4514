/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All annotation interfaces in one program: what one pauses another resumes, and objects of OpenCL
 * named through NVTX. Argument: a ROCTx library.
 */
#include <stdint.h>
#include <stdio.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <kymo/marker.h>

#include "../itt/fake.h"
#include "../nvtx/fake.h"

static int (*roctx_pause)(uint64_t), (*roctx_resume)(uint64_t);

/* Pauses do not count, whoever asks: one resume ends them all. */
static void pauses(void)
{
	kymo_mark("first");
	kymo_range_push("across");
	__itt_pause();
	kymo_mark("hidden 1");
	roctx_pause(0);
	kymo_pause();
	nvtxMarkA("hidden 2");
	kymo_resume();
	nvtxMarkA("second");
	roctx_pause(0);
	nvtxRangePushA("hidden 3");
	__itt_resume();
	kymo_mark("third");
	nvtxRangePop(); /* was open while nothing was recorded: it ends after that */
	kymo_pause();
	kymo_mark("hidden 4");
	roctx_resume(0);
	kymo_mark("fourth");
	kymo_range_pop();
	__itt_thread_ignore();
	kymo_mark("hidden 5");
	kymo_resume_thread();
	kymo_mark("fifth");
}

static int names(void)
{
	nvtxResourceAttributes_t r = {.version = NVTX_VERSION,
				      .size = sizeof(r),
				      .identifierType = NVTX_RESOURCE_TYPE_OPENCL_COMMANDQUEUE,
				      .messageType = NVTX_MESSAGE_TYPE_ASCII,
				      .message.ascii = "my queue"};
	cl_command_queue queue, other;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_int error = 0;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	other = clCreateCommandQueue(context, device, 0, &error);
	nvtxNameClDeviceA(device, "my device");
	nvtxNameClContextA(context, "my context");
	nvtxNameClCommandQueueA(other, "my other queue");
	r.identifier.pValue = queue;
	nvtxDomainResourceCreate(NULL, &r);
	clFinish(queue);
	clFinish(other);
	clReleaseCommandQueue(queue);
	clReleaseCommandQueue(other);
	clReleaseContext(context);
	return error;
}

int main(int argc, char **argv)
{
	void *roctx = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!roctx)
		return 1;
	*(void **)&roctx_pause = dlsym(roctx, "roctxProfilerPause");
	*(void **)&roctx_resume = dlsym(roctx, "roctxProfilerResume");
	pauses();
	puts("done");
	return names();
}
