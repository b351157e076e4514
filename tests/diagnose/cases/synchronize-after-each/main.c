/* SPDX-License-Identifier: Apache-2.0 */
/* A macro for errors that calls cudaDeviceSynchronize() behind each launch, left in from debugging. */
#include "../../common/cuda_model.h"

enum { STEPS = 1500, STAGE = 60 };

KERNEL(gather)
KERNEL(compute)
KERNEL(scatter)

#ifdef REPAIRED
#define CHECKED(launch) launch
#else
#define CHECKED(launch)                                                                            \
	do {                                                                                       \
		launch;                                                                            \
		cudaDeviceSynchronize();                                                           \
	} while (0)
#endif

int main(void)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < STEPS; i++) {
		CHECKED(LAUNCH(gather, 264, 256, stream, STAGE));
		CHECKED(LAUNCH(compute, 264, 256, stream, STAGE));
		CHECKED(LAUNCH(scatter, 264, 256, stream, STAGE));
	}
	cudaStreamSynchronize(stream);
	printf("%d steps\n", STEPS);
	cudaStreamDestroy(stream);
	return 0;
}
