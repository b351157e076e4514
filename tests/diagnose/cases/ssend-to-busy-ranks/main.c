/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A master that gives each of three workers its part of every round with MPI_Ssend(). The workers
 * tidy up before they look for the part, although both could go on at once.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { ROUNDS = 60, N = 64, TIDY = 4000, PART = 2000, MASTER = 5000 };

static double master(int ranks)
{
	double part[N], total = 0, answer;

	for (int i = 0; i < ROUNDS; i++) {
		MPI_Request sending[16];

		for (int k = 0; k < N; k++)
			part[k] = i + k;
		MPI_Barrier(MPI_COMM_WORLD);
		for (int w = 1; w < ranks; w++) {
#ifdef REPAIRED
			MPI_Issend(part, N, MPI_DOUBLE, w, 0, MPI_COMM_WORLD, &sending[w]);
#else
			MPI_Ssend(part, N, MPI_DOUBLE, w, 0, MPI_COMM_WORLD);
			sending[w] = MPI_REQUEST_NULL;
#endif
		}
		rest_us(MASTER); /* its own part */
		MPI_Waitall(ranks - 1, &sending[1], MPI_STATUSES_IGNORE);
		for (int w = 1; w < ranks; w++) {
			MPI_Recv(&answer, 1, MPI_DOUBLE, w, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			total += answer;
		}
	}
	return total;
}

static void worker(void)
{
	double part[N];

	for (int i = 0; i < ROUNDS; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		rest_us(TIDY);
		MPI_Recv(part, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		rest_us(PART);
		MPI_Send(&part[N - 1], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 0)
		printf("total %g\n", master(ranks));
	else
		worker();
	MPI_Finalize();
	return 0;
}
