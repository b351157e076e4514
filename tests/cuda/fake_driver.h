/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that Kymo runs twins by; see fake_driver.c. Programs call them as their own "driver", and tell CUPTI's fake of it. */
#ifndef TESTS_CUDA_FAKE_DRIVER_H
#define TESTS_CUDA_FAKE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_function {
	void *module; /* NULL: of a library, which stands for `plain` */
	void *plain;
	bool counts;
};

struct fake_library {
	void *module;
};

/* How often twins ran. */
unsigned fake_twins(void);

int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuCtxGetDevice(int *device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuGetErrorName(int result, const char **name);
int cuStreamIsCapturing(void *stream, int *status);
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, const int *options,
		       void **values);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *at, size_t *bytes, void *module, const char *name);
int cuFuncGetModule(void **module, void *function);
int cuKernelGetFunction(void **function, void *kernel);
int cuLibraryGetModule(void **module, void *library);
int cuFuncGetAttribute(int *value, int attribute, void *function);
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuFuncGetParamInfo(void *function, size_t i, size_t *offset, size_t *bytes);
int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemFree_v2(uint64_t at);
int cuMemGetInfo_v2(size_t *left, size_t *total);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t at);
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);

#endif
