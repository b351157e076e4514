/* SPDX-License-Identifier: Apache-2.0 */
/* Two windows: each rank puts to the next one, once under an exclusive and twice under a shared lock. */
#include <mpi.h>

enum { WINDOWS = 2, SHARED = 2 };

static void put(int lock, int to, MPI_Win win)
{
	static int value = 7;

	MPI_Win_lock(lock, to, 0, win);
	MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, win);
	MPI_Win_unlock(to, win);
}

int main(int argc, char **argv)
{
	int memory[WINDOWS][4] = {{0}}, rank, size;
	MPI_Win win[WINDOWS];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < WINDOWS; i++)
		MPI_Win_create(memory[i], sizeof(memory[i]), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			       &win[i]);
	put(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, win[0]);
	for (int i = 0; i < SHARED; i++)
		put(MPI_LOCK_SHARED, (rank + 1) % size, win[1]);
	for (int i = 0; i < WINDOWS; i++)
		MPI_Win_free(&win[i]);
	MPI_Finalize();
	return 0;
}
