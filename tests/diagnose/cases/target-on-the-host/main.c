/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target regions that run on the host: a setting that once helped to debug is still in the job's
 * script. The device would have done each in 5 ms, the host takes 12 ms.
 */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 60, N = 4096, DEVICE_US = 5000, HOST_US = 12000 };

int main(void)
{
	double *x = memory(sizeof(double) * N);

	for (int s = 0; s < STEPS; s++) {
#pragma omp target map(tofrom : x [0:N])
		{
			struct timespec t = {
				0, 1000L * (omp_is_initial_device() ? HOST_US : DEVICE_US)};

			for (int i = 0; i < N; i++)
				x[i] = 0.5 * x[i] + s;
			nanosleep(&t, NULL);
		}
	}
	printf("x %08x\n", fingerprint(1, x, sizeof(double) * N));
	free(x);
	return 0;
}
