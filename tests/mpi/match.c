/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of which the program itself knows who got which: each carries its sender's rank and number. All
 * have the same size and few tags, receives have wildcards, and they are completed in another order than
 * they were posted in. Writes to FOLDER/received.RANK, for each receive in the order of its call,
 * "DESTINATION NUMBER SOURCE SENT".
 *
 *   match FOLDER [threads]     with threads: two of each process send at the same time as well
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 50
#define MOST   8192

struct got {
	int source, number;
};

static int rank, size;
static int sent;             /* sends started so far */
static int received;         /* receives started so far */
static struct got got[MOST]; /* by number of the receive */
static struct got given[MOST];

static struct got *next_send(void)
{
	given[sent] = (struct got){rank, sent};
	return &given[sent++];
}

static struct got *next_receive(void)
{
	return &got[received++];
}

static void post_send(int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	MPI_Isend(next_send(), sizeof(struct got), MPI_BYTE, to, tag, comm, request);
}

static void post_receive(int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	MPI_Irecv(next_receive(), sizeof(struct got), MPI_BYTE, from, tag, comm, request);
}

/* Everybody sends to everybody on both communicators; receives have wildcards and end backwards. */
static void wild(MPI_Comm a, MPI_Comm b)
{
	MPI_Request requests[4 * 64];
	int n = 0;

	for (int i = 0; i < size; i++) {
		post_receive(MPI_ANY_SOURCE, MPI_ANY_TAG, a, &requests[n++]);
		post_receive(MPI_ANY_SOURCE, 7, b, &requests[n++]);
	}
	for (int i = 0; i < size; i++) {
		post_send((rank + i) % size, i % 2 ? 7 : 9, a, &requests[n++]);
		post_send((rank + i) % size, 7, b, &requests[n++]);
	}
	while (n)
		MPI_Wait(&requests[--n], MPI_STATUS_IGNORE);
}

