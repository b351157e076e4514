/* SPDX-License-Identifier: Apache-2.0 */
/* Three ranks whose steps differ by chance, as those of a Monte Carlo do; none of them has more to do. */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 90, WORK = 10000 };

int main(int argc, char **argv)
{
	double mine = 0, all = 0;
	unsigned seed;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	seed = 77u + (unsigned)rank;
	for (int i = 0; i < STEPS; i++) {
		seed = seed * 1103515245u + 12345u;
		rest_us(0.95 * WORK + 0.1 * WORK * (double)(seed >> 16 & 1023) / 1024);
		mine += rank + 1;
		if (i % 10 == 9)
			MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("sum %g\n", all);
	MPI_Finalize();
	return 0;
}
