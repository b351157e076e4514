/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an empty parallel region takes, by the clock: median of many short rounds, and their fastest
 * twentieth, which a busy machine disturbs least.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 1001, REGIONS = 500 };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	double each[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		double begin = omp_get_wtime();

		for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel
			__asm__ volatile("" ::: "memory");
		}
		each[r] = (omp_get_wtime() - begin) * 1e9 / REGIONS;
	}
	qsort(each, ROUNDS, sizeof(*each), compare);
	printf("region=%.1f best=%.1f threads=%d\n", each[ROUNDS / 2], each[ROUNDS / 20],
	       omp_get_max_threads());
	return 0;
}
