/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of the heat example. The plate is a square of n x n cells, one row after the other.
 * host.c holds the same formulas: a change here needs the same change there.
 */

/* A cold plate with a hot disc in its middle. Integer tests only: host and device agree exactly. */
kernel void init(global float *cells, int n)
{
	int x = get_global_id(0);
	int y = get_global_id(1);
	int dx = 2 * x - n;
	int dy = 2 * y - n;

	if (x < n && y < n)
		cells[y * n + x] = 16 * (dx * dx + dy * dy) < n * n ? 1.0f : 0.0f;
}

/* One explicit time step of every inner cell. */
kernel void advance(global const float *from, global float *to, int n, float rate)
{
	int x = get_global_id(0);
	int y = get_global_id(1);
	int i = y * n + x;

	if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
		return;
	to[i] = (1.0f - 4.0f * rate) * from[i] +
		rate * ((from[i - 1] + from[i + 1]) + (from[i - n] + from[i + n]));
}

/* The border: a heater along the left side, insulation (no flow) along the other three. */
kernel void border(global float *cells, int n, float heater)
{
	int i = get_global_id(0);

	if (i >= n)
		return;
	cells[i * n] = heater;
	if (i == 0) {
		cells[n - 1] = cells[n + n - 2];
		cells[n * n - 1] = cells[(n - 1) * n - 2];
	} else if (i < n - 1) {
		cells[i] = cells[n + i];
		cells[(n - 1) * n + i] = cells[(n - 2) * n + i];
		cells[i * n + n - 1] = cells[i * n + n - 2];
	}
}

/* The sum and the maximum of each row of a frame; the host adds up the rows. */
kernel void measure(global const float *frame, int n, global float2 *rows)
{
	int y = get_global_id(0);
	float sum = 0.0f;
	float hottest = -FLT_MAX;

	if (y >= n)
		return;
	for (int x = 0; x < n; x++) {
		float cell = frame[y * n + x];

		sum += cell;
		hottest = fmax(hottest, cell);
	}
	rows[y] = (float2)(sum, hottest);
}
