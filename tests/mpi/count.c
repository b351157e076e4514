/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a program that nobody here wrote gives to MPI, independently of Kymo: preloaded, it
 * stands before the functions that move bytes, under both their names (Fortran bindings may call
 * either). At MPI_Finalize each rank writes its counts into the file COUNT_OUT.RANK:
 *
 *   operation peer messages sent received          peer: rank of the world, -1: none, or all
 *
 * What is sent is what others receive, so receives are not counted. Functions that are not here are
 * not counted: a recording then has more, and the comparison fails.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEND, COLLECTIVE, PUT, GET, ACCUMULATE, KINDS, RANKS_MAX = 64 };

static const char *const names[KINDS] = {"send", "collective", "put", "get", "accumulate"};
static struct {
	long messages, sent, received;
} counts[KINDS][RANKS_MAX + 1];
static __thread int depth; /* MPI may call its own functions */

static long bytes(long count, MPI_Datatype type)
{
	int size = 0;

	PMPI_Type_size(type, &size);
	return count * size;
}

static int world_of(MPI_Group group, int rank)
{
	MPI_Group world;
	int result = -1;

	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_translate_ranks(group, 1, &rank, world, &result);
	PMPI_Group_free(&world);
	PMPI_Group_free(&group);
	return result;
}

static int world(MPI_Comm comm, int rank)
{
	MPI_Group group;
	int inter = 0;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_group(comm, &group);
	else
		PMPI_Comm_group(comm, &group);
	return world_of(group, rank);
}

static int world_win(MPI_Win win, int rank)
{
	MPI_Group group;

	PMPI_Win_get_group(win, &group);
	return world_of(group, rank);
}

static void add(int kind, int peer, long sent, long received)
{
	counts[kind][peer + 1].messages++;
	counts[kind][peer + 1].sent += sent;
	counts[kind][peer + 1].received += received;
}

static void sending(int count, MPI_Datatype type, int to, MPI_Comm comm)
{
	if (to != MPI_PROC_NULL)
		add(SEND, world(comm, to), bytes(count, type), 0);
}

static int is_root(MPI_Comm comm, int root)
{
	int rank;

	PMPI_Comm_rank(comm, &rank);
	return rank == root;
}

static int ranks(MPI_Comm comm)
{
	int n;

	PMPI_Comm_size(comm, &n);
	return n;
}

static long sum(const int *counts_of, MPI_Comm comm)
{
	long all = 0;

	for (int i = 0; i < ranks(comm); i++)
		all += counts_of[i];
	return all;
}

static long own(const int *counts_of, MPI_Comm comm)
{
	int rank;

	PMPI_Comm_rank(comm, &rank);
	return counts_of[rank];
}

/* What goes to or comes from a root: `part` here, `whole` there. */
static void rooted(int root, MPI_Comm comm, long sent, long received)
{
	add(COLLECTIVE, world(comm, root), sent, received);
}

static void symmetric(long sent, long received)
{
	add(COLLECTIVE, -1, sent, received);
}

static void write_counts(void)
{
	const char *path = getenv("COUNT_OUT");
	char name[4096];
	FILE *f;
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "%s.%d", path ? path : "counts", rank);
	f = fopen(name, "w");
	for (int k = 0; f && k < KINDS; k++)
		for (int p = 0; p <= RANKS_MAX; p++)
			if (counts[k][p].messages)
				fprintf(f, "%s %d %ld %ld %ld\n", names[k], p - 1,
					counts[k][p].messages, counts[k][p].sent,
					counts[k][p].received);
	if (f)
		fclose(f);
}

#define WRAP_NAME(name, parameters, arguments, counting)                                           \
	int name parameters                                                                        \
	{                                                                                          \
		static int(*next) parameters;                                                      \
		int result;                                                                        \
                                                                                                   \
		if (!next)                                                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name);                                 \
		if (depth++ == 0)                                                                  \
			counting;                                                                  \
		result = next arguments;                                                           \
		depth--;                                                                           \
		return result;                                                                     \
	}
#define WRAP(name, parameters, arguments, counting)                                                \
	WRAP_NAME(MPI_##name, parameters, arguments, counting)                                     \
	WRAP_NAME(PMPI_##name, parameters, arguments, counting)

#define SENDS(name)                                                                                \
	WRAP(name, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),            \
	     (b, n, t, to, tag, c), sending(n, t, to, c))
#define ISENDS(name)                                                                               \
	WRAP(name,                                                                                 \
	     (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),  \
	     (b, n, t, to, tag, c, r), sending(n, t, to, c))

SENDS(Send)
SENDS(Ssend)
SENDS(Rsend)
ISENDS(Isend)
ISENDS(Issend)
WRAP(Sendrecv,
     (const void *s, int n, MPI_Datatype t, int to, int stag, void *r, int rn, MPI_Datatype rt,
      int from, int rtag, MPI_Comm c, MPI_Status *st),
     (s, n, t, to, stag, r, rn, rt, from, rtag, c, st), sending(n, t, to, c))
WRAP(Barrier, (MPI_Comm c), (c), symmetric(0, 0))
WRAP(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c),
     rooted(root, c, is_root(c, root) ? bytes(n, t) : 0, is_root(c, root) ? 0 : bytes(n, t)))
