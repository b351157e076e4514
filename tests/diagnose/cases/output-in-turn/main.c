/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solver on four ranks with a global time step. In each step another rank writes the output of
 * that step, and all others wait for it in the reduction; over the run all ranks do the same.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 80, WORK = 4000, OUTPUT = 8000 };

int main(int argc, char **argv)
{
	double least = 0, mine;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < STEPS; i++) {
		rest_us(WORK);
#ifdef REPAIRED
		rest_us((double)OUTPUT / ranks); /* each writes its own part of it */
#else
		if (i % ranks == rank)
			rest_us(OUTPUT);
#endif
		mine = 1.0 / (1 + i + rank);
		MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("step %g\n", least);
	MPI_Finalize();
	return 0;
}
