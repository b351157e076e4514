/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of a small network, each element-wise operation a kernel of its own of 2 us. */
#include "../../common/cuda_model.h"

enum { REQUESTS = 500, LAYERS = 120, EACH = 2 };

KERNEL(elementwise)

int main(void)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < REQUESTS; i++) {
#ifdef REPAIRED
		LAUNCH(elementwise, 264, 256, stream, EACH * LAYERS);
#else
		for (int l = 0; l < LAYERS; l++)
			LAUNCH(elementwise, 264, 256, stream, EACH);
#endif
		if (i % 100 == 99)
			cudaStreamSynchronize(stream);
	}
	cudaStreamSynchronize(stream);
	printf("%d requests\n", REQUESTS);
	cudaStreamDestroy(stream);
	return 0;
}
