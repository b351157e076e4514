/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A climate model in strips with halo exchange between neighbours. The last strip has the sea in it,
 * which takes three times as long; the strips are of the same size all the same.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 70, N = 512, SEA = 12000, EVEN = 7000 };

static void compute(double *strip, int us)
{
	for (int i = 0; i < N; i++)
		strip[i] = 0.5 * strip[i] + 1;
	rest_us(us);
}

static void halo(double *strip, int rank, int ranks)
{
	const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(&strip[1], 1, MPI_DOUBLE, left, 0, &strip[N - 1], 1, MPI_DOUBLE, right, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&strip[N - 2], 1, MPI_DOUBLE, right, 1, &strip[0], 1, MPI_DOUBLE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	double *strip = memory(sizeof(double) * N), sum = 0, all;
	int rank, ranks, us;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef REPAIRED
	us = EVEN;
#else
	us = rank == ranks - 1 ? SEA : (EVEN * ranks - SEA) / (ranks - 1);
#endif
	for (int i = 0; i < STEPS; i++) {
		compute(strip, us);
		halo(strip, rank, ranks);
	}
	for (int i = 0; i < N; i++)
		sum += strip[i];
	MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("climate %g\n", all);
	MPI_Finalize();
	free(strip);
	return 0;
}
