/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of the fake of OCCA. */
#ifndef TESTS_OCCA_H
#define TESTS_OCCA_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	long words[4];
} occaType;

occaType occaCreateDeviceFromString(const char *props);
occaType occaDeviceBuildKernel(occaType device, const char *file, const char *name, occaType props);
occaType occaDeviceMalloc(occaType device, unsigned long bytes, const void *src, occaType props);
void occaCopyPtrToMem(occaType dest, const void *src, unsigned long bytes, unsigned long offset,
		      occaType props);
void occaCopyMemToPtr(void *dest, occaType src, unsigned long bytes, unsigned long offset,
		      occaType props);
occaType occaInt(int value);
void occaKernelRunN(occaType kernel, int argc, ...);
void occaDeviceFinish(occaType device);
void occaFree(occaType *object);

#ifdef __cplusplus
}
#endif
#endif
