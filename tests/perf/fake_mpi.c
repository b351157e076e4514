/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI of one rank that does next to nothing, with the ABI of the mpi.h it is compiled with: what
 * is executed besides is Kymo's. Sends have one request for all, as Open MPI does it; receives have
 * one each. Whatever is asked to complete is complete.
 */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#ifdef OPEN_MPI

#define OBJECT(type, name)                                                                         \
	struct type {                                                                              \
		char bytes[512];                                                                   \
	};                                                                                         \
	struct type name

OBJECT(ompi_predefined_communicator_t, ompi_mpi_comm_world);
struct ompi_predefined_communicator_t ompi_mpi_comm_self, ompi_mpi_comm_null;
OBJECT(ompi_predefined_datatype_t, ompi_mpi_byte);
struct ompi_predefined_datatype_t ompi_mpi_double;
OBJECT(ompi_predefined_request_t, ompi_request_null);
OBJECT(ompi_predefined_group_t, ompi_mpi_group_null);

#define REQUEST(n) ((MPI_Request)(uintptr_t)(0x10000000ul + (n)*640ul))
#define GROUP      ((MPI_Group)&ompi_mpi_group_null)
#define SET_STATUS(s, from)                                                                        \
	((s)->MPI_SOURCE = (from), (s)->MPI_TAG = 1, (s)->_ucount = 8, (s)->_cancelled = 0)

#else

#define REQUEST(n) ((MPI_Request)(0x98000000u + (n)))
#define GROUP      MPI_GROUP_EMPTY
#define SET_STATUS(s, from)                                                                        \
	((s)->MPI_SOURCE = (from), (s)->MPI_TAG = 1, (s)->count_lo = 8,                            \
	 (s)->count_hi_and_cancelled = 0)

/* Something that only an MPI of this ABI has. */
void MPIR_Err_create_code(void);
void MPIR_Err_create_code(void)
{
}

#endif

/* Both names of a function. */
#define FUNCTION(name, ...)                                                                        \
	int MPI_##name(__VA_ARGS__) __attribute__((alias("PMPI_" #name)));                         \
	int PMPI_##name(__VA_ARGS__)

FUNCTION(Init, int *argc, char ***argv)
{
	return MPI_SUCCESS;
}

FUNCTION(Finalize, void)
{
	return MPI_SUCCESS;
}

FUNCTION(Comm_rank, MPI_Comm comm, int *rank)
{
	*rank = 0;
	return MPI_SUCCESS;
}

FUNCTION(Comm_size, MPI_Comm comm, int *size)
{
	*size = 1;
	return MPI_SUCCESS;
}

FUNCTION(Comm_test_inter, MPI_Comm comm, int *inter)
{
	*inter = 0;
	return MPI_SUCCESS;
}

FUNCTION(Comm_get_name, MPI_Comm comm, char *name, int *length)
{
	strcpy(name, "one rank");
	*length = 8;
	return MPI_SUCCESS;
}

FUNCTION(Comm_group, MPI_Comm comm, MPI_Group *group)
{
	*group = GROUP;
	return MPI_SUCCESS;
}

FUNCTION(Comm_dup, MPI_Comm comm, MPI_Comm *other)
{
	*other = comm;
	return MPI_SUCCESS;
}

FUNCTION(Comm_free, MPI_Comm *comm)
{
	return MPI_SUCCESS;
}

FUNCTION(Group_free, MPI_Group *group)
{
	return MPI_SUCCESS;
}

FUNCTION(Group_translate_ranks, MPI_Group a, int n, const int *from, MPI_Group b, int *to)
{
	memcpy(to, from, (size_t)n * sizeof(*to));
	return MPI_SUCCESS;
}

FUNCTION(Type_size, MPI_Datatype type, int *size)
{
	*size = 8;
	return MPI_SUCCESS;
}

FUNCTION(Error_class, int code, int *class)
{
	*class = code;
	return MPI_SUCCESS;
}

FUNCTION(Send, const void *b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	return MPI_SUCCESS;
}

FUNCTION(Recv, void *b, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	 MPI_Status *s)
{
	if (s != MPI_STATUS_IGNORE)
		SET_STATUS(s, 0);
	return MPI_SUCCESS;
}

FUNCTION(Isend, const void *b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	 MPI_Request *request)
{
	*request = REQUEST(0ul);
	return MPI_SUCCESS;
}

FUNCTION(Irecv, void *b, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	 MPI_Request *request)
{
	static unsigned last;

	last = last % 0x3fffff + 1;
	*request = REQUEST(last);
	return MPI_SUCCESS;
}

FUNCTION(Waitall, int n, MPI_Request requests[], MPI_Status *statuses)
{
	for (int i = 0; i < n; i++) {
		requests[i] = MPI_REQUEST_NULL;
		if (statuses != MPI_STATUSES_IGNORE)
			SET_STATUS(&statuses[i], 0);
	}
	return MPI_SUCCESS;
}