WRAP(Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
     (s, r, n, t, op, root, c), rooted(root, c, bytes(n, t), is_root(c, root) ? bytes(n, t) : 0))
WRAP(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     (s, r, n, t, op, c), symmetric(bytes(n, t), bytes(n, t)))
WRAP(Scan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     (s, r, n, t, op, c), symmetric(bytes(n, t), bytes(n, t)))
WRAP(Gather,
     (const void *s, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     (s, n, t, r, rn, rt, root, c),
     rooted(root, c, s == MPI_IN_PLACE ? bytes(rn, rt) : bytes(n, t),
	    is_root(c, root) ? bytes(rn, rt) * ranks(c) : 0))
WRAP(Gatherv,
     (const void *s, int n, MPI_Datatype t, void *r, const int *rn, const int *at, MPI_Datatype rt,
      int root, MPI_Comm c),
     (s, n, t, r, rn, at, rt, root, c),
     rooted(root, c, s == MPI_IN_PLACE ? bytes(own(rn, c), rt) : bytes(n, t),
	    is_root(c, root) ? bytes(sum(rn, c), rt) : 0))
WRAP(Scatter,
     (const void *s, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     (s, n, t, r, rn, rt, root, c),
     rooted(root, c, is_root(c, root) ? bytes(n, t) * ranks(c) : 0,
	    r == MPI_IN_PLACE ? bytes(n, t) : bytes(rn, rt)))
WRAP(Scatterv,
     (const void *s, const int *n, const int *at, MPI_Datatype t, void *r, int rn, MPI_Datatype rt,
      int root, MPI_Comm c),
     (s, n, at, t, r, rn, rt, root, c),
     rooted(root, c, is_root(c, root) ? bytes(sum(n, c), t) : 0,
	    r == MPI_IN_PLACE ? bytes(own(n, c), t) : bytes(rn, rt)))
WRAP(Allgather,
     (const void *s, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
     (s, n, t, r, rn, rt, c),
     symmetric(s == MPI_IN_PLACE ? bytes(rn, rt) : bytes(n, t), bytes(rn, rt) * ranks(c)))
WRAP(Allgatherv,
     (const void *s, int n, MPI_Datatype t, void *r, const int *rn, const int *at, MPI_Datatype rt,
      MPI_Comm c),
     (s, n, t, r, rn, at, rt, c),
     symmetric(s == MPI_IN_PLACE ? bytes(own(rn, c), rt) : bytes(n, t), bytes(sum(rn, c), rt)))
WRAP(Alltoall, (const void *s, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
     (s, n, t, r, rn, rt, c),
     symmetric((s == MPI_IN_PLACE ? bytes(rn, rt) : bytes(n, t)) * ranks(c),
	       bytes(rn, rt) * ranks(c)))
WRAP(Alltoallv,
     (const void *s, const int *n, const int *at, MPI_Datatype t, void *r, const int *rn,
      const int *rat, MPI_Datatype rt, MPI_Comm c),
     (s, n, at, t, r, rn, rat, rt, c),
     symmetric(s == MPI_IN_PLACE ? bytes(sum(rn, c), rt) : bytes(sum(n, c), t),
	       bytes(sum(rn, c), rt)))
WRAP(Reduce_scatter, (const void *s, void *r, const int *n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     (s, r, n, t, op, c), symmetric(bytes(sum(n, c), t), bytes(own(n, c), t)))
WRAP(Put,
     (const void *o, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt,
      MPI_Win w),
     (o, n, t, to, at, tn, tt, w), add(PUT, world_win(w, to), bytes(n, t), 0))
WRAP(Get,
     (void *o, int n, MPI_Datatype t, int from, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Win w),
     (o, n, t, from, at, tn, tt, w), add(GET, world_win(w, from), 0, bytes(n, t)))
WRAP(Accumulate,
     (const void *o, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Op op,
      MPI_Win w),
     (o, n, t, to, at, tn, tt, op, w), add(ACCUMULATE, world_win(w, to), bytes(n, t), 0))
WRAP(Get_accumulate,
     (const void *o, int n, MPI_Datatype t, void *r, int rn, MPI_Datatype rt, int to, MPI_Aint at,
      int tn, MPI_Datatype tt, MPI_Op op, MPI_Win w),
     (o, n, t, r, rn, rt, to, at, tn, tt, op, w),
     add(ACCUMULATE, world_win(w, to), bytes(n, t), bytes(rn, rt)))
WRAP(Fetch_and_op,
     (const void *o, void *r, MPI_Datatype t, int to, MPI_Aint at, MPI_Op op, MPI_Win w),
     (o, r, t, to, at, op, w), add(ACCUMULATE, world_win(w, to), bytes(1, t), bytes(1, t)))
WRAP(Init, (int *argc, char ***argv), (argc, argv), (void)0)
WRAP(Init_thread, (int *argc, char ***argv, int wanted, int *level), (argc, argv, wanted, level),
     (void)0)
WRAP(Finalize, (void), (), write_counts())
