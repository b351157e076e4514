/* SPDX-License-Identifier: Apache-2.0 */
/* A model whose weights are sent once, with plain copies from pageable memory, and then used for long. */
#include "../../common/cuda_model.h"

enum { TENSORS = 8, BYTES = 1 << 20, TOKENS = 120, ATTEND = 6000, PROJECT = 4000 };

KERNEL(attend)
KERNEL(project)

int main(void)
{
	void *weights = malloc(BYTES), *there[TENSORS];
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < TENSORS; i++) {
		cudaMalloc(&there[i], BYTES);
		cudaMemcpy(there[i], weights, BYTES, cudaMemcpyHostToDevice);
	}
	for (int i = 0; i < TOKENS; i++) {
		LAUNCH(attend, 264, 256, stream, ATTEND);
		LAUNCH(project, 264, 256, stream, PROJECT);
	}
	cudaStreamSynchronize(stream);
	printf("%d tokens\n", TOKENS);
	for (int i = 0; i < TENSORS; i++)
		cudaFree(there[i]);
	free(weights);
	cudaStreamDestroy(stream);
	return 0;
}
