/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose counts by line follow from how they are launched: tools/gpu/lines.py knows them. Prints sums over the bytes of what they wrote. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { THREADS = 1 << 16, SIDE = 1024, TILE = 32, TURNS = 37, STRIDES = 7, STRIDE_MAX = 64 };

__device__ int level = 3;

__global__ void strided(const float *x, float *y, int s)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = x[i * s]; /* the strided load */
}

__global__ void transpose_naive(const float *x, float *y)
{
	int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;

	y[c * SIDE + r] = x[r * SIDE + c]; /* the naive line */
}

template <int WIDTH> __device__ void transpose_by_tiles(const float *x, float *y)
{
	__shared__ float tile[TILE][WIDTH];
	int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;

	tile[threadIdx.y][threadIdx.x] = x[r * SIDE + c];
	__syncthreads();
	c = blockIdx.y * TILE + threadIdx.x;
	r = blockIdx.x * TILE + threadIdx.y;
	y[r * SIDE + c] = tile[threadIdx.x][threadIdx.y]; /* the tile's line */
}

__global__ void transpose_tiled(const float *x, float *y)
{
	transpose_by_tiles<TILE>(x, y);
}

__global__ void transpose_padded(const float *x, float *y)
{
	transpose_by_tiles<TILE + 1>(x, y);
}

__global__ void loop(float *y, int turns)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = y[i];

#pragma unroll 1
	for (int t = 0; t < turns; t++)
		v = fmaf(v, 0.5f, 1.0f); /* the loop's line */
	y[i] = v;
}

__noinline__ __device__ float picked(const float *x, int i)
{
	return x[i * 2]; /* the function's line */
}

__global__ void calls(const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = picked(x, i) + picked(x, i + 1);
}

/* Adds: what is put back shows. Every other thread, and a variable of the module. */
__global__ void odd(unsigned *sums)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i & 1)
		atomicAdd(&sums[i % 64], (unsigned)level); /* the odd line */
	if (i == 0)
		level++;
}

static void check(cudaError_t e, const char *what)
{
	if (e == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
	exit(1);
}

static void print(const char *name, const void *device, size_t bytes)
{
	std::vector<unsigned char> host(bytes);
	uint64_t sum = 0xcbf29ce484222325u;

	check(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost), name);
	for (unsigned char c : host)
		sum = (sum ^ c) * 0x100000001b3u;
	printf("%s %016llx\n", name, (unsigned long long)sum);
}

int main()
{
	const size_t bytes = sizeof(float) * SIDE * SIDE * 4;
	std::vector<float> host(SIDE * SIDE * 4);
	dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, TILE);
	float *x, *y;
	unsigned *sums;

	for (size_t i = 0; i < host.size(); i++)
		host[i] = (float)(i % 1021) * 0.25f;
	check(cudaMalloc(&x, bytes), "x");
	check(cudaMalloc(&y, bytes), "y");
	check(cudaMalloc(&sums, 64 * sizeof(*sums)), "sums");
	check(cudaMemset(sums, 0, 64 * sizeof(*sums)), "sums");
	check(cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice), "x");
	for (int s = 1; s <= STRIDE_MAX; s *= 2) {
		strided<<<THREADS / 256, 256>>>(x, y, s);
		print("strided", y, THREADS * sizeof(float));
	}
	transpose_naive<<<grid, block>>>(x, y);
	print("naive", y, sizeof(float) * SIDE * SIDE);
	transpose_tiled<<<grid, block>>>(x, y);
	print("tiled", y, sizeof(float) * SIDE * SIDE);
	transpose_padded<<<grid, block>>>(x, y);
	print("padded", y, sizeof(float) * SIDE * SIDE);
	loop<<<THREADS / 256, 256>>>(y, TURNS);
	print("loop", y, THREADS * sizeof(float));
	calls<<<THREADS / 256, 256>>>(x, y);
	print("calls", y, THREADS * sizeof(float));
	odd<<<THREADS / 256, 256>>>(sums);
	odd<<<THREADS / 256, 256>>>(sums);
	print("odd", sums, 64 * sizeof(*sums));
	check(cudaDeviceSynchronize(), "end");
	return 0;
}
