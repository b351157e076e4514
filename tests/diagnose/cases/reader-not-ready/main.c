/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation that hands each large step to a rank which draws it. The drawing rank looks for the
 * step when it has finished with other things; the simulation stands in MPI_Send until then.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { STEPS = 60, N = 1 << 16, OTHER = 6000, SIMULATE = 6000 };

static uint32_t simulate(double *field, int steps)
{
	double *sent = memory(sizeof(double) * N);
	char token = 0;

	for (int i = 0; i < steps; i++) {
		MPI_Request sending;

		MPI_Send(&token, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD); /* the step begins */
		for (int k = 0; k < N; k++)
			sent[k] = field[k];
#ifdef REPAIRED
		MPI_Isend(sent, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &sending);
#else
		MPI_Send(sent, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
		sending = MPI_REQUEST_NULL;
#endif
		for (int k = 0; k < N; k++)
			field[k] = 0.5 * field[k] + k % 7;
		rest_us(SIMULATE);
		MPI_Wait(&sending, MPI_STATUS_IGNORE);
	}
	free(sent);
	return fingerprint(1, field, sizeof(double) * N);
}

static void draw(double *field, int steps)
{
	char token;

	for (int i = 0; i < steps; i++) {
		MPI_Recv(&token, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		rest_us(OTHER);
		MPI_Recv(field, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

int main(int argc, char **argv)
{
	double *field = memory(sizeof(double) * N);
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("field %08x\n", simulate(field, STEPS));
	else
		draw(field, STEPS);
	MPI_Finalize();
	free(field);
	return 0;
}
