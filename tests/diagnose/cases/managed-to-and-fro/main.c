/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code with managed memory whose host looks at the whole field after each step, to print one
 * number of it: pages travel there and back.
 */
#include "../../common/cuda_model.h"

enum { STEPS = 100, BYTES = 16 << 20, ADVANCE = 2000 };

KERNEL(advance)

int main(void)
{
	cudaStream_t stream;
	void *field;

	cudaStreamCreate(&stream);
	cudaMallocManaged(&field, BYTES, 1);
	for (int i = 0; i < STEPS; i++) {
#ifdef REPAIRED
		if (i == 0)
			LAUNCH_MANAGED(advance, field, BYTES, stream, ADVANCE);
		else
			LAUNCH(advance, 264, 256, stream, ADVANCE);
		cudaStreamSynchronize(stream);
#else
		LAUNCH_MANAGED(advance, field, BYTES, stream, ADVANCE);
		cudaStreamSynchronize(stream);
		host_touch(field, BYTES);
#endif
	}
	cudaStreamSynchronize(stream);
	printf("%d steps\n", STEPS);
	cudaFree(field);
	cudaStreamDestroy(stream);
	return 0;
}
