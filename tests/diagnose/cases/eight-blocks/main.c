/* SPDX-License-Identifier: Apache-2.0 */
/* A reduction with eight blocks on a device of 132 multiprocessors. */
#include "../../common/cuda_model.h"

enum { ROUNDS = 100, WORK = 12000 };

KERNEL(reduce)

int main(void)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < ROUNDS; i++) {
#ifdef REPAIRED
		LAUNCH(reduce, 132, 256, stream, WORK * 8 / 132);
#else
		LAUNCH(reduce, 8, 256, stream, WORK);
#endif
	}
	cudaStreamSynchronize(stream);
	printf("%d rounds\n", ROUNDS);
	cudaStreamDestroy(stream);
	return 0;
}
