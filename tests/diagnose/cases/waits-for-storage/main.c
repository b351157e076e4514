/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training-like loop whose batches come from a slow storage, one read each: the device waits for
 * the host, and the host for the storage. The storage is a process behind a pipe.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/ocl.h"

enum { BATCHES = 80, N = 4096, TAKES = 6000, STORAGE = 8000 };

static const char source[] =
	"kernel void train(global float *w, global const float *batch, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	w[i] = 0.5f * w[i] + batch[i];\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

/* Answers each request after some time. */
static void store(int requests, int answers)
{
	static float batch[N];
	int number;

	while (read(requests, &number, sizeof(number)) == sizeof(number)) {
		rest_us(STORAGE);
		for (int i = 0; i < N; i++)
			batch[i] = (float)(number + i % 5);
		if (write(answers, batch, sizeof(batch)) != sizeof(batch))
			break;
	}
}

static void request(int to, int number)
{
	if (write(to, &number, sizeof(number)) != sizeof(number))
		exit(EXIT_FAILURE);
}

static void load(int from, float *batch)
{
	size_t got = 0;

	while (got < sizeof(float) * N) {
		ssize_t n = read(from, (char *)batch + got, sizeof(float) * N - got);

		if (n <= 0)
			exit(EXIT_FAILURE);
		got += (size_t)n;
	}
}

int main(void)
{
	int requests[2], answers[2];
	float *batch = memory(sizeof(float) * N);
	const size_t global = N, local = 64, size = sizeof(float) * N;
	cl_command_queue queue;
	cl_kernel train;
	cl_mem w, there;
	struct ocl o;

	if (pipe(requests) || pipe(answers))
		return EXIT_FAILURE;
	if (fork() == 0) {
		close(requests[1]);
		close(answers[0]);
		store(requests[0], answers[1]);
		_exit(0);
	}
	close(requests[0]);
	close(answers[1]);
	o = ocl_open();
	train = ocl_kernel(ocl_build(&o, source, ""), "train");
	queue = ocl_queue(&o, 0, 0);
	w = ocl_buffer(&o, size);
	there = ocl_buffer(&o, size);
	clEnqueueWriteBuffer(queue, w, CL_TRUE, 0, size, batch, 0, NULL, NULL);
	ocl_set_mem(train, 0, w);
	ocl_set_mem(train, 1, there);
	ocl_set_int(train, 2, TAKES);
#ifdef REPAIRED
	request(requests[1], 0);
#endif
	for (int i = 0; i < BATCHES; i++) {
#ifndef REPAIRED
		request(requests[1], i);
#endif
		load(answers[0], batch);
#ifdef REPAIRED
		request(requests[1], i + 1); /* ahead, while the device computes */
#endif
		clEnqueueWriteBuffer(queue, there, CL_TRUE, 0, size, batch, 0, NULL, NULL);
		check(clEnqueueNDRangeKernel(queue, train, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clFinish(queue);
	}
	clEnqueueReadBuffer(queue, w, CL_TRUE, 0, size, batch, 0, NULL, NULL);
	printf("weights %08x\n", fingerprint(1, batch, size));
	close(requests[1]);
	close(answers[0]);
	wait(NULL);
	clReleaseMemObject(w);
	clReleaseMemObject(there);
	clReleaseCommandQueue(queue);
	free(batch);
	ocl_close(&o);
	return 0;
}
