/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel regions of 20 ms with a serial part of 0.2 ms between them. */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 50, THREADS = 4, PART = 20000, SERIAL = 200 };

static double part[THREADS];

int main(void)
{
	double total = 0;

	for (int s = 0; s < STEPS; s++) {
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
		for (int i = 0; i < THREADS; i++) {
			rest_us(PART);
			part[i] = i + s;
		}
		rest_us(SERIAL);
		for (int i = 0; i < THREADS; i++)
			total += part[i];
	}
	printf("total %g\n", total);
	return 0;
}
