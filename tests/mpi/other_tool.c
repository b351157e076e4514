/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool that uses the profiling interface: counts sends and collectives by wrapping them. */
#include <mpi.h>
#include <stdio.h>

static long sends, collectives;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	sends++;
	return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	collectives++;
	return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Finalize(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fprintf(stderr, "other tool: rank %d sends %ld collectives %ld\n", rank, sends,
		collectives);
	return PMPI_Finalize();
}
