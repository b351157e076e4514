/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program built for an older GPU: the driver compiles each kernel when it is launched first, in
 * the middle of the time steps.
 */
#include "../../common/cuda_model.h"

enum { STEPS = 120, STAGE = 1000 };

KERNEL(flux_x)
KERNEL(flux_y)
KERNEL(flux_z)
KERNEL(pressure)
KERNEL(viscosity)
KERNEL(chemistry)
KERNEL(radiation)
KERNEL(gravity)
KERNEL(cooling)
KERNEL(output)

int main(void)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (int i = 0; i < STEPS; i++) {
		LAUNCH(flux_x, 264, 256, stream, STAGE);
		LAUNCH(flux_y, 264, 256, stream, STAGE);
		LAUNCH(flux_z, 264, 256, stream, STAGE);
		if (i >= 10)
			LAUNCH(pressure, 264, 256, stream, STAGE);
		if (i >= 20)
			LAUNCH(viscosity, 264, 256, stream, STAGE);
		if (i >= 30)
			LAUNCH(chemistry, 264, 256, stream, STAGE);
		if (i >= 40)
			LAUNCH(radiation, 264, 256, stream, STAGE);
		if (i >= 50)
			LAUNCH(gravity, 264, 256, stream, STAGE);
		if (i >= 60)
			LAUNCH(cooling, 264, 256, stream, STAGE);
		if (i >= 70)
			LAUNCH(output, 264, 256, stream, STAGE);
		cudaStreamSynchronize(stream);
	}
	printf("%d steps\n", STEPS);
	cudaStreamDestroy(stream);
	return 0;
}
