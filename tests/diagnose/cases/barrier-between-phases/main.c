/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two phases that have nothing to do with each other, with the barrier at the end of a worksharing
 * loop between them: who is slow in the one is quick in the other, and each waits for the other.
 */
#include <omp.h>

#include "../../common/work.h"

enum { STEPS = 80, SLOW = 7000, QUICK = 1000 };

static double a[4], b[4];

int main(void)
{
#pragma omp parallel num_threads(4)
	for (int s = 0; s < STEPS; s++) {
#ifdef REPAIRED
#pragma omp for schedule(static, 1) nowait
#else
#pragma omp for schedule(static, 1)
#endif
		for (int i = 0; i < 4; i++) {
			rest_us((i + s) % 2 ? SLOW : QUICK);
			a[i] = 0.5 * a[i] + i + s;
		}
#pragma omp for schedule(static, 1)
		for (int i = 0; i < 4; i++) {
			rest_us((i + s) % 2 ? QUICK : SLOW);
			b[i] = 0.5 * b[i] + i - s;
		}
	}
	printf("phases %08x\n", fingerprint(fingerprint(1, a, sizeof(a)), b, sizeof(b)));
	return 0;
}
