/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls MPI with null pointers where it wants the address of a handle: nulls N makes call number N, prints whether
 * MPI returned an error, and ends with status 3 where there is no such call. Some implementations crash in some of them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int call(int n)
{
	int flag = 0, index = 0;

	switch (n) {
	case 0:
		return MPI_Comm_free(NULL);
	case 1:
		return MPI_Comm_disconnect(NULL);
	case 2:
		return MPI_Win_free(NULL);
	case 3:
		return MPI_File_close(NULL);
	case 4:
		return MPI_Type_free(NULL);
	case 5:
		return MPI_Op_free(NULL);
	case 6:
		return MPI_Group_free(NULL);
	case 7:
		return MPI_Errhandler_free(NULL);
	case 8:
		return MPI_Request_free(NULL);
	case 9:
		return MPI_Wait(NULL, MPI_STATUS_IGNORE);
	case 10:
		return MPI_Test(NULL, &flag, MPI_STATUS_IGNORE);
	case 11:
		return MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE);
	case 12:
		return MPI_Waitany(2, NULL, &index, MPI_STATUS_IGNORE);
	case 13:
		return MPI_Testall(2, NULL, &flag, MPI_STATUSES_IGNORE);
	case 14:
		return MPI_Start(NULL);
	case 15:
		return MPI_Startall(2, NULL);
	case 16:
		return MPI_Cancel(NULL);
	case 17:
		return MPI_Isend(&flag, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL);
	case 18:
		return MPI_Mrecv(&flag, 1, MPI_INT, NULL, MPI_STATUS_IGNORE);
	case 19:
		return MPI_Comm_dup(MPI_COMM_WORLD, NULL);
	case 20:
		return MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
	default:
		exit(3);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	printf("%d\n", call(atoi(argv[1])) != MPI_SUCCESS);
	fflush(stdout);
	return MPI_Finalize();
}
