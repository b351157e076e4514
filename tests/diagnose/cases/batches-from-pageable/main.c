/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop: the host makes a batch, sends it without waiting, and starts a step. The batches
 * are in memory of malloc(), so that sending does wait.
 */
#include "../../common/cuda_model.h"

enum { STEPS = 100, BYTES = 32 << 20, DECODE = 4500, STEP = 3000 };

KERNEL(train)

int main(void)
{
	void *batch[2], *there[2];
	cudaEvent_t sent[2];
	cudaStream_t stream;
	double loss = 0;

	cudaStreamCreate(&stream);
	for (int i = 0; i < 2; i++) {
#ifdef REPAIRED
		cudaMallocHost(&batch[i], BYTES);
#else
		batch[i] = malloc(BYTES);
#endif
		cudaMalloc(&there[i], BYTES);
		cudaEventCreate(&sent[i]);
	}
	for (int i = 0; i < STEPS; i++) {
		int slot = i % 2;

		if (i >= 2)
			cudaEventSynchronize(sent[slot]);
		loss += compute_us(DECODE, i);
		cudaMemcpyAsync(there[slot], batch[slot], BYTES, cudaMemcpyHostToDevice, stream);
		cudaEventRecord(sent[slot], stream);
		LAUNCH(train, 264, 256, stream, STEP);
	}
	cudaStreamSynchronize(stream);
	printf("loss %g\n", loss);
	for (int i = 0; i < 2; i++) {
#ifdef REPAIRED
		cudaFreeHost(batch[i]);
#else
		free(batch[i]);
#endif
		cudaFree(there[i]);
		cudaEventDestroy(sent[i]);
	}
	cudaStreamDestroy(stream);
	return 0;
}
