/* SPDX-License-Identifier: Apache-2.0 */
/* Target regions with data that stays on the device; one step in ten is fetched to be looked at. */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 60, N = 1 << 14, STEP_US = 12000 };

int main(void)
{
	double *x = memory(sizeof(double) * N), looked = 0;

#pragma omp target data map(tofrom : x [0:N])
	for (int s = 0; s < STEPS; s++) {
#pragma omp target map(tofrom : x [0:N])
		{
			struct timespec t = {0, 1000L * STEP_US};

			for (int i = 0; i < N; i++)
				x[i] = 0.5 * x[i] + s;
			nanosleep(&t, NULL);
		}
		if (s % 10 == 9) {
#pragma omp target update from(x [0:1])
			looked += x[0];
		}
	}
	printf("x %08x, %g\n", fingerprint(1, x, sizeof(double) * N), looked);
	free(x);
	return 0;
}
