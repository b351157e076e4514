/* SPDX-License-Identifier: Apache-2.0 */
/* Training as it should be: pinned batches, a stream for copies that is one batch ahead. */
#include "../../common/cuda_model.h"

enum { STEPS = 120, BYTES = 64 << 20, FORWARD = 4000, BACKWARD = 6000 };

KERNEL(forward)
KERNEL(backward)

int main(void)
{
	void *batch[2], *there[2];
	cudaEvent_t sent[2], used[2];
	cudaStream_t copy, compute;

	cudaStreamCreate(&copy);
	cudaStreamCreate(&compute);
	for (int i = 0; i < 2; i++) {
		cudaMallocHost(&batch[i], BYTES);
		cudaMalloc(&there[i], BYTES);
		cudaEventCreate(&sent[i]);
		cudaEventCreate(&used[i]);
	}
	for (int i = 0; i < STEPS; i++) {
		int s = i % 2;

		if (i >= 2)
			cudaEventSynchronize(used[s]);
		cudaMemcpyAsync(there[s], batch[s], BYTES, cudaMemcpyHostToDevice, copy);
		cudaEventRecord(sent[s], copy);
		cudaStreamWaitEvent(compute, sent[s], 0);
		LAUNCH(forward, 264, 256, compute, FORWARD);
		LAUNCH(backward, 264, 256, compute, BACKWARD);
		cudaEventRecord(used[s], compute);
	}
	cudaStreamSynchronize(compute);
	printf("%d steps\n", STEPS);
	for (int i = 0; i < 2; i++) {
		cudaFreeHost(batch[i]);
		cudaFree(there[i]);
		cudaEventDestroy(sent[i]);
		cudaEventDestroy(used[i]);
	}
	cudaStreamDestroy(copy);
	cudaStreamDestroy(compute);
	return 0;
}
