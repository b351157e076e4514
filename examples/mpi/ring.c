/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of heat: every rank has a piece of a rod, swaps its ends with its neighbours and smooths.
 * One rank gets more to do than the others, which a summary by rank shows.
 *
 *   mpicc -O2 -o ring ring.c -lm && mpirun -n 4 kymo run ./ring
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { CELLS = 1 << 14, STEPS = 200 };

static double now[CELLS + 2], next[CELLS + 2];

static void swap_ends(int left, int right)
{
	MPI_Request r[4];

	MPI_Irecv(&now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(&now[CELLS + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
	MPI_Isend(&now[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[2]);
	MPI_Isend(&now[CELLS], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static double step(int left, int right, int times)
{
	double change = 0, all = 0;

	swap_ends(left, right);
	for (int t = 0; t < times; t++)
		for (int i = 1; i <= CELLS; i++)
			next[i] = (now[i - 1] + 2 * now[i] + now[i + 1]) / 4;
	for (int i = 1; i <= CELLS; i++) {
		change += fabs(next[i] - now[i]);
		now[i] = next[i];
	}
	MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	double change = 0;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 1; i <= CELLS; i++)
		now[i] = rank == 0 ? 1 : 0;
	for (int s = 0; s < STEPS; s++)
		change = step((rank + ranks - 1) % ranks, (rank + 1) % ranks,
			      rank == ranks - 1 ? 8 : 1);
	if (rank == 0)
		printf("change in the last step: %.6f\n", change);
	MPI_Finalize();
	return 0;
}
