/* SPDX-License-Identifier: Apache-2.0 */
/* The membrane's next moment, for every inner point of a strip; host.c holds the same formula. */
kernel void vibrate(global const float *now, global float *next, int width, float rate)
{
	int i = (get_global_id(1) + 1) * width + get_global_id(0) + 1;
	float around = (now[i - 1] + now[i + 1]) + (now[i - width] + now[i + width]);

	/* What is in `next` is the moment before `now`. */
	next[i] = 2.0f * now[i] - next[i] + rate * (around - 4.0f * now[i]);
}
