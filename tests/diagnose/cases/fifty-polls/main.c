/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar: while one long kernel runs, its status is asked for fifty times. */
#include <unistd.h>

#include "../../common/ocl.h"

enum { N = 65536, TAKES = 1000000, POLLS = 50 };

static const char source[] = "kernel void simulate(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel simulate = ocl_kernel(ocl_build(&o, source, ""), "simulate");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	cl_int status = CL_QUEUED;
	cl_event done;

	ocl_set_mem(simulate, 0, x);
	ocl_set_int(simulate, 1, TAKES);
	check(clEnqueueNDRangeKernel(queue, simulate, 1, NULL, &global, &local, 0, NULL, &done),
	      "clEnqueueNDRangeKernel");
	clFlush(queue);
	for (int i = 0; i < POLLS && status != CL_COMPLETE; i++) {
		usleep(TAKES / POLLS - 1000);
		clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			       NULL);
	}
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 1, &done, NULL);
	clReleaseEvent(done);
	printf("done %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
