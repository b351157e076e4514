/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory that goes to the device with the first kernel and comes back when all is done. */
#include "../../common/cuda_model.h"

enum { STEPS = 120, BYTES = 16 << 20, ADVANCE = 10000 };

KERNEL(advance)

int main(void)
{
	cudaStream_t stream;
	void *field;

	cudaStreamCreate(&stream);
	cudaMallocManaged(&field, BYTES, 1);
	LAUNCH_MANAGED(advance, field, BYTES, stream, ADVANCE);
	for (int i = 1; i < STEPS; i++)
		LAUNCH(advance, 264, 256, stream, ADVANCE);
	cudaStreamSynchronize(stream);
	host_touch(field, BYTES);
	printf("%d steps\n", STEPS);
	cudaFree(field);
	cudaStreamDestroy(stream);
	return 0;
}
