/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that send a number round, again and again, with a region of OpenMP in each round. Rank 0 prints each rank's
 * process, and ends all when the file STOP is there: rounds and what went wrong. Each rank has the number of its rounds in
 * STOP.RANK. ranks STOP
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct timespec nap = {0, 1000000};
	int rank, ranks, file, over = 0, pid = getpid(), pids[64];
	char path[4096];
	long rounds = 0, wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
	file = open(path, O_WRONLY | O_CREAT, 0600);
	MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < ranks; i++)
		printf("%d\n", pids[i]);
	fflush(stdout);
	while (!over) {
		long mine = rounds * ranks + rank, got = -1, sum = 0;
		int before = (rank + ranks - 1) % ranks;

		MPI_Sendrecv(&mine, 1, MPI_LONG, (rank + 1) % ranks, 7, &got, 1, MPI_LONG, before,
			     7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp parallel for reduction(+ : sum)
		for (int i = 0; i < 100; i++)
			sum += i;
		wrong += got != rounds * ranks + before || sum != 4950;
		rounds++;
		wrong += pwrite(file, &rounds, sizeof(rounds), 0) != (ssize_t)sizeof(rounds);
		over = rank == 0 && access(argv[1], F_OK) == 0;
		MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
		nanosleep(&nap, NULL);
	}
	MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("rounds %ld wrong %ld\n", rounds, wrong);
	MPI_Finalize();
	return 0;
}
