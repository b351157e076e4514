/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and messages of one rank with itself: bench_mpi WHAT ROUNDS [BATCH]
 *
 *   rank       MPI_Comm_rank
 *   exchange   Irecv, Isend, Waitall: 3 calls, 2 messages
 *   sendrecv   Sendrecv: 1 call, 2 messages
 *   allreduce  over MPI_COMM_SELF
 *   test       of a receive that nothing was sent to
 *   same       BATCH x Isend, BATCH x Recv, Waitall of all sends, whose handles some MPIs make one;
 *              a round is one of each
 *   distinct   BATCH x Irecv, BATCH x Send, Waitall of all receives, which have a handle each
 *
 * Prints the processor time of the thread for a round, and what Kymo is to have recorded.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_Request *requests;
static double *values, number;

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rank(long n)
{
	int r;

	for (long i = 0; i < n; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &r);
}

static void exchange(long n)
{
	for (long i = 0; i < n; i++) {
		MPI_Irecv(values, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, requests);
		MPI_Isend(&number, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, requests + 1);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
}

static void sendrecv(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Sendrecv(&number, 1, MPI_DOUBLE, 0, 1, values, 1, MPI_DOUBLE, 0, 1,
			     MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void allreduce(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Allreduce(&number, values, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void test(long n)
{
	int done;

	for (long i = 0; i < n; i++)
		MPI_Test(requests, &done, MPI_STATUS_IGNORE);
}

static void same(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Isend(&number, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, requests + i);
	for (long i = 0; i < n; i++)
		MPI_Recv(values + i, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
}

static void distinct(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Irecv(values + i, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, requests + i);
	for (long i = 0; i < n; i++)
		MPI_Send(&number, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
	MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
}

/* Calls of a round, messages of a round; calls and messages of each batch besides. */
static const struct {
	const char *name;
	void (*run)(long n);
	double calls, messages, batch_calls;
} kinds[] = {{"rank", rank, 1, 0, 0},         {"exchange", exchange, 3, 2, 0},
	     {"sendrecv", sendrecv, 1, 2, 0}, {"allreduce", allreduce, 1, 1, 0},
	     {"test", test, 1, 0, 0},         {"same", same, 2, 2, 1},
	     {"distinct", distinct, 2, 2, 1}};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A tenth first: first touches are not what is measured. */
static void measure(size_t k, long rounds, long batch)
{
	long batches = (rounds + batch - 1) / batch, early = batches > 1 ? batches / 10 + 1 : 1;
	double begin, all = (double)((batches + early) * batch);

	for (long i = 0; i < early; i++)
		kinds[k].run(batch);
	begin = cpu();
	for (long i = 0; i < batches; i++)
		kinds[k].run(batch);
	printf("cpu_ns=%.2f calls=%.0f messages=%.0f\n",
	       (cpu() - begin) * 1e9 / (double)(batches * batch),
	       all * kinds[k].calls + (double)(batches + early) * kinds[k].batch_calls,
	       all * kinds[k].messages);
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[2]) : 0, batch = argc > 3 ? atol(argv[3]) : 1000;
	size_t k = 0;

	while (argc > 2 && k < KINDS && strcmp(argv[1], kinds[k].name) != 0)
		k++;
	if (argc < 3 || k == KINDS || rounds < 1 || batch < 1) {
		fputs("usage: bench_mpi "
		      "rank|exchange|sendrecv|allreduce|test|same|distinct ROUNDS [BATCH]\n",
		      stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	requests = calloc((size_t)batch + 2, sizeof(*requests));
	values = calloc((size_t)batch + 1, sizeof(*values));
	if (!requests || !values)
		return 3;
	if (kinds[k].run == test)
		MPI_Irecv(values, 1, MPI_DOUBLE, 0, 9, MPI_COMM_SELF, requests);
	measure(k, rounds, batch);
	if (kinds[k].run == test) {
		MPI_Cancel(requests);
		MPI_Wait(requests, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	free(requests);
	free(values);
	return 0;
}
