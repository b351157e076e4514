/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix is transposed, badly (each warp reads 32 rows) or repaired (tiles in shared memory, whose rows
 * are one element longer): transpose bad|repaired [LAUNCHES [N]]. Prints milliseconds of a launch as JSON.
 * One kernel does both, so that reports can be compared by its name.
 */
#include "timed.h"

enum { TILE = 32, ROWS = 8 };

__global__ void transpose(float *to, const float *from, int n, bool tiled)
{
	extern __shared__ float tile[]; /* TILE rows of TILE + 1 */
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

	if (!tiled) {
		for (int j = 0; j < TILE; j += ROWS)
			to[size_t(y + j) * n + x] = from[size_t(x) * n + y + j];
		return;
	}
	int from_x = blockIdx.y * TILE + threadIdx.x, from_y = blockIdx.x * TILE + threadIdx.y;

	for (int j = 0; j < TILE; j += ROWS)
		tile[(threadIdx.y + j) * (TILE + 1) + threadIdx.x] =
			from[size_t(from_y + j) * n + from_x];
	__syncthreads();
	for (int j = 0; j < TILE; j += ROWS)
		to[size_t(y + j) * n + x] = tile[threadIdx.x * (TILE + 1) + threadIdx.y + j];
}

int main(int argc, char **argv)
{
	const wanted w = wanted_of(argc, argv, 8192);
	const size_t count = size_t(w.n) * w.n;
	std::vector<float> from = numbers(count), to(count);
	float *in = on_device(from), *out = on_device(to);
	const dim3 grid(w.n / TILE, w.n / TILE), block(TILE, ROWS);
	bool right = true;
	float ms = timed(w.launches, [&] {
		transpose<<<grid, block, w.repaired ? TILE *(TILE + 1) * sizeof(float) : 0>>>(
			out, in, w.n, w.repaired);
	});

	CHECK(cudaMemcpy(to.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost));
	for (int y = 0; y < w.n; y += 31)
		for (int x = 0; x < w.n; x += 17)
			right &= to[size_t(y) * w.n + x] == from[size_t(x) * w.n + y];
	print("transpose", w, ms, right);
	return !right;
}
