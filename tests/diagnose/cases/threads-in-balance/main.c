/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops whose parts are of the same length, one behind the other. */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 50, N = 16, ITEM_US = 5000 };

static double x[N];

int main(void)
{
	for (int s = 0; s < STEPS; s++) {
#pragma omp parallel for schedule(static)
		for (int i = 0; i < N; i++) {
			rest_us(ITEM_US);
			x[i] = 0.5 * x[i] + s;
		}
	}
	printf("x %08x\n", fingerprint(1, x, sizeof(x)));
	return 0;
}
