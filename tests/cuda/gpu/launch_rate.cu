/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches COUNT empty kernels (default 1,000,000) in batches that the device keeps up with, and
 * prints nanoseconds a launch: the median of 20 parts, and the whole.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/resource.h>

__global__ void empty_kernel() {}

static double now()
{
	using namespace std::chrono;
	return duration<double, std::nano>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1000000, parts = 20, part = count / parts;
	std::vector<double> times;
	double start, whole;

	for (int i = 0; i < 1000; i++)
		empty_kernel<<<1, 1>>>();
	cudaDeviceSynchronize();
	whole = now();
	for (int p = 0; p < parts; p++) {
		start = now();
		for (int i = 0; i < part; i++)
			empty_kernel<<<1, 1>>>();
		times.push_back((now() - start) / part);
		cudaDeviceSynchronize();
	}
	whole = (now() - whole) / count;
	std::sort(times.begin(), times.end());
	if (cudaGetLastError() != cudaSuccess)
		return 1;
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	printf("launches %d median_ns %.0f mean_ns %.0f rss_kb %ld\n", parts * part + 1000,
	       times[parts / 2], whole, used.ru_maxrss);
	return 0;
}
