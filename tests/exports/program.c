/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that use NCCL and cuBLAS in the ways that programs do. Linked to them, or (with BY_NAME)
 * to nothing: then the functions are looked up in the library that LIBRARY names. The first argument
 * chooses the scene, the second is the rank.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define STREAM ((void *)0x57)

#ifdef BY_NAME
static void *library(void)
{
	static void *handle;

	if (!handle)
		handle = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	return handle;
}
#define CALL(name) ((__typeof__(&name))dlsym(library(), #name))
#else
#define CALL(name) name
#endif

static ncclComm_t start(int rank, const char *name)
{
	ncclConfig_t config = {.size = sizeof(config), .magic = 0xcafebeef, .name = name};
	ncclUniqueId id;
	ncclComm_t comm;

	CALL(ncclGetUniqueId)(&id);
	if (name)
		CALL(ncclCommInitRankConfig)(&comm, 4, id, rank, &config);
	else
		CALL(ncclCommInitRank)(&comm, 4, id, rank);
	return comm;
}

static void collectives(int rank)
{
	ncclComm_t comm = start(rank, "everyone");
	char data[64];

	CALL(ncclAllReduce)(data, data, 100, ncclFloat32, 0, comm, STREAM);
	CALL(ncclAllGather)(data, data, 100, ncclFloat64, comm, STREAM);
	CALL(ncclReduceScatter)(data, data, 10, ncclInt8, 0, comm, STREAM);
	CALL(ncclAlltoAll)(data, data, 10, ncclInt8, comm, STREAM);
	CALL(ncclBroadcast)(data, data, 10, ncclInt8, 1, comm, STREAM);
	CALL(ncclReduce)(data, data, 10, ncclInt8, 2, 1, comm, STREAM);
	CALL(ncclGather)(data, data, 10, ncclInt8, 1, comm, STREAM);
	CALL(ncclScatter)(data, data, 10, ncclInt8, 1, comm, STREAM);
	CALL(ncclCommDestroy)(comm);
}

static void groups(int rank)
{
	ncclComm_t comm = start(rank, NULL), half, all[2];
	char data[64];

	CALL(ncclGroupStart)();
	CALL(ncclGroupStart)();
	CALL(ncclSend)(data, 10, ncclFloat32, (rank + 1) % 4, comm, STREAM);
	CALL(ncclGroupEnd)();
	CALL(ncclRecv)(data, 10, ncclFloat32, (rank + 3) % 4, comm, STREAM);
	CALL(ncclCommSplit)(comm, rank % 2, 0, &half, NULL);
	CALL(ncclGroupEnd)();
	CALL(ncclSend)(data, 1, ncclInt8, 0, comm, STREAM);
	CALL(ncclAllReduce)(data, data, 1, ncclFloat32, 0, half, STREAM);
	CALL(ncclCommInitAll)(all, 2, NULL);
	CALL(ncclAllReduce)(data, data, 2, ncclFloat32, 0, all[1], STREAM);
	printf("failed %s\n", CALL(ncclGetErrorString)(CALL(ncclAllReduce)(
				      data, data, 1, ncclFloat32, 0, NULL, STREAM)));
}

static void gemm(void)
{
	const float alpha = 1.5f, beta = 0.5f;
	void *handle = NULL;
	float data[1];

	CALL(cublasCreate_v2)(&handle);
	CALL(cublasSetStream_v2)(handle, STREAM);
	CALL(cublasSgemm_v2)(handle, 0, 1, 11, 12, 13, &alpha, data, 14, data, 15, &beta, data, 16);
	printf("bad sizes %d\n", CALL(cublasSgemm_v2)(handle, 0, 1, -1, 12, 13, &alpha, data, 14,
						      data, 15, &beta, data, 16));
}

#ifdef BY_NAME
/* What is there is found as without Kymo, by any of the ways to ask. */
static void lookups(void)
{
	int before = dlsym(RTLD_DEFAULT, "ncclAllReduce") != NULL;
	int error = dlerror() != NULL;
	int there = dlsym(library(), "ncclAllReduce") != NULL;
	int not_there = dlsym(library(), "ncclParamBind") != NULL;
	int error_again = dlerror() != NULL;

	printf("before %d, error %d, there %d, not there %d, error %d, of the C library %d\n",
	       before, error, there, not_there, error_again,
	       dlsym(RTLD_NEXT, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
}
#endif

int main(int argc, char **argv)
{
	const char *scene = argv[1];
	int rank = argc > 2 ? atoi(argv[2]) : 0;

	if (strcmp(scene, "collectives") == 0)
		collectives(rank);
	else if (strcmp(scene, "groups") == 0)
		groups(rank);
	else if (strcmp(scene, "gemm") == 0)
		gemm();
#ifdef BY_NAME
	else if (strcmp(scene, "lookups") == 0)
		lookups();
#endif
	return 0;
}
