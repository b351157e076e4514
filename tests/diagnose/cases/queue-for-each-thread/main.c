/* SPDX-License-Identifier: Apache-2.0 */
/* Three host threads with a queue each, made when the thread starts and kept to its end. */
#include <pthread.h>

#include "../../common/ocl.h"

enum { THREADS = 3, TASKS = 110, N = 4096, TAKES = 10000 };

static const char source[] = "kernel void task(global float *x, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	x[i] = 0.5f * x[i] + i % 10;\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

static struct ocl o;
static cl_program program;

static void *work(void *out)
{
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	cl_kernel task = clCreateKernel(program, "task", NULL);
	cl_mem x = ocl_buffer(&o, size);
	float *host = memory(size);

	clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	ocl_set_mem(task, 0, x);
	ocl_set_int(task, 1, TAKES);
	for (int i = 0; i < TASKS; i++)
		check(clEnqueueNDRangeKernel(queue, task, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	clEnqueueReadBuffer(queue, x, CL_TRUE, 0, size, host, 0, NULL, NULL);
	*(uint32_t *)out = fingerprint(1, host, size);
	clReleaseMemObject(x);
	clReleaseKernel(task);
	clReleaseCommandQueue(queue);
	free(host);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint32_t result[THREADS];

	o = ocl_open();
	program = ocl_build(&o, source, "");
	for (int t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, work, &result[t]);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		printf("%08x\n", result[t]);
	}
	ocl_close(&o);
	return 0;
}
