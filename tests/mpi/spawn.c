/* SPDX-License-Identifier: Apache-2.0 */
/* One rank that starts two groups of two ranks each, one after the other, and sends to each of them. */
#include <mpi.h>
#include <stdio.h>

enum { GROUPS = 2, RANKS = 2 };

static void parent(char *program)
{
	MPI_Comm children[GROUPS];
	int errors[RANKS], x;

	for (int g = 0; g < GROUPS; g++)
		MPI_Comm_spawn(program, MPI_ARGV_NULL, RANKS, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
			       &children[g], errors);
	for (int g = 0; g < GROUPS; g++) {
		for (int i = 0; i < RANKS; i++) {
			x = 10 * g + i;
			MPI_Send(&x, 1, MPI_INT, i, 3, children[g]);
		}
		MPI_Barrier(children[g]);
		MPI_Comm_disconnect(&children[g]);
	}
	puts("spawned");
}

static void child(MPI_Comm parent)
{
	int x, sum;

	MPI_Recv(&x, 1, MPI_INT, 0, 3, parent, MPI_STATUS_IGNORE);
	MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(parent);
	MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
	MPI_Comm up;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&up);
	if (up == MPI_COMM_NULL)
		parent(argv[0]);
	else
		child(up);
	MPI_Finalize();
	return 0;
}
