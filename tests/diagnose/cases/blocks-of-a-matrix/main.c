/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembling a matrix on four ranks. The blocks are dealt in proportion to what was measured on
 * another machine: rank 0 has four times as many as it should.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 60, BLOCKS = 28, BLOCK_US = 1000 };

static double assemble(int blocks, int step)
{
	rest_us(blocks * BLOCK_US);
	return blocks * (1.0 + step);
}

int main(int argc, char **argv)
{
	double mine, all = 0;
	int rank, ranks, blocks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef REPAIRED
	blocks = BLOCKS / ranks;
#else
	blocks = rank == 0 ? BLOCKS - 4 * (ranks - 1) : 4;
#endif
	for (int i = 0; i < STEPS; i++) {
		mine = assemble(blocks, i);
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("trace %g\n", all);
	MPI_Finalize();
	return 0;
}
