/* SPDX-License-Identifier: Apache-2.0 */
/* A display that draws fifty pictures a second, on purpose no more: it sleeps until the next is due. */
#include "../../common/ocl.h"

enum { PICTURES = 75, EACH = 20000, N = 65536, TAKES = 3000 };

static const char source[] = "kernel void draw(global float *x, int number, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = number + i % 9;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static void until(const struct timespec *begin, int picture)
{
	struct timespec due = *begin;

	due.tv_nsec += (long)picture * EACH * 1000 % 1000000000;
	due.tv_sec += (long)picture * EACH / 1000000 + due.tv_nsec / 1000000000;
	due.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel draw = ocl_kernel(ocl_build(&o, source, ""), "draw");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = N, local = 256, size = sizeof(float) * N;
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);
	struct timespec begin;

	ocl_set_mem(draw, 0, x);
	ocl_set_int(draw, 2, TAKES);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < PICTURES; i++) {
		ocl_set_int(draw, 1, i);
		check(clEnqueueNDRangeKernel(queue, draw, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
		until(&begin, i + 1);
	}
	printf("last %08x\n", fingerprint(1, host, size));
	clReleaseMemObject(x);
	clReleaseCommandQueue(queue);
	free(host);
	ocl_close(&o);
	return 0;
}
