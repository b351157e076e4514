/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks in a pipeline with an answer. Rank 0 has the block that rank 1 waits for, but computes
 * its statistics before it sends the block.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 80, N = 4096, STATISTICS = 6000, FILTER = 6000 };

static double statistics(const double *block)
{
	double sum = 0;

	for (int i = 0; i < N; i++)
		sum += block[i];
	rest_us(STATISTICS);
	return sum;
}

static void filter(double *block)
{
	for (int i = 0; i < N; i++)
		block[i] = 0.5 * block[i] + 1;
	rest_us(FILTER);
}

static double lead(double *block)
{
	double sum = 0, *next = memory(sizeof(double) * N);

	for (int i = 0; i < STEPS; i++) {
#ifdef REPAIRED
		MPI_Send(block, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
		sum += statistics(block);
#else
		sum += statistics(block);
		MPI_Send(block, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
#endif
		MPI_Recv(next, N, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int k = 0; k < N; k++)
			block[k] = next[k];
	}
	free(next);
	return sum;
}

static void follow(double *block)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Recv(block, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		filter(block);
		MPI_Send(block, N, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	double *block = memory(sizeof(double) * N);
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("sum %g\n", lead(block));
	else
		follow(block);
	MPI_Finalize();
	free(block);
	return 0;
}
