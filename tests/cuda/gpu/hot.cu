/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that spends nearly all its time in one line, for samples and counters: hot LAUNCHES ROUNDS.
 * Prints as JSON that line, how many warps each launch has, and the milliseconds that all took.
 */
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                           \
		if (error_ != cudaSuccess) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { BLOCKS = 132, THREADS = 1024, HOT_LINE = __LINE__ + 7 };

__global__ void hot(float *x, int rounds)
{
	float v = x[blockIdx.x * blockDim.x + threadIdx.x];

	for (int k = 0; k < rounds; k++)
		v = sqrtf(v * v + 1.0f) / (v + 2.0f);
	x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__global__ void cold(float *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 2 ? atoi(argv[2]) : 20000;
	cudaEvent_t begin, end;
	float *x, ms;

	CHECK(cudaMalloc(&x, BLOCKS * THREADS * sizeof(*x)));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	cold<<<BLOCKS, THREADS>>>(x);
	CHECK(cudaEventRecord(begin));
	for (int i = 0; i < launches; i++)
		hot<<<BLOCKS, THREADS>>>(x, rounds);
	CHECK(cudaEventRecord(end));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	printf("{\"line\": %d, \"launches\": %d, \"warps\": %d, \"ms\": %.3f}\n", HOT_LINE, launches,
	       BLOCKS * THREADS / 32, ms);
	CHECK(cudaFree(x));
	return 0;
}
