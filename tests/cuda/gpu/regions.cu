/* SPDX-License-Identifier: Apache-2.0 */
/* Regions in kernels of CUDA: one that waits for so many ticks, one that does nearly nothing. Says what it has computed. */
#include <cstdio>
#include <kymo/kernel.h>

enum { THREADS = 1 << 14, GROUP = 128, TICKS = 20000 };

__global__ void waits(const float *a, float *b)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = a[i]; /* the first load */

	KYMO_REGION_BEGIN(the_wait);
	for (long long began = clock64(); clock64() - began < TICKS;)
		x += 0.0f;
	KYMO_REGION_END(the_wait);
	KYMO_REGION_BEGIN(store);
	b[i] = 2 * x; /* the store */
	KYMO_REGION_END(store);
}

int main()
{
	static float host[THREADS];
	float *a, *b;
	double sum = 0;

	for (int i = 0; i < THREADS; i++)
		host[i] = (float)i;
	if (cudaMalloc(&a, sizeof(host)) || cudaMalloc(&b, sizeof(host)))
		return 1;
	cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice);
	waits<<<THREADS / GROUP, GROUP>>>(a, b);
	if (cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost))
		return 1;
	for (int i = 0; i < THREADS; i++)
		sum += host[i];
	printf("waits %.0f\n", sum);
	return 0;
}
