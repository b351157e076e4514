/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how long messages take: there and back, for growing sizes, and nothing else. */
#include <mpi.h>

#include "../../common/work.h"

enum { LARGEST = 1 << 20, TIMES = 600 };

int main(int argc, char **argv)
{
	char *message = memory(LARGEST);
	int rank, messages = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int size = 8; size <= LARGEST; size *= 4) {
		for (int i = 0; i < TIMES; i++) {
			if (rank == 0) {
				MPI_Send(message, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
				MPI_Recv(message, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
			} else {
				MPI_Recv(message, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
				MPI_Send(message, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
			}
			messages++;
		}
	}
	if (rank == 0)
		printf("%d messages each way\n", messages);
	MPI_Finalize();
	free(message);
	return 0;
}
