/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks pass a token. Out of consideration for the processor they test for it every 10 ms
 * instead of waiting, and find it long after it has come.
 */
#include <mpi.h>
#include <unistd.h>

#include "../../common/work.h"

enum { ROUNDS = 50, N = 1000, WORK = 4000 };

static void await(MPI_Request *request)
{
#ifdef REPAIRED
	MPI_Wait(request, MPI_STATUS_IGNORE);
#else
	int there = 0;

	for (;;) {
		MPI_Test(request, &there, MPI_STATUS_IGNORE);
		if (there)
			return;
		usleep(10000);
	}
#endif
}

int main(int argc, char **argv)
{
	double token[N] = {0};
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		if (i % 2 == rank) {
			token[i % N] += i;
			rest_us(WORK);
			MPI_Send(token, N, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD);
		} else {
			MPI_Request receiving;

			MPI_Irecv(token, N, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD, &receiving);
			await(&receiving);
		}
	}
	if (rank == 1)
		printf("token %08x\n", fingerprint(1, token, sizeof(token)));
	MPI_Finalize();
	return 0;
}
