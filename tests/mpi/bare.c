/* SPDX-License-Identifier: Apache-2.0 */
/* Says of some calls whether anything of Kymo's is on the stack while MPI is in them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char *call;

static void look(void)
{
	void *at[64];
	int n = backtrace(at, 64), found = 0;
	Dl_info info;

	for (int i = 0; i < n; i++)
		found |=
			dladdr(at[i], &info) && info.dli_fname && strstr(info.dli_fname, "libkymo");
	printf("%s %s\n", call, found ? "wrapped" : "bare");
}

static void failed(MPI_Comm *comm, int *code, ...)
{
	look();
}

static int asked(void *state, MPI_Status *status)
{
	look();
	MPI_Status_set_elements(status, MPI_BYTE, 0);
	MPI_Status_set_cancelled(status, 0);
	return MPI_SUCCESS;
}

static int freed(void *state)
{
	return MPI_SUCCESS;
}

static int cancelled(void *state, int complete)
{
	return MPI_SUCCESS;
}

/* Nobody has this rank: the error handler is called. */
#define NOBODY 1000
#define TRY(name, ...)                                                                             \
	do {                                                                                       \
		call = #name;                                                                      \
		name(__VA_ARGS__);                                                                 \
	} while (0)

int main(void)
{
	MPI_Errhandler handler;
	MPI_Request r;
	int x = 0;

	MPI_Init(NULL, NULL);
	MPI_Comm_create_errhandler(failed, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	TRY(MPI_Send, &x, 1, MPI_INT, NOBODY, 0, MPI_COMM_WORLD);
	TRY(MPI_Isend, &x, 1, MPI_INT, NOBODY, 0, MPI_COMM_WORLD, &r);
	TRY(MPI_Recv, &x, 1, MPI_INT, NOBODY, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	TRY(MPI_Sendrecv, &x, 1, MPI_INT, NOBODY, 0, &x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
	    MPI_STATUS_IGNORE);
	TRY(MPI_Bcast, &x, 1, MPI_INT, NOBODY, MPI_COMM_WORLD);
	MPI_Grequest_start(asked, freed, cancelled, NULL, &r);
	MPI_Grequest_complete(r);
	TRY(MPI_Wait, &r, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
