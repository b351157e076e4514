/* SPDX-License-Identifier: Apache-2.0 */
/* Uses OCCA's C interface: program MODE LAUNCHES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "occa.h"

enum { N = 64 };
static const occaType none;

__attribute__((noinline)) static void launch(occaType kernel, occaType memory, int times)
{
	for (int i = 0; i < times; i++)
		occaKernelRunN(kernel, 2, memory, occaInt(i));
}

int main(int argc, char **argv)
{
	char props[64];
	float values[N];
	occaType device, kernel, memory;

	if (argc < 3)
		return 2;
	snprintf(props, sizeof(props), "mode: %s", argv[1]);
	device = occaCreateDeviceFromString(props);
	kernel = occaDeviceBuildKernel(device, "fill.okl", "fill", none);
	memory = occaDeviceMalloc(device, sizeof(values), NULL, none);
	memset(values, 0, sizeof(values));
	occaCopyPtrToMem(memory, values, sizeof(values), 0, none);
	launch(kernel, memory, atoi(argv[2]));
	occaDeviceFinish(device);
	occaCopyMemToPtr(values, memory, sizeof(values), 0, none);
	printf("result %g\n", (double)values[N - 1]);
	occaFree(&memory);
	occaFree(&kernel);
	occaFree(&device);
	return 0;
}
