/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronous sends to a rank that has posted its receive long before, and works no less. */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 120, N = 1024, WORK = 8000 };

int main(int argc, char **argv)
{
	double block[N] = {0}, next[N];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < STEPS; i++) {
		MPI_Request receiving = MPI_REQUEST_NULL;

		if (rank == 1)
			MPI_Irecv(next, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &receiving);
		rest_us(WORK);
		if (rank == 0) {
			block[i % N] += i;
			MPI_Ssend(block, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
		}
		MPI_Wait(&receiving, MPI_STATUS_IGNORE);
	}
	if (rank == 1)
		printf("%08x\n", fingerprint(1, next, sizeof(next)));
	MPI_Finalize();
	return 0;
}