/* Bursts on one channel, blocking and not. */
static void burst(void)
{
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	MPI_Request requests[8];

	for (int i = 0; i < 4; i++)
		post_receive(i % 2 ? from : MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < 3; i++)
		post_send(to, 3, MPI_COMM_WORLD, &requests[4 + i]);
	MPI_Bsend(next_send(), sizeof(struct got), MPI_BYTE, to, 3, MPI_COMM_WORLD);
	for (int i = 6; i >= 0; i--)
		MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	MPI_Sendrecv(next_send(), sizeof(struct got), MPI_BYTE, to, 3, next_receive(),
		     sizeof(struct got), MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

/* Buffers of persistent requests are used again: what came is copied. */
static void persistent(void)
{
	static struct got out[3], in[3];
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	MPI_Request requests[6];

	for (int i = 0; i < 3; i++) {
		MPI_Recv_init(&in[i], sizeof(in[i]), MPI_BYTE, from, 4, MPI_COMM_WORLD,
			      &requests[i]);
		MPI_Send_init(&out[i], sizeof(out[i]), MPI_BYTE, to, 4, MPI_COMM_WORLD,
			      &requests[3 + i]);
	}
	for (int round = 0; round < 3; round++) {
		struct got *into[3];

		for (int i = 0; i < 3; i++) {
			into[i] = next_receive();
			out[i] = *next_send();
		}
		MPI_Startall(6, requests);
		for (int i = 2; i >= 0; i--)
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		MPI_Waitall(3, requests + 3, MPI_STATUSES_IGNORE);
		for (int i = 0; i < 3; i++)
			*into[i] = in[i];
	}
	for (int i = 0; i < 6; i++)
		MPI_Request_free(&requests[i]);
}

/* Two messages are matched one after the other and received the other way round. */
static void probed(void)
{
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	MPI_Request requests[3];
	MPI_Message first, second;

	for (int i = 0; i < 3; i++)
		post_send(to, 5, MPI_COMM_WORLD, &requests[i]);
	MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
	MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE);
	MPI_Mrecv(next_receive(), sizeof(struct got), MPI_BYTE, &second, MPI_STATUS_IGNORE);
	MPI_Recv(next_receive(), sizeof(struct got), MPI_BYTE, from, 5, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	MPI_Mrecv(next_receive(), sizeof(struct got), MPI_BYTE, &first, MPI_STATUS_IGNORE);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* A receive that is taken back gets nothing, and stands in nobody's way. */
static void cancelled(void)
{
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	MPI_Request request;

	post_receive(from, 6, MPI_COMM_WORLD, &request);
	got[received - 1].source = -1;
	MPI_Cancel(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	post_send(to, 6, MPI_COMM_WORLD, &request);
	MPI_Recv(next_receive(), sizeof(struct got), MPI_BYTE, from, 6, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	post_receive(rank, 8, MPI_COMM_WORLD, &request);
	MPI_Send(next_send(), sizeof(struct got), MPI_BYTE, rank, 8, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A receive of anything that nobody waits for gets the first message, and no record says so. */
static void freed(MPI_Comm comm)
{
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	static char any;
	MPI_Request request, sends[2];
	char in, out = 1;

	MPI_Irecv(&any, 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
	MPI_Request_free(&request);
	for (int i = 0; i < 2; i++)
		MPI_Isend(&out, 1, MPI_BYTE, to, 98, comm, &sends[i]);
	MPI_Recv(&in, 1, MPI_BYTE, from, 98, comm, MPI_STATUS_IGNORE);
	MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

/* A receive that is cancelled and not waited for may have got a message or not. */
static void dropped(MPI_Comm comm)
{
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	MPI_Request request;
	char in, out = 1;

	MPI_Irecv(&in, 1, MPI_BYTE, from, 97, comm, &request);
	MPI_Cancel(&request);
	MPI_Request_free(&request);
	MPI_Barrier(comm);
	for (int i = 0; i < 3; i++)
		MPI_Sendrecv(&out, 1, MPI_BYTE, to, 97, &in, 1, MPI_BYTE, from, 97, comm,
			     MPI_STATUS_IGNORE);
}

/* Made in the background and used by one alone: what is made later is one communicator all the same. */
static void background(void)
{
	MPI_Comm in_background, later;
	MPI_Request made, requests[2];
	char in, out = 1;

	MPI_Comm_idup(MPI_COMM_WORLD, &in_background, &made);
	MPI_Wait(&made, MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI_Sendrecv(&out, 1, MPI_BYTE, 0, 96, &in, 1, MPI_BYTE, 0, 96, in_background,
			     MPI_STATUS_IGNORE);
	MPI_Comm_dup(MPI_COMM_WORLD, &later);
	post_receive((rank + size - 1) % size, 9, later, &requests[0]);
	post_send((rank + 1) % size, 9, later, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Comm_free(&later);
	MPI_Comm_free(&in_background);
}

/* ---- two threads that send at the same time: nobody knows whose message is which -------------- */

static void *send_one(void *unused)
{
	char out = 1;

	MPI_Ssend(&out, 1, MPI_BYTE, (rank + 1) % size, 99, MPI_COMM_WORLD);
	return NULL;
}

/* Neither send is over before its message is received, and that is after both have begun. */
static void threads(void)
{
	int from = (rank + size - 1) % size;
	pthread_t senders[2];
	MPI_Message messages[2];
	char in;

	for (int i = 0; i < 2; i++)
		pthread_create(&senders[i], NULL, send_one, NULL);
	for (int i = 0; i < 2; i++)
		MPI_Mprobe(from, 99, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE);
	for (int i = 0; i < 2; i++)
		MPI_Mrecv(&in, 1, MPI_BYTE, &messages[i], MPI_STATUS_IGNORE);
	for (int i = 0; i < 2; i++)
		pthread_join(senders[i], NULL);
}

/* What was received, in a file of the rank: lines of several on one pipe would mix. */
static void write_received(const char *folder)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/received.%d", folder, rank);
	f = fopen(path, "w");
	if (!f)
		exit(1);
	for (int i = 0; i < received; i++)
		fprintf(f, "%d %d %d %d\n", rank, i, got[i].source, got[i].number);
	fclose(f);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	int level;
	MPI_Comm other, third;

	MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Buffer_attach(buffer, sizeof(buffer));
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	MPI_Comm_dup(MPI_COMM_WORLD, &third);
	for (int i = 0; i < ROUNDS; i++) {
		wild(MPI_COMM_WORLD, other);
		MPI_Barrier(MPI_COMM_WORLD);
		burst();
		MPI_Barrier(MPI_COMM_WORLD);
		probed();
		MPI_Barrier(MPI_COMM_WORLD);
	}
	persistent();
	cancelled();
	background();
	freed(other);
	dropped(third);
	for (int i = 0; argc > 2 && level == MPI_THREAD_MULTIPLE && i < ROUNDS; i++)
		threads();
	MPI_Buffer_detach(&(void *){0}, &(int){0});
	MPI_Comm_free(&other);
	MPI_Comm_free(&third);
	write_received(argv[1]);
	MPI_Finalize();
	return 0;
}
