/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libocca and asks it for the functions of its C interface. It prints its own lines. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "occa.h"

static void *library;

/* A pointer to a function out of one to an object, as POSIX has it. */
#define GET(name)                                                                                  \
	__typeof__(name) *own_##name;                                                              \
	*(void **)&own_##name = dlsym(library, #name)

__attribute__((noinline)) static occaType allocate(occaType device)
{
	static const occaType none;
	occaType memory;
	GET(occaDeviceMalloc);

	memory = own_occaDeviceMalloc(device, 64, NULL, none);
	printf("allocate opened.c:%d 64\n", __LINE__ - 1);
	return memory;
}

__attribute__((noinline)) static void launch(occaType device, occaType memory)
{
	static const occaType none;
	occaType kernel;
	GET(occaDeviceBuildKernel);
	GET(occaKernelRunN);
	GET(occaInt);

	kernel = own_occaDeviceBuildKernel(device, "fill.okl", "fill", none);
	own_occaKernelRunN(kernel, 2, memory, own_occaInt(1));
}

int main(void)
{
	occaType device;

	library = dlopen("libocca.so", RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		puts(dlerror());
		return 1;
	}
	GET(occaCreateDeviceFromString);
	device = own_occaCreateDeviceFromString("mode: Serial");
	launch(device, allocate(device));
	return 0;
}
