/* SPDX-License-Identifier: Apache-2.0 */
/* A job that ends in the way that its argument names: rank 1 goes (with a second argument rank 2 too), the others wait. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* A number that all ranks see, also when there is no MPI any more. */
static _Atomic int *shared_number(int rank)
{
	char path[] = "/tmp/kymo-die-XXXXXX";
	_Atomic int *number;
	int fd = rank == 0 ? mkstemp(path) : -1;

	if (rank == 0 && ftruncate(fd, sizeof(*number)) != 0)
		abort();
	MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (rank != 0)
		fd = open(path, O_RDWR);
	number = mmap(NULL, sizeof(*number), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		unlink(path);
	if (number == MAP_FAILED)
		abort();
	return number;
}

/*
 * Once one has gone with a status, Open MPI answers nobody, and ends those that are not out of
 * MPI_Finalize.
 */
static void finalize_together(int rank)
{
	_Atomic int *out = shared_number(rank);
	int size;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Finalize();
	atomic_fetch_add(out, 1);
	while (atomic_load(out) < size)
		usleep(1000);
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
	MPI_Barrier(MPI_COMM_WORLD);
	finalize_together(rank);
	if (strcmp(argv[1], "quick") == 0)
		quick_exit(3);
	return rank == 1 ? 6 : 0;
}
