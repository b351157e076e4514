/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that end as they should not: `ending abort|kill|leave|longjmp|error|size|late`. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static jmp_buf back;

static void jump(MPI_Comm *comm, int *code, ...)
{
	longjmp(back, 1);
}

/* An error handler that does not come back, then calls as usual. */
static void leave_by_longjmp(int rank)
{
	MPI_Errhandler handler;
	int x = 0;

	MPI_Comm_create_errhandler(jump, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	if (setjmp(back) == 0)
		MPI_Send(&x, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("back %d\n", rank);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int rank, x = 1, flag;

	MPI_Initialized(&flag);
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (strcmp(how, "size") == 0)
		printf("size %d\n", x);
	if (strcmp(how, "abort") == 0 && rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (strcmp(how, "kill") == 0 && rank == 1)
		raise(SIGKILL);
	if (strcmp(how, "leave") == 0)
		_exit(0);
	if (strcmp(how, "longjmp") == 0)
		leave_by_longjmp(rank);
	if (strcmp(how, "error") == 0) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		printf("status %d\n",
		       MPI_Send(&x, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	if (strcmp(how, "late") == 0 && rank != 0)
		raise(SIGKILL);
	MPI_Finalized(&flag);
	return 0;
}
