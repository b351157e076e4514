/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that launch a kernel on a stream of their own and wait for it, a thousand times a second, until standard input
 * ends: loop THREADS. For `kymo attach`: prints "ready" when all of them run.
 */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime.h>

static volatile bool done;
static pthread_barrier_t ready;

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "loop: %s\n", cudaGetErrorString(error));
	exit(1);
}

__global__ void turn(float *x)
{
	x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1.0f;
}

static void *work(void *)
{
	const struct timespec pause = {0, 1000000};
	cudaStream_t stream;
	float *x;

	check(cudaStreamCreate(&stream));
	check(cudaMalloc(&x, 1024 * sizeof(*x)));
	turn<<<1, 1024, 0, stream>>>(x);
	check(cudaStreamSynchronize(stream));
	pthread_barrier_wait(&ready);
	while (!done) {
		turn<<<1, 1024, 0, stream>>>(x);
		check(cudaStreamSynchronize(stream));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;
	char c;

	pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	pthread_barrier_wait(&ready);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	done = true;
	return 0; /* threads may still launch: the process ends */
}
