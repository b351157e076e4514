/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks of which one has 2 % more to do than the other, as it cannot be divided better. */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 30, WORK = 50000 };

int main(int argc, char **argv)
{
	double mine, all = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < STEPS; i++) {
		rest_us(rank == 1 ? WORK * 1.02 : WORK);
		mine = rank + i;
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("sum %g\n", all);
	MPI_Finalize();
	return 0;
}
