/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver's and NVRTC's binary interface that is used, declared here so that nothing of NVIDIA is
 * needed to build. Sources: cuda.h and nvrtc.h of CUDA 11.8 to 13.0. Names are those that the libraries export.
 */
#ifndef ROOFS_CUDA_H
#define ROOFS_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "base/library.h"

typedef int cuda_result; /* 0: success; also of NVRTC */
enum {
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NO_DEVICE = 100,
	CUDA_ILLEGAL_ADDRESS = 700, /* from here to 720: the context is lost */
	CUDA_LAUNCH_FAILED = 719,
	CUDA_NOT_PERMITTED = 800
};

enum cuda_attribute {
	CUDA_GROUP_MOST = 1,
	CUDA_SHARED_BYTES = 8, /* of a block, without asking for more */
	CUDA_CLOCK_KHZ = 13,
	CUDA_MULTIPROCESSORS = 16,
	CUDA_PCI_BUS = 33,
	CUDA_PCI_DEVICE = 34,
	CUDA_MEMORY_KHZ = 36,
	CUDA_MEMORY_BITS = 37,
	CUDA_L2_BYTES = 38,
	CUDA_PCI_DOMAIN = 50,
	CUDA_MAJOR = 75,
	CUDA_MINOR = 76,
	CUDA_SHARED_MULTIPROCESSOR = 81
};

typedef uint64_t cuda_address;

/* X(member, symbol, arguments) */
#define CUDA_FUNCTIONS(X)                                                                          \
	X(init, cuInit, (unsigned))                                                                \
	X(version, cuDriverGetVersion, (int *))                                                    \
	X(error_text, cuGetErrorString, (cuda_result, const char **))                              \
	X(device_count, cuDeviceGetCount, (int *))                                                 \
	X(device_get, cuDeviceGet, (int *, int))                                                   \
	X(device_name, cuDeviceGetName, (char *, int, int))                                        \
	X(device_memory, cuDeviceTotalMem_v2, (size_t *, int))                                     \
	X(device_uuid, cuDeviceGetUuid, (uint8_t *, int))                                          \
	X(attribute, cuDeviceGetAttribute, (int *, int, int))                                      \
	X(context_retain, cuDevicePrimaryCtxRetain, (void **, int))                                \
	X(context_release, cuDevicePrimaryCtxRelease_v2, (int))                                    \
	X(context_set, cuCtxSetCurrent, (void *))                                                  \
	X(stream_new, cuStreamCreate, (void **, unsigned))                                         \
	X(stream_free, cuStreamDestroy_v2, (void *))                                               \
	X(stream_wait, cuStreamSynchronize, (void *))                                              \
	X(event_new, cuEventCreate, (void **, unsigned))                                           \
	X(event_free, cuEventDestroy_v2, (void *))                                                 \
	X(event_record, cuEventRecord, (void *, void *))                                           \
	X(event_elapsed, cuEventElapsedTime, (float *, void *, void *))                            \
	X(module_load, cuModuleLoadData, (void **, const void *))                                  \
	X(module_function, cuModuleGetFunction, (void **, void *, const char *))                   \
	X(module_unload, cuModuleUnload, (void *))                                                 \
	X(launch, cuLaunchKernel,                                                                  \
	  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,   \
	   void **, void **))                                                                      \
	X(allocate, cuMemAlloc_v2, (cuda_address *, size_t))                                       \
	X(release, cuMemFree_v2, (cuda_address))                                                   \
	X(to_device, cuMemcpyHtoDAsync_v2, (cuda_address, const void *, size_t, void *))           \
	X(to_host, cuMemcpyDtoHAsync_v2, (void *, cuda_address, size_t, void *))                   \
	X(host_allocate, cuMemHostAlloc, (void **, size_t, unsigned))                              \
	X(host_release, cuMemFreeHost, (void *))
/* Newer than 11.3; of a MIG instance it tells its own one. */
#define CUDA_FUNCTIONS_LATER(X) X(device_uuid_v2, cuDeviceGetUuid_v2, (uint8_t *, int))

#define NVRTC_FUNCTIONS(X)                                                                         \
	X(create, nvrtcCreateProgram,                                                              \
	  (void **, const char *, const char *, int, const char *const *, const char *const *))    \
	X(compile, nvrtcCompileProgram, (void *, int, const char *const *))                        \
	X(cubin_size, nvrtcGetCUBINSize, (void *, size_t *))                                       \
	X(cubin, nvrtcGetCUBIN, (void *, char *))                                                  \
	X(log_size, nvrtcGetProgramLogSize, (void *, size_t *))                                    \
	X(log, nvrtcGetProgramLog, (void *, char *))                                               \
	X(destroy, nvrtcDestroyProgram, (void **))

#define CUDA_MEMBER(member, symbol, arguments) cuda_result(*member) arguments;

struct cuda_driver {
	CUDA_FUNCTIONS(CUDA_MEMBER)
	CUDA_FUNCTIONS_LATER(CUDA_MEMBER)
};

struct cuda_compiler {
	NVRTC_FUNCTIONS(CUDA_MEMBER)
};

#endif
