/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product of matrices, badly (each element reads its row and column itself) or repaired (tiles in shared
 * memory, four elements of each thread share what it reads): matmul bad|repaired [LAUNCHES [N]]. Prints
 * milliseconds of a launch as JSON. One kernel does both, so that reports can be compared by its name.
 */
#include <cmath>

#include "timed.h"

enum { TILE = 32, ROWS = 8, EACH = TILE / ROWS };

__device__ static void by_itself(float *c, const float *a, const float *b, int n, int x, int y)
{
	for (int j = 0; j < TILE; j += ROWS) {
		float sum = 0;

		for (int k = 0; k < n; k++)
			sum += a[size_t(y + j) * n + k] * b[size_t(k) * n + x];
		c[size_t(y + j) * n + x] = sum;
	}
}

__device__ static void by_tiles(float *c, const float *a, const float *b, int n, int x, int y)
{
	extern __shared__ float tiles[]; /* of a, then of b */
	float *of_a = tiles, *of_b = tiles + TILE * TILE, sum[EACH] = {};

	for (int t = 0; t < n; t += TILE) {
		for (int j = threadIdx.y; j < TILE; j += ROWS) {
			of_a[j * TILE + threadIdx.x] =
				a[size_t(blockIdx.y * TILE + j) * n + t + threadIdx.x];
			of_b[j * TILE + threadIdx.x] = b[size_t(t + j) * n + x];
		}
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			for (int j = 0; j < EACH; j++)
				sum[j] += of_a[(threadIdx.y + j * ROWS) * TILE + k] *
					  of_b[k * TILE + threadIdx.x];
		__syncthreads();
	}
	for (int j = 0; j < EACH; j++)
		c[size_t(y + j * ROWS) * n + x] = sum[j];
}

__global__ void matmul(float *c, const float *a, const float *b, int n, bool tiled)
{
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

	if (tiled)
		by_tiles(c, a, b, n, x, y);
	else
		by_itself(c, a, b, n, x, y);
}

static bool is_right(const std::vector<float> &c, const std::vector<float> &a,
		     const std::vector<float> &b, int n)
{
	for (int at = 0; at < n; at += 61) {
		const int x = at * 7 % n, y = at;
		double sum = 0;

		for (int k = 0; k < n; k++)
			sum += double(a[size_t(y) * n + k]) * b[size_t(k) * n + x];
		if (std::fabs(c[size_t(y) * n + x] - sum) > 1e-4 * sum)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const wanted w = wanted_of(argc, argv, 2048);
	const size_t count = size_t(w.n) * w.n;
	std::vector<float> a = numbers(count), b = numbers(count), c(count);
	float *in_a = on_device(a), *in_b = on_device(b), *out = on_device(c);
	const dim3 grid(w.n / TILE, w.n / TILE), block(TILE, ROWS);
	float ms = timed(w.launches, [&] {
		matmul<<<grid, block, w.repaired ? 2 * TILE * TILE * sizeof(float) : 0>>>(
			out, in_a, in_b, w.n, w.repaired);
	});
	bool right;

	CHECK(cudaMemcpy(c.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost));
	right = is_right(c, a, b, w.n);
	print("matmul", w, ms, right);
	return !right;
}
