/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the toy accelerator: `kymo run ./accelerator` shows what it does. */
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

#define COUNT 65536
#define STEPS 100

static void scale(float *data, size_t count)
{
	for (size_t i = 0; i < count; i++)
		data[i] *= 1.01f;
}

static void smooth(float *data, size_t count)
{
	for (size_t i = 1; i + 1 < count; i++)
		data[i] = (data[i - 1] + data[i] + data[i + 1]) / 3;
}

int main(void)
{
	float *host = malloc(COUNT * sizeof(float)), *device;
	double sum = 0;

	if (!host || !toy_open())
		return 1;
	device = toy_allocate(COUNT);
	if (!device)
		return 1;
	for (size_t i = 0; i < COUNT; i++)
		host[i] = (float)(i % 97);
	for (int step = 0; step < STEPS; step++) {
		toy_write(device, host, COUNT);
		toy_run("scale", scale, device, COUNT);
		toy_run("smooth", smooth, device, COUNT);
		toy_read(host, device, COUNT);
	}
	for (size_t i = 0; i < COUNT; i++)
		sum += (double)host[i];
	printf("sum %.6g\n", sum);
	toy_close();
	free(device);
	free(host);
	return 0;
}
