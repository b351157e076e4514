// Kernels whose accesses and operations are known in closed form; see test_rewrite.py.
#define AT(i, j) ((i) * n + (j))
#define TILE 8

__kernel void copy(__global const float *x, __global float *y)
{
	y[get_global_id(0)] = x[get_global_id(0)];
}

__kernel void saxpy(int n, float a, __global const float *x, __global float *y)
{
	int i = get_global_id(0);

	if (i >= n)
		return;
	y[i] = a * x[i] + y[i];
}

__kernel void strided(int s, __global const float4 *x, __global float *y)
{
	y[get_global_id(0)] = x[get_global_id(0) * s].w;
}

__kernel void naive(int n, __global const float *a, __global const float *b, __global float *c)
{
	int i = get_global_id(1), j = get_global_id(0);
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[AT(i, k)] * b[AT(k, j)];
	c[AT(i, j)] = sum;
}

__kernel void tiled(int n, __global const float *a, __global const float *b, __global float *c)
{
	__local float left[TILE][TILE], right[TILE][TILE];
	int i = get_global_id(1), j = get_global_id(0), y = get_local_id(1), x = get_local_id(0);
	float sum = 0;

	for (int t = 0; t < n / TILE; t++) {
		left[y][x] = a[AT(i, t * TILE + x)];
		right[y][x] = b[AT(t * TILE + y, j)];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TILE; k++)
			sum = fma(left[y][k], right[k][x], sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[AT(i, j)] = sum;
}

__kernel void transpose(int n, __global const float *a, __global float *b, __local float *tile)
{
	int x = get_local_id(0), y = get_local_id(1);

	tile[y * TILE + x] = a[AT(get_global_id(1), get_global_id(0))];
	barrier(CLK_LOCAL_MEM_FENCE);
	b[AT(get_group_id(0) * TILE + y, get_group_id(1) * TILE + x)] = tile[x * TILE + y];
}

float neighbours(int n, __global const float *a, int i, int j)
{
	return a[AT(i - 1, j)] + a[AT(i + 1, j)] + a[AT(i, j - 1)] + a[AT(i, j + 1)];
}

__kernel void stencil(int n, __global const float *a, __global float *b)
{
	int i = get_global_id(1), j = get_global_id(0);

	b[AT(i, j)] = i > 0 && j > 0 && i < n - 1 && j < n - 1
			      ? 0.25f * neighbours(n, a, i, j)
			      : a[AT(i, j)];
}
