/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective calls out of which a rank may come before another has entered it. Rank 0 enters each only
 * when rank 1 says that it is out, or after so many seconds; rank 0 says which it was.
 * `sparse SECONDS WHICH`: WHICH has a letter for each call, of which those with a + are made.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double x, y[2];
static int none[2], first[2] = {1, 0};

static void call(int which)
{
	switch (which) {
	case 0:
		MPI_Allreduce(&x, y, 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		break;
	case 1:
		MPI_Allgather(&x, 0, MPI_DOUBLE, y, 0, MPI_DOUBLE, MPI_COMM_WORLD);
		break;
	case 2:
		MPI_Alltoallv(&x, none, none, MPI_DOUBLE, y, none, none, MPI_DOUBLE,
			      MPI_COMM_WORLD);
		break;
	case 3:
		MPI_Reduce_scatter(&x, y, first, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		break;
	default:
		MPI_Alltoall(&x, 0, MPI_DOUBLE, y, 0, MPI_DOUBLE, MPI_COMM_WORLD);
	}
}

/* Rank 1's word that it is out of the call. */
static int is_out(double seconds)
{
	double begin = MPI_Wtime();
	int there = 0;

	while (!there && MPI_Wtime() - begin < seconds)
		MPI_Iprobe(1, 7, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
	return there;
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int which = 0; argv[2][which]; which++) {
		for (int i = 0; i < 8; i++)
			MPI_Barrier(MPI_COMM_WORLD);
		if (argv[2][which] != '+')
			continue;
		if (rank == 0)
			putchar(is_out(atof(argv[1])) ? '+' : '-');
		call(which);
		if (rank == 1)
			MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
		if (rank == 0)
			MPI_Recv(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
				rank = 0;
	}
	MPI_Finalize();
	return 0;
}
