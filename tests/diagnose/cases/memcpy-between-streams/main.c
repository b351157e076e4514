/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image pipeline with a stream for each of four slots. Its copies are plain cudaMemcpy(), which
 * waits and is in nobody's stream: the streams never overlap.
 */
#include "../../common/cuda_model.h"

enum { IMAGES = 120, SLOTS = 4, BYTES = 64 << 20, FILTER = 2800 };

KERNEL(filter)

int main(void)
{
	void *host[SLOTS], *device[SLOTS];
	cudaStream_t stream[SLOTS];

	for (int s = 0; s < SLOTS; s++) {
		cudaStreamCreate(&stream[s]);
		cudaMallocHost(&host[s], BYTES);
		cudaMalloc(&device[s], BYTES);
	}
	for (int i = 0; i < IMAGES; i++) {
		int s = i % SLOTS;

#ifdef REPAIRED
		if (i >= SLOTS)
			cudaStreamSynchronize(stream[s]);
		cudaMemcpyAsync(device[s], host[s], BYTES, cudaMemcpyHostToDevice, stream[s]);
		LAUNCH(filter, 264, 256, stream[s], FILTER);
		cudaMemcpyAsync(host[s], device[s], BYTES, cudaMemcpyDeviceToHost, stream[s]);
#else
		cudaMemcpy(device[s], host[s], BYTES, cudaMemcpyHostToDevice);
		LAUNCH(filter, 264, 256, stream[s], FILTER);
		cudaMemcpy(host[s], device[s], BYTES, cudaMemcpyDeviceToHost);
#endif
	}
	cudaDeviceSynchronize();
	printf("%d images\n", IMAGES);
	for (int s = 0; s < SLOTS; s++) {
		cudaFreeHost(host[s]);
		cudaFree(device[s]);
		cudaStreamDestroy(stream[s]);
	}
	return 0;
}
