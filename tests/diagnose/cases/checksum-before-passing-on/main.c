/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline of three ranks that works off one block after the other, and waits for an answer before
 * the next goes in. Each rank takes a checksum of its block before it passes it on.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { BLOCKS = 60, N = 256, WORK = 2000, CHECKSUM = 4000 };

static double checksum(const double *block)
{
	double sum = 0;

	for (int k = 0; k < N; k++)
		sum += block[k];
	rest_us(CHECKSUM);
	return sum;
}

int main(int argc, char **argv)
{
	double block[N], sum = 0;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int k = 0; k < N; k++)
		block[k] = k;
	for (int i = 0; i < BLOCKS; i++) {
		if (rank || i)
			MPI_Recv(block, N, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
				 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int k = 0; k < N; k++)
			block[k] = 0.5 * block[k] + rank;
		rest_us(WORK);
#ifndef REPAIRED
		sum += checksum(block);
#endif
		if (rank < ranks - 1 || i < BLOCKS - 1)
			MPI_Send(block, N, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
#ifdef REPAIRED
		sum += checksum(block);
#endif
	}
	if (rank == ranks - 1)
		printf("sum %.6f\n", sum);
	MPI_Finalize();
	return 0;
}
