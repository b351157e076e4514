/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes objects of MPI and gives back all of them ("clean"), or forgets some: communicators at two lines (6 in a loop, 2),
 * datatypes, a group, and in rank 1 alone 3 operations and a request that is never started.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void nothing(void *in, void *out, int *count, MPI_Datatype *type)
{
	(void)in, (void)out, (void)count, (void)type;
}

static void communicators(int clean)
{
	MPI_Comm dup[6], split[2];

	for (int i = 0; i < 6; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &dup[i]); /* line: dup */
	for (int i = 0; i < 2; i++)
		MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &split[i]); /* line: split */
	for (int i = 0; clean && i < 6; i++)
		MPI_Comm_free(&dup[i]);
	for (int i = 0; clean && i < 2; i++)
		MPI_Comm_free(&split[i]);
}

static void others(int clean)
{
	MPI_Datatype type, kept;
	MPI_Group group;

	for (int i = 0; i < 5; i++) {
		MPI_Type_contiguous(2 + i, MPI_INT, &type); /* line: type */
		MPI_Type_commit(&type);
		if (clean || i % 2)
			MPI_Type_free(&type);
	}
	MPI_Type_dup(MPI_INT, &kept);
	MPI_Type_free(&kept);
	MPI_Comm_group(MPI_COMM_WORLD, &group); /* line: group */
	if (clean)
		MPI_Group_free(&group);
}

static void of_rank_1(int clean)
{
	MPI_Request request;
	MPI_Op op;
	int value = 0;

	for (int i = 0; i < 3; i++) {
		MPI_Op_create(nothing, 1, &op); /* line: op */
		if (clean)
			MPI_Op_free(&op);
	}
	MPI_Send_init(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request); /* line: request */
	if (clean)
		MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
	int rank, clean = argc > 1 && strcmp(argv[1], "clean") == 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	communicators(clean);
	others(clean);
	if (rank == 1)
		of_rank_1(clean);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
