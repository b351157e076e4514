/* SPDX-License-Identifier: Apache-2.0 */
/* A tree is refined cell by cell, with a kernel of 3 us for each. */
#include "../../common/cuda_model.h"

enum { LEVELS = 200, CELLS = 200, EACH = 3 };

KERNEL(refine)

int main(void)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int l = 0; l < LEVELS; l++) {
#ifdef REPAIRED
		LAUNCH(refine, 264, 256, stream, EACH * CELLS);
#else
		for (int c = 0; c < CELLS; c++)
			LAUNCH(refine, 264, 256, stream, EACH);
#endif
	}
	cudaStreamSynchronize(stream);
	printf("%d levels\n", LEVELS);
	cudaStreamDestroy(stream);
	return 0;
}
