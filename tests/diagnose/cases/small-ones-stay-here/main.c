/* SPDX-License-Identifier: Apache-2.0 */
/* Target regions with an if clause: what is too small for the device is done on the host, on purpose. */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 60, LARGE = 1 << 14, SMALL = 16, STEP_US = 15000 };

static void scale(double *x, int n)
{
#pragma omp target map(tofrom : x [0:n]) if (n > 1000)
	{
		struct timespec t = {0, n > 1000 ? 1000L * STEP_US : 0};

		for (int i = 0; i < n; i++)
			x[i] = 0.5 * x[i] + 1;
		if (t.tv_nsec)
			nanosleep(&t, NULL);
	}
}

int main(void)
{
	double *large = memory(sizeof(double) * LARGE), *small = memory(sizeof(double) * SMALL);

	for (int s = 0; s < STEPS; s++) {
		scale(large, LARGE);
		scale(small, SMALL);
	}
	printf("%08x %08x\n", fingerprint(1, large, sizeof(double) * LARGE),
	       fingerprint(1, small, sizeof(double) * SMALL));
	free(large);
	free(small);
	return 0;
}
