/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes in every way that MPI 3.1 has, and counts them itself: by operation and peer, in
 * units of C types. At the end each rank prints its counts; a recording must say the same.
 *
 *   rank operation peer messages sent received          peer -1: none, or all
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEND, RECEIVE, COLLECTIVE, PUT, GET, ACCUMULATE, READ, WRITE, KINDS };
enum { RANKS_MAX = 64, MANY = 100 };

static const char *const names[KINDS] = {"send", "receive",    "collective", "put",
					 "get",  "accumulate", "read",       "write"};
static struct {
	long messages, sent, received;
} counts[KINDS][RANKS_MAX + 1];
static int rank, ranks, next, before;
static char in[1 << 16], out[1 << 16];

static void count(int kind, int peer, long sent, long received)
{
	counts[kind][peer + 1].messages++;
	counts[kind][peer + 1].sent += sent;
	counts[kind][peer + 1].received += received;
}

static void blocking(void)
{
	MPI_Status status;
	int n;

	if (rank % 2 == 0) {
		MPI_Send(out, 100, MPI_INT, next, 1, MPI_COMM_WORLD);
		MPI_Recv(in, 1000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	} else {
		MPI_Recv(in, 1000, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Ssend(out, 100, MPI_INT, next, 1, MPI_COMM_WORLD);
	}
	count(SEND, next, 100 * sizeof(int), 0);
	count(RECEIVE, before, 0, 100 * sizeof(int));
	MPI_Sendrecv(out, 7, MPI_DOUBLE, next, 2, in, 70, MPI_DOUBLE, before, 2, MPI_COMM_WORLD,
		     &status);
	count(SEND, next, 7 * sizeof(double), 0);
	count(RECEIVE, before, 0, 7 * sizeof(double));
	MPI_Get_count(&status, MPI_DOUBLE, &n);
	if (n != 7)
		MPI_Abort(MPI_COMM_WORLD, 3);
	MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
	MPI_Recv(in, 5, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
}

static void nonblocking(void)
{
	MPI_Request r[2 * MANY];
	MPI_Status status[2 * MANY];
	int left = 4, done, flag, index, indices[4];

	for (int i = 0; i < MANY; i++) {
		MPI_Irecv(in + 8 * i, 8, MPI_CHAR, before, 10 + i, MPI_COMM_WORLD, &r[i]);
		MPI_Isend(out + 8 * i, i % 8, MPI_CHAR, next, 10 + i, MPI_COMM_WORLD, &r[MANY + i]);
		count(SEND, next, i % 8, 0);
		count(RECEIVE, before, 0, i % 8);
	}
	MPI_Waitall(2 * MANY, r, rank ? status : MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++) {
		MPI_Irecv(in + 64 * i, 64, MPI_CHAR, MPI_ANY_SOURCE, 200 + i, MPI_COMM_WORLD,
			  &r[i]);
		MPI_Isend(out, 60 + i, MPI_CHAR, next, 200 + i, MPI_COMM_WORLD, &r[2 + i]);
		count(SEND, next, 60 + i, 0);
		count(RECEIVE, before, 0, 60 + i);
	}
	MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
	left--;
	while (left > 1) {
		MPI_Waitsome(4, r, &done, indices, MPI_STATUSES_IGNORE);
		left -= done;
	}
	for (flag = 0; !flag;)
		MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
	MPI_Request r[2];

	MPI_Send_init(out, 11, MPI_SHORT, next, 3, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(in, 20, MPI_SHORT, before, 3, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, r);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		count(SEND, next, 11 * sizeof(short), 0);
		count(RECEIVE, before, 0, 11 * sizeof(short));
	}
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
}

static void derived(void)
{
	MPI_Datatype vector, pair;
	int lengths[2] = {1, 3};
	MPI_Aint places[2] = {0, 8};
	MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR};

	MPI_Type_vector(5, 2, 4, MPI_INT, &vector);
	MPI_Type_commit(&vector);
	MPI_Type_create_struct(2, lengths, places, types, &pair);
	MPI_Type_commit(&pair);
	MPI_Type_set_name(pair, "pair");
	MPI_Sendrecv(out, 2, vector, next, 4, in, 30, MPI_INT, before, 4, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	count(SEND, next, 20 * sizeof(int), 0);
	count(RECEIVE, before, 0, 20 * sizeof(int));
	MPI_Sendrecv(out, 3, pair, next, 4, in, 3, pair, before, 4, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	count(SEND, next, 3 * 11, 0);
	count(RECEIVE, before, 0, 3 * 11);
	MPI_Type_free(&vector);
	MPI_Type_free(&pair);
}

static void matched(void)
{
	MPI_Request r;
	MPI_Message message;
	MPI_Status status;

	MPI_Isend(out, 9, MPI_INT, next, 5, MPI_COMM_WORLD, &r);
	MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(in, 9, MPI_INT, &message, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	count(SEND, next, 9 * sizeof(int), 0);
	count(RECEIVE, before, 0, 9 * sizeof(int));
}

static void rooted(void)
{
	int n[RANKS_MAX], at[RANKS_MAX];
	long sum = 0;
	int root = ranks - 1, is = rank == root;

	for (int i = 0; i < ranks; i++) {
		n[i] = i + 1;
		at[i] = (int)sum;
		sum += n[i];
	}
	MPI_Barrier(MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 0, 0);
	MPI_Bcast(out, 10, MPI_INT, root, MPI_COMM_WORLD);
	count(COLLECTIVE, root, is ? 40 : 0, is ? 0 : 40);
	MPI_Reduce(out, in, 3, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
	count(COLLECTIVE, root, 24, is ? 24 : 0);
	/* What is significant at the root alone may be anything elsewhere. */
	MPI_Gather(out, 4, MPI_INT, is ? in : NULL, 4, is ? MPI_INT : MPI_DATATYPE_NULL, root,
		   MPI_COMM_WORLD);
	count(COLLECTIVE, root, 16, is ? 16 * ranks : 0);
	MPI_Gatherv(out, rank + 1, MPI_INT, in, is ? n : (int *)8, is ? at : (int *)8, MPI_INT,
		    root, MPI_COMM_WORLD);
	count(COLLECTIVE, root, 4 * (rank + 1), is ? 4 * sum : 0);
	MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, root, MPI_COMM_WORLD);
	count(COLLECTIVE, root, is ? 8 * ranks : 0, 8);
	MPI_Scatterv(out, is ? n : NULL, is ? at : NULL, MPI_INT, is ? MPI_IN_PLACE : in, rank + 1,
		     MPI_INT, root, MPI_COMM_WORLD);
	count(COLLECTIVE, root, is ? 4 * sum : 0, 4 * (rank + 1));
}

static void symmetric(void)
{
	int n[RANKS_MAX], at[RANKS_MAX];
	MPI_Datatype types[RANKS_MAX];
	MPI_Request r;

	for (int i = 0; i < ranks; i++) {
		n[i] = 2;
		at[i] = 8 * i;
		types[i] = MPI_INT;
	}
	MPI_Allreduce(MPI_IN_PLACE, in, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 20, 20);
	MPI_Allgather(out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 12, 12 * ranks);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 3, MPI_INT, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 12, 12 * ranks);
	MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 8 * ranks, 8 * ranks);
	MPI_Alltoallw(out, n, at, types, in, n, at, types, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 8 * ranks, 8 * ranks);
	MPI_Reduce_scatter(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 8 * ranks, 8);
	MPI_Reduce_scatter_block(out, in, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 12 * ranks, 12);
	MPI_Exscan(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 8, 8);
	MPI_Iallreduce(out, in, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	count(COLLECTIVE, -1, 24, 24);
}

/* Halves of the world: ranks there are not ranks of the world. */
static void communicators(void)
{
	MPI_Comm half, copy, inter;
	int r, n, mine = rank % 2;

	MPI_Comm_split(MPI_COMM_WORLD, mine, -rank, &half);
	MPI_Comm_set_name(half, "half");
	MPI_Comm_rank(half, &r);
	MPI_Comm_size(half, &n);
	MPI_Bcast(out, 1, MPI_INT, 0, half); /* the highest of this half */
	count(COLLECTIVE, mine + 2 * (n - 1), r == 0 ? 4 : 0, r == 0 ? 0 : 4);
	MPI_Comm_dup(half, &copy);
	MPI_Barrier(copy);
	count(COLLECTIVE, -1, 0, 0);
	MPI_Comm_free(&copy);
	if (ranks % 2 == 0) {
		/* The first of the other half: keys are descending, so its highest rank. */
		MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, mine ? ranks - 2 : ranks - 1, 77,
				     &inter);
		MPI_Sendrecv(out, 1, MPI_INT, r, 6, in, 1, MPI_INT, r, 6, inter, MPI_STATUS_IGNORE);
		count(SEND, rank + (mine ? -1 : 1), 4, 0);
		count(RECEIVE, rank + (mine ? -1 : 1), 0, 4);
		MPI_Comm_free(&inter);
	}
	MPI_Comm_free(&half);
}

static void one_sided(void)
{
	MPI_Win win;

	MPI_Win_create(in, sizeof(in), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_name(win, "window");
	MPI_Win_fence(0, win);
	MPI_Put(out, 12, MPI_INT, next, 0, 12, MPI_INT, win);
	count(PUT, next, 48, 0);
	MPI_Win_fence(0, win);
	MPI_Get(out, 13, MPI_INT, before, 64, 13, MPI_INT, win);
	count(GET, before, 0, 52);
	MPI_Win_fence(0, win);
	MPI_Accumulate(out, 14, MPI_INT, next, 128, 14, MPI_INT, MPI_SUM, win);
	count(ACCUMULATE, next, 56, 0);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
}

static void file(const char *name)
{
	MPI_Status status;
	MPI_Request r;
	MPI_File f;

	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	MPI_File_write_at_all(f, 1000 * rank, out, 100, MPI_INT, &status);
	count(WRITE, -1, 400, 0);
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	count(COLLECTIVE, -1, 0, 0);
	MPI_File_read_at(f, 1000 * next, in, 90, MPI_INT, MPI_STATUS_IGNORE);
	count(READ, -1, 0, 360);
	MPI_File_iread_at(f, 1000 * rank, in, 50, MPI_INT, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	count(READ, -1, 0, 200);
	MPI_File_close(&f);
}

static void print_counts(void)
{
	for (int k = 0; k < KINDS; k++)
		for (int p = 0; p <= ranks; p++)
			if (counts[k][p].messages)
				printf("%d %s %d %ld %ld %ld\n", rank, names[k], p - 1,
				       counts[k][p].messages, counts[k][p].sent,
				       counts[k][p].received);
}

int main(int argc, char **argv)
{
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	next = (rank + 1) % ranks;
	before = (rank + ranks - 1) % ranks;
	if (ranks > RANKS_MAX || ranks % 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	blocking();
	nonblocking();
	persistent();
	derived();
	matched();
	rooted();
	symmetric();
	communicators();
	one_sided();
	if (argc > 1)
		file(argv[1]);
	MPI_Finalize();
	print_counts();
	return 0;
}
