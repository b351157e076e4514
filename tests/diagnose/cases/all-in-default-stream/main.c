/* SPDX-License-Identifier: Apache-2.0 */
/* Independent tiles in flight, all in the default stream: uploads and kernels take turns. */
#include "../../common/cuda_model.h"

enum { TILES = 160, SLOTS = 4, BYTES = 100 << 20, TRACE = 4500 };

KERNEL(trace)

int main(void)
{
	cudaStream_t stream[SLOTS] = {0};
	void *host[SLOTS], *device[SLOTS];
	cudaEvent_t done[SLOTS];

	for (int s = 0; s < SLOTS; s++) {
#ifdef REPAIRED
		cudaStreamCreate(&stream[s]);
#endif
		cudaMallocHost(&host[s], BYTES);
		cudaMalloc(&device[s], BYTES);
		cudaEventCreate(&done[s]);
	}
	for (int i = 0; i < TILES; i++) {
		int s = i % SLOTS;

		if (i >= SLOTS)
			cudaEventSynchronize(done[s]);
		cudaMemcpyAsync(device[s], host[s], BYTES, cudaMemcpyHostToDevice, stream[s]);
		LAUNCH(trace, 264, 256, stream[s], TRACE);
		cudaEventRecord(done[s], stream[s]);
	}
	cudaDeviceSynchronize();
	printf("%d tiles\n", TILES);
	for (int s = 0; s < SLOTS; s++) {
		cudaFreeHost(host[s]);
		cudaFree(device[s]);
		cudaEventDestroy(done[s]);
		if (stream[s])
			cudaStreamDestroy(stream[s]);
	}
	return 0;
}
