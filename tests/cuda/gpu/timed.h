/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are launched again and again, each timed by events: transpose.cu, matmul.cu. */
#ifndef TESTS_CUDA_GPU_TIMED_H
#define TESTS_CUDA_GPU_TIMED_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The median milliseconds of a launch. */
template <typename Launch> static float timed(int launches, Launch launch)
{
	std::vector<float> times(launches);
	cudaEvent_t begin, end;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	for (float &ms : times) {
		CHECK(cudaEventRecord(begin));
		launch();
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(end));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
	}
	std::sort(times.begin(), times.end());
	return times[times.size() / 2];
}

/* MODE [LAUNCHES [N]]: "bad" or "repaired". */
struct wanted {
	bool repaired;
	int launches, n;
};

static wanted wanted_of(int argc, char **argv, int n)
{
	wanted w = {argc > 1 && strcmp(argv[1], "repaired") == 0, argc > 2 ? atoi(argv[2]) : 5,
		    argc > 3 ? atoi(argv[3]) : n};

	if (argc < 2 || (!w.repaired && strcmp(argv[1], "bad") != 0) || w.launches < 1 ||
	    w.n < 32 || w.n % 32) {
		fprintf(stderr, "%s bad|repaired [LAUNCHES [N, a multiple of 32]]\n", argv[0]);
		exit(2);
	}
	return w;
}

static std::vector<float> numbers(size_t count)
{
	std::vector<float> made(count);

	for (size_t i = 0; i < count; i++)
		made[i] = float(i * 2654435761u % 1024) / 1024;
	return made;
}

static float *on_device(const std::vector<float> &numbers)
{
	float *memory;

	CHECK(cudaMalloc(&memory, numbers.size() * sizeof(float)));
	CHECK(cudaMemcpy(memory, numbers.data(), numbers.size() * sizeof(float),
			 cudaMemcpyHostToDevice));
	return memory;
}

static void print(const char *kernel, const wanted &w, float ms, bool right)
{
	printf("{\"kernel\": \"%s\", \"mode\": \"%s\", \"n\": %d, \"launches\": %d, \"ms\": %.5f, "
	       "\"right\": %s}\n",
	       kernel, w.repaired ? "repaired" : "bad", w.n, w.launches, ms,
	       right ? "true" : "false");
}

#endif
