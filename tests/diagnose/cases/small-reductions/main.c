/* SPDX-License-Identifier: Apache-2.0 */
/* Large kernels, each followed by the last stage of a reduction: one block for 5 us. */
#include "../../common/cuda_model.h"

enum { STEPS = 120, LARGE = 10000, SMALL = 5 };

KERNEL(sweep)
KERNEL(last_stage)

int main(void)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < STEPS; i++) {
		LAUNCH(sweep, 264, 256, stream, LARGE);
		LAUNCH(last_stage, 1, 256, stream, SMALL);
	}
	cudaStreamSynchronize(stream);
	printf("%d steps\n", STEPS);
	cudaStreamDestroy(stream);
	return 0;
}
