/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that end as they should not: `ending abort|kill|leave|longjmp|error|size|late|long|skip|pause`. */
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

/* Meets the others for 300 ms and `least` times, 10 s at most; with `skip`, rank 1 jumps out of one of these calls. */
static void stay(int rank, int skip, int least)
{
	double begin = MPI_Wtime();
	MPI_Errhandler handler;
	int go = 1, x = 0, calls = 0, met = 0;

	MPI_Comm_create_errhandler(jump, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	while (go) {
		if (skip && rank == 1 && ++calls == 20 && setjmp(back) == 0)
			MPI_Allreduce(&x, &x, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD);
		go = MPI_Wtime() - begin < (++met < least ? 10 : 0.3);
		MPI_Allreduce(MPI_IN_PLACE, &go, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	}
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
	if (strcmp(how, "long") == 0 || strcmp(how, "skip") == 0)
		stay(rank, strcmp(how, "skip") == 0, argc > 2 ? atoi(argv[2]) : 0);
	if (strcmp(how, "pause") == 0) {
		MPI_Pcontrol(2);
		MPI_Pcontrol(0);
		MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Pcontrol(rank != 1);
	}
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
