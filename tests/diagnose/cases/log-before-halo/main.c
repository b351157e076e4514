/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of four ranks that pass a state on. In turn, one of them writes its log before it sends:
 * its neighbour, and then all others, wait for it.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 100, N = 256, WORK = 3000, LOG = 4000 };

int main(int argc, char **argv)
{
	double state[N], arrived[N];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int k = 0; k < N; k++)
		state[k] = rank + k;
	for (int i = 0; i < STEPS; i++) {
		MPI_Request receiving;
		int logs = i % ranks == rank;

		MPI_Irecv(arrived, N, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
			  &receiving);
#ifndef REPAIRED
		if (logs)
			rest_us(LOG);
#endif
		MPI_Send(state, N, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
		MPI_Wait(&receiving, MPI_STATUS_IGNORE);
		for (int k = 0; k < N; k++)
			state[k] = 0.5 * (state[k] + arrived[k]);
		rest_us(WORK);
#ifdef REPAIRED
		if (logs &&
		    i + ranks >= STEPS) /* what was logged before was kept, and is written now */
			rest_us(LOG);
#endif
	}
	if (rank == 0)
		printf("state %.6f\n", state[0]);
	MPI_Finalize();
	return 0;
}
