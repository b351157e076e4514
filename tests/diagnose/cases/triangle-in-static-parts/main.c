/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangular loop dealt in four static parts: the last thread has seven times as much as the first.
 * An item asks an instrument and takes a time of its own.
 */
#include <omp.h>

#include "../../common/work.h"

enum { SWEEPS = 25, ROWS = 64, ITEM_US = 25 };

static double row[ROWS];

static void sweep(int number)
{
#ifdef REPAIRED
#pragma omp parallel for schedule(dynamic, 1)
	for (int i = ROWS - 1; i >= 0; i--) {
#else
#pragma omp parallel for schedule(static)
	for (int i = 0; i < ROWS; i++) {
#endif
		rest_us((i + 1) * ITEM_US);
		row[i] = 0.5 * row[i] + i + number;
	}
}

int main(void)
{
	for (int s = 0; s < SWEEPS; s++)
		sweep(s);
	printf("rows %08x\n", fingerprint(1, row, sizeof(row)));
	return 0;
}
