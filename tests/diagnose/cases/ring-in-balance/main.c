/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of three ranks with equal work and messages that are sent before and awaited after it. */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 120, N = 1024, WORK = 8000 };

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
		MPI_Request r[2];

		MPI_Irecv(arrived, N, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
			  &r[0]);
		MPI_Isend(state, N, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &r[1]);
		rest_us(WORK);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		for (int k = 0; k < N; k++)
			state[k] = 0.5 * (state[k] + arrived[k]);
	}
	if (rank == 0)
		printf("state %.6f\n", state[0]);
	MPI_Finalize();
	return 0;
}
