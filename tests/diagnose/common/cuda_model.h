/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's runtime for programs of the corpus. With nvcc it is the real one; without a GPU it is a
 * model of streams, copy engines and a processor (cuda_model.c) that tells CUPTI's fake what a GPU
 * would have done. A program says how long its kernels take:
 *
 *   KERNEL(forward)
 *   LAUNCH(forward, blocks, threads, stream, microseconds);
 */
#ifndef DIAGNOSE_CUDA_MODEL_H
#define DIAGNOSE_CUDA_MODEL_H

#include "work.h"

#ifdef __CUDACC__

#include <cuda_runtime.h>

#define KERNEL(name)                                                                               \
	static __global__ void name(long us)                                                       \
	{                                                                                          \
		long long begin, now;                                                              \
                                                                                                   \
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));                           \
		do {                                                                               \
			asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));                     \
		} while (now - begin < 1000ll * us);                                               \
	}
#define LAUNCH(name, blocks, threads, stream, us) name<<<blocks, threads, 0, stream>>>(us)
/* A kernel that reads all of some managed memory. */
static __global__ void model_read(char *p, size_t bytes)
{
	for (size_t i = threadIdx.x + blockIdx.x * (size_t)blockDim.x; i < bytes / 4096;
	     i += (size_t)blockDim.x * gridDim.x)
		p[4096 * i]++;
}
#define LAUNCH_MANAGED(name, pointer, bytes, stream, us)                                           \
	(model_read<<<264, 256, 0, stream>>>((char *)(pointer), bytes),                            \
	 name<<<264, 256, 0, stream>>>(us))
static inline void host_touch(void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)p)[i]++;
}

#else

typedef int cudaError_t;
typedef struct model_stream *cudaStream_t;
typedef struct model_event *cudaEvent_t;
enum { cudaSuccess, cudaErrorNotReady = 600 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaDeviceSynchronize(void);

struct model_kernel {
	const char *name;
	int loaded;
};
#define KERNEL(name) static struct model_kernel name = {#name, 0};
void model_launch(struct model_kernel *kernel, int blocks, int threads, cudaStream_t stream,
		  double us, size_t managed);
#define LAUNCH(name, blocks, threads, stream, us)                                                  \
	model_launch(&name, blocks, threads, stream, us, 0)
#define LAUNCH_MANAGED(name, pointer, bytes, stream, us)                                           \
	model_launch(&name, 264, 256, stream, us, bytes)
/* The host writes to managed memory that the device has. */
void host_touch(void *p, size_t bytes);

#endif
#endif
