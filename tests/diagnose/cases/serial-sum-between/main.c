/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A molecular code whose forces are computed by all threads and whose neighbour list by one, between
 * the parallel regions.
 */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 60, CELLS = 16, FORCES = 500, NEIGHBOURS = 600 };

static double force[CELLS], list[CELLS];

static void neighbours(int step)
{
#ifdef REPAIRED
#pragma omp parallel for schedule(static)
#endif
	for (int c = 0; c < CELLS; c++) {
		rest_us(NEIGHBOURS);
		list[c] = 0.5 * list[c] + step;
	}
}

static void forces(void)
{
#pragma omp parallel for schedule(static)
	for (int c = 0; c < CELLS; c++) {
		rest_us(FORCES);
		force[c] = force[c] + list[c];
	}
}

int main(void)
{
	for (int s = 0; s < STEPS; s++) {
		neighbours(s);
		forces();
	}
	printf("forces %08x\n", fingerprint(1, force, sizeof(force)));
	return 0;
}
