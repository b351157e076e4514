/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose function makes itself a stream and destroys it again, at every call. */
#include "../../common/cuda_model.h"

enum { CALLS = 400, WORK = 1500 };

KERNEL(solve)

static cudaStream_t kept;

static void library_solve(void)
{
#ifdef REPAIRED
	cudaStream_t stream = kept;
#else
	cudaStream_t stream;

	cudaStreamCreate(&stream);
#endif
	LAUNCH(solve, 264, 256, stream, WORK);
	cudaStreamSynchronize(stream);
#ifndef REPAIRED
	cudaStreamDestroy(stream);
#endif
}

int main(void)
{
	cudaStreamCreate(&kept);
	for (int i = 0; i < CALLS; i++)
		library_solve();
	printf("%d solved\n", CALLS);
	cudaStreamDestroy(kept);
	return 0;
}
