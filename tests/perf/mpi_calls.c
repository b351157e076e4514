/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes N rounds of calls of MPI, and nothing else: mpi_calls WHAT N BATCH. hotpath.py runs it with
 * two values of N. With a batch, that many transfers are under way before any is completed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Request *requests;
static double value;

static void rank(long n)
{
	int r;

	for (long i = 0; i < n; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &r);
}

static void send(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
}

static void exchange(long n)
{
	for (long i = 0; i < n; i++) {
		MPI_Irecv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, requests);
		MPI_Isend(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, requests + 1);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
}

static void same(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Isend(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, requests + i);
	MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
}

static void distinct(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Irecv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, requests + i);
	MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long n);
	} kinds[] = {{"rank", rank},
		     {"send", send},
		     {"exchange", exchange},
		     {"same", same},
		     {"distinct", distinct}};
	long n = argc == 4 ? atol(argv[2]) : 0, batch = argc == 4 ? atol(argv[3]) : 0;
	size_t k = 0;

	while (argc == 4 && k < 5 && strcmp(argv[1], kinds[k].name) != 0)
		k++;
	if (argc != 4 || k == 5 || batch < 1) {
		fputs("usage: mpi_calls rank|send|exchange|same|distinct N BATCH\n", stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	requests = calloc((size_t)batch + 2, sizeof(*requests));
	for (long i = 0; requests && i < n; i += batch)
		kinds[k].run(batch);
	free(requests);
	MPI_Finalize();
	return 0;
}
