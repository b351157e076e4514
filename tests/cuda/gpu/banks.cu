/* SPDX-License-Identifier: Apache-2.0 */
/* A tile read by columns: banks 32|33 (words of its rows). 31 rounds too many for each warp's load, or none. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <int W> __global__ void columns(float *to, const float *from, int n)
{
	__shared__ float tile[32][W];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	tile[threadIdx.y][threadIdx.x] = from[y * n + x];
	__syncthreads();
	to[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y]; /* columns */
}

int main(int argc, char **argv)
{
	const int n = 1024;
	float *a, *b;

	cudaMalloc(&a, n * n * 4);
	cudaMalloc(&b, n * n * 4);
	cudaMemset(a, 0, n * n * 4);
	if (atoi(argv[1]) == 32)
		columns<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(b, a, n);
	else
		columns<33><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(b, a, n);
	return cudaDeviceSynchronize();
}
