/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for libnccl.so.2 (and, with CUBLAS defined, for libcublas.so.13): does nothing but check
 * that what it is given is what the programs of these tests pass, and count. Without a GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define EXPORT __attribute__((visibility("default")))

static void must(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "library: %s\n", what);
		abort();
	}
}

#ifdef CUBLAS

EXPORT int cublasCreate_v2(void **handle)
{
	static int object;

	*handle = &object;
	return 0;
}

EXPORT int cublasSetStream_v2(void *handle, cudaStream_t stream)
{
	return handle ? 0 : 1;
}

EXPORT int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k,
			  const float *alpha, const float *a, int lda, const float *b, int ldb,
			  const float *beta, float *c, int ldc)
{
	if (m < 0)
		return 7;
	must(transa == 0 && transb == 1 && n == 12 && k == 13 && *alpha == 1.5f && lda == 14 &&
		     ldb == 15 && *beta == 0.5f && ldc == 16,
	     "cublasSgemm_v2: arguments");
	return 0;
}

#else

struct comm {
	int rank, size, alive;
};
static int depth;

static struct comm *make(int rank, int size)
{
	struct comm *c = malloc(sizeof(*c));

	*c = (struct comm){rank, size, 1};
	return c;
}

EXPORT int ncclGetUniqueId(ncclUniqueId *id)
{
	memset(id, 0x5a, sizeof(*id));
	return ncclSuccess;
}

static int init(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	for (unsigned i = 0; i < sizeof(id); i++)
		must(id.internal[i] == 0x5a, "ncclCommInitRank: the unique id");
	*comm = make(rank, nranks);
	return ncclSuccess;
}

EXPORT int ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	return init(comm, nranks, id, rank);
}

EXPORT int ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
				  ncclConfig_t *config)
{
	must(!config || config->magic == 0xcafebeef, "ncclCommInitRankConfig: the configuration");
	return init(comm, nranks, id, rank);
}

EXPORT int ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devices)
{
	for (int i = 0; i < ndev; i++)
		comm[i] = make(i, ndev);
	return ncclSuccess;
}

EXPORT int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
			 ncclConfig_t *config)
{
	*newcomm = color < 0 ? NULL : make(comm->rank / 2, comm->size / 2);
	return ncclSuccess;
}

EXPORT int ncclCommDestroy(ncclComm_t comm)
{
	free(comm);
	return ncclSuccess;
}

/* In a group a new communicator cannot be asked yet. */
EXPORT int ncclCommCount(ncclComm_t comm, int *count)
{
	*count = comm->size;
	return depth ? ncclInProgress : ncclSuccess;
}

EXPORT int ncclCommUserRank(ncclComm_t comm, int *rank)
{
	*rank = comm->rank;
	return ncclSuccess;
}

static int checked(size_t count, int type, ncclComm_t comm, cudaStream_t stream)
{
	if (!comm)
		return ncclInvalidArgument;
	must(comm->alive == 1 && stream == (void *)0x57 && type <= ncclFloat64 && count < 1 << 20,
	     "arguments");
	return ncclSuccess;
}

EXPORT int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op,
			 ncclComm_t comm, cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclAllGather(const void *send, void *receive, size_t count, int type, ncclComm_t comm,
			 cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int op,
			     ncclComm_t comm, cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclAlltoAll(const void *send, void *receive, size_t count, int type, ncclComm_t comm,
			cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root,
			 ncclComm_t comm, cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclReduce(const void *send, void *receive, size_t count, int type, int op, int root,
		      ncclComm_t comm, cudaStream_t stream)
{
	must(op == 2 && root == 1, "ncclReduce: arguments");
	return checked(count, type, comm, stream);
}

EXPORT int ncclGather(const void *send, void *receive, size_t count, int type, int root,
		      ncclComm_t comm, cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclScatter(const void *send, void *receive, size_t count, int type, int root,
		       ncclComm_t comm, cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclSend(const void *send, size_t count, int type, int peer, ncclComm_t comm,
		    cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclRecv(void *receive, size_t count, int type, int peer, ncclComm_t comm,
		    cudaStream_t stream)
{
	return checked(count, type, comm, stream);
}

EXPORT int ncclGroupStart(void)
{
	depth++;
	return ncclSuccess;
}

EXPORT int ncclGroupEnd(void)
{
	must(depth > 0, "ncclGroupEnd without a start");
	depth--;
	return ncclSuccess;
}

EXPORT const char *ncclGetErrorString(int result)
{
	return result == ncclInvalidArgument ? "invalid argument" : "no error";
}

#endif
