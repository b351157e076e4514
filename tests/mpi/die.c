/* SPDX-License-Identifier: Apache-2.0 */
/* A job that ends in the way that its argument names: rank 1 goes (with a second argument rank 2 too), the others wait. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void go(const char *how)
{
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, 37);
	if (strcmp(how, "exit") == 0)
		exit(5);
	if (strcmp(how, "segv") == 0)
		raise(SIGSEGV);
}

int main(int argc, char **argv)
{
	int rank, x = 0, y;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 50; i++)
		MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 1 || (rank == 2 && argc > 2))
		go(argv[1]);
	if (strcmp(argv[1], "forget") == 0)
		return 0; /* nobody finalizes */
	if (strcmp(argv[1], "quick") == 0) {
		MPI_Finalize();
		quick_exit(3);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return rank == 1 ? 6 : 0;
}
