/* SPDX-License-Identifier: Apache-2.0 */
/* A fake for an MPI that Kymo does not know: a few functions, of an ABI of its own. */
typedef struct {
	long a, b;
} MPI_Comm;

int PMPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv);
int PMPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int PMPI_Finalize(void);
int MPI_Finalize(void);

int PMPI_Init(int *argc, char ***argv)
{
	return 0;
}

int MPI_Init(int *argc, char ***argv)
{
	return PMPI_Init(argc, argv);
}

/* The communicator takes two registers: who passes on all of them does not mind. */
int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	*rank = (int)(comm.a + comm.b);
	return 0;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	return PMPI_Comm_rank(comm, rank);
}

int PMPI_Finalize(void)
{
	return 0;
}

int MPI_Finalize(void)
{
	return PMPI_Finalize();
}
