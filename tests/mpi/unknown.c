/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the fake's ABI; see unknown_mpi.c. Prints 42. */
#include <stdio.h>

typedef struct {
	long a, b;
} MPI_Comm;

int MPI_Init(int *argc, char ***argv);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
	int rank = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank((MPI_Comm){40, 2}, &rank);
	MPI_Finalize();
	printf("%d\n", rank);
	return 0;
}
