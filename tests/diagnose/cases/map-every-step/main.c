/* SPDX-License-Identifier: Apache-2.0 */
/* A stencil in target regions that map the whole plate there and back in each of its steps. */
#include <omp.h>

#include "../../common/bus.h"
#include "../../common/work.h"

enum { STEPS = 60, N = 1 << 17 };

int main(void)
{
	double *plate = memory(sizeof(double) * N);

	for (int i = 0; i < N; i++)
		plate[i] = i % 10;
#ifdef REPAIRED
#pragma omp target data map(tofrom : plate [0:N])
#endif
	for (int s = 0; s < STEPS; s++) {
#pragma omp target teams distribute parallel for map(tofrom : plate [0:N])
		for (int i = 0; i < N; i++)
			plate[i] = 0.5 * plate[i] + 1;
	}
	printf("plate %08x\n", fingerprint(1, plate, sizeof(double) * N));
	free(plate);
	return 0;
}
