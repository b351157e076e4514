/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that a tool of MPI can do: of each call that bench/mpi.c makes it reads the clock twice
 * and adds up, by function. No arguments, no messages, no record. What Kymo adds is held against it.
 */
#include <mpi.h>

#include "base/clock.h"

enum { COMM_RANK, IRECV, ISEND, WAITALL, SENDRECV, ALLREDUCE, TEST, SEND, RECV, FUNCTIONS };

static struct {
	uint64_t calls, ticks;
} sums[FUNCTIONS];

__attribute__((constructor)) static void begin(void)
{
	tick_init();
}

#define COUNTED(op, call)                                                                          \
	do {                                                                                       \
		uint64_t start = tick_now();                                                       \
		int result = call;                                                                 \
                                                                                                   \
		sums[op].ticks += tick_now() - start;                                              \
		sums[op].calls++;                                                                  \
		return result;                                                                     \
	} while (0)

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	COUNTED(COMM_RANK, PMPI_Comm_rank(comm, rank));
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	COUNTED(IRECV, PMPI_Irecv(buffer, count, type, source, tag, comm, request));
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	COUNTED(ISEND, PMPI_Isend(buffer, count, type, to, tag, comm, request));
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	COUNTED(WAITALL, PMPI_Waitall(count, requests, statuses));
}

int MPI_Sendrecv(const void *sent, int count, MPI_Datatype type, int to, int tag, void *received,
		 int received_count, MPI_Datatype received_type, int source, int received_tag,
		 MPI_Comm comm, MPI_Status *status)
{
	COUNTED(SENDRECV, PMPI_Sendrecv(sent, count, type, to, tag, received, received_count,
					received_type, source, received_tag, comm, status));
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	COUNTED(ALLREDUCE, PMPI_Allreduce(sent, received, count, type, op, comm));
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	COUNTED(TEST, PMPI_Test(request, flag, status));
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	COUNTED(SEND, PMPI_Send(buffer, count, type, to, tag, comm));
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	COUNTED(RECV, PMPI_Recv(buffer, count, type, source, tag, comm, status));
}
