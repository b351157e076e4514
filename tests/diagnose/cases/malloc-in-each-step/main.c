/* SPDX-License-Identifier: Apache-2.0 */
/* A time step that takes its workspace from cudaMalloc() and gives it back with cudaFree(). */
#include "../../common/cuda_model.h"

enum { STEPS = 350, BYTES = 256 << 20, ADVANCE = 2000 };

KERNEL(advance)

int main(void)
{
	cudaStream_t stream;
	void *workspace;

	cudaStreamCreate(&stream);
#ifdef REPAIRED
	cudaMalloc(&workspace, BYTES);
#endif
	for (int i = 0; i < STEPS; i++) {
#ifndef REPAIRED
		cudaMalloc(&workspace, BYTES);
#endif
		LAUNCH(advance, 264, 256, stream, ADVANCE);
#ifndef REPAIRED
		cudaFree(workspace);
#endif
	}
	cudaStreamSynchronize(stream);
#ifdef REPAIRED
	cudaFree(workspace);
#endif
	printf("%d steps\n", STEPS);
	cudaStreamDestroy(stream);
	return 0;
}
