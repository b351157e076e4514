/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NCCL's and cuBLAS's interfaces that the tests use: as in their public headers. */
#ifndef TESTS_EXPORTS_LIBRARY_H
#define TESTS_EXPORTS_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

typedef struct comm *ncclComm_t;
typedef void *cudaStream_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, cga, least, most;
	const char *net;
	int share, traffic;
	const char *name;
	int rest[10];
} ncclConfig_t;
enum { ncclSuccess = 0, ncclInvalidArgument = 4, ncclInProgress = 7 };
enum { ncclInt8 = 0, ncclFloat32 = 7, ncclFloat64 = 8 };

int ncclGetUniqueId(ncclUniqueId *id);
int ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank);
int ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
			   ncclConfig_t *config);
int ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devices);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config);
int ncclCommDestroy(ncclComm_t comm);
int ncclCommCount(ncclComm_t comm, int *count);
int ncclCommUserRank(ncclComm_t comm, int *rank);
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, ncclComm_t comm,
		  cudaStream_t stream);
int ncclAllGather(const void *send, void *receive, size_t count, int type, ncclComm_t comm,
		  cudaStream_t stream);
int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int op,
		      ncclComm_t comm, cudaStream_t stream);
int ncclAlltoAll(const void *send, void *receive, size_t count, int type, ncclComm_t comm,
		 cudaStream_t stream);
int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root,
		  ncclComm_t comm, cudaStream_t stream);
int ncclReduce(const void *send, void *receive, size_t count, int type, int op, int root,
	       ncclComm_t comm, cudaStream_t stream);
int ncclGather(const void *send, void *receive, size_t count, int type, int root, ncclComm_t comm,
	       cudaStream_t stream);
int ncclScatter(const void *send, void *receive, size_t count, int type, int root, ncclComm_t comm,
		cudaStream_t stream);
int ncclSend(const void *send, size_t count, int type, int peer, ncclComm_t comm,
	     cudaStream_t stream);
int ncclRecv(void *receive, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
const char *ncclGetErrorString(int result);

int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc);
int cublasSetStream_v2(void *handle, cudaStream_t stream);

#endif
