/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a job without MPI. It does what its arguments say, one after the other:
 * open NAME, close: a range; fork N: so many workers, each with a range "worker", which end with it;
 * sh COMMAND; nccl ID SIZE RANK: a communicator; wait FILE, touch FILE; kill; exit STATUS;
 * exec PROGRAM ARGUMENT...
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kymo/marker.h>

typedef struct {
	char internal[128];
} ncclUniqueId;
int ncclCommInitRank(void **comm, int ranks, ncclUniqueId id, int rank);

static void workers(int n)
{
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			kymo_range_push("worker");
			kymo_range_pop();
			exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void await(const char *file)
{
	const struct timespec step = {0, 1000000};

	while (access(file, F_OK) != 0)
		nanosleep(&step, NULL);
}

#ifdef NCCL
static void communicator(int id, int size, int rank)
{
	ncclUniqueId unique;
	void *comm;

	memset(&unique, id, sizeof(unique));
	if (ncclCommInitRank(&comm, size, unique, rank))
		abort();
}
#else
static void communicator(int id, int size, int rank)
{
	abort();
}
#endif

int main(int argc, char **argv)
{
	for (char **a = argv + 1; *a; a++) {
		if (strcmp(*a, "open") == 0)
			kymo_range_push(*++a);
		else if (strcmp(*a, "close") == 0)
			kymo_range_pop();
		else if (strcmp(*a, "fork") == 0)
			workers(atoi(*++a));
		else if (strcmp(*a, "sh") == 0) {
			if (system(*++a) != 0)
				return 1;
		} else if (strcmp(*a, "nccl") == 0) {
			communicator(atoi(a[1]), atoi(a[2]), atoi(a[3]));
			a += 3;
		} else if (strcmp(*a, "wait") == 0)
			await(*++a);
		else if (strcmp(*a, "touch") == 0)
			close(open(*++a, O_CREAT | O_WRONLY, 0600));
		else if (strcmp(*a, "kill") == 0)
			raise(SIGKILL);
		else if (strcmp(*a, "exit") == 0)
			return atoi(*++a);
		else if (strcmp(*a, "exec") == 0)
			return execvp(a[1], a + 1);
		else
			return 2;
	}
	return 0;
}
