/* SPDX-License-Identifier: Apache-2.0 */
/* A fake of NCCL: a library of its name whose communicators do nothing. */
#include <stdlib.h>

typedef struct {
	char internal[128];
} ncclUniqueId;

struct comm {
	int rank, size;
};

__attribute__((visibility("default"))) int ncclCommInitRank(void **comm, int ranks, ncclUniqueId id,
							    int rank);
__attribute__((visibility("default"))) int ncclCommCount(struct comm *comm, int *count);
__attribute__((visibility("default"))) int ncclCommUserRank(struct comm *comm, int *rank);

int ncclCommInitRank(void **comm, int ranks, ncclUniqueId id, int rank)
{
	struct comm *c = malloc(sizeof(*c));

	if (!c || id.internal[0] != id.internal[127])
		abort(); /* the id is passed by value: Kymo must leave it so */
	*c = (struct comm){rank, ranks};
	*comm = c;
	return 0;
}

int ncclCommCount(struct comm *comm, int *count)
{
	*count = comm->size;
	return 0;
}

int ncclCommUserRank(struct comm *comm, int *rank)
{
	*rank = comm->rank;
	return 0;
}
