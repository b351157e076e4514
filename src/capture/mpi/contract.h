/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the three parts of the MPI backend know of each other. They are built together and check it
 * by size and number of functions when they meet.
 *
 *   libkymo-mpi.so              the door: preloaded, exports the functions of MPI as thunks
 *   libkymo.so.1                the host: records, communicators, requests; knows no mpi.h
 *   mpi/libkymo-mpi-NAME.so     a module: wrappers that know one implementation's types
 *
 * Handles travel as 64-bit values, whatever they are in an implementation.
 */
#ifndef CAPTURE_MPI_CONTRACT_H
#define CAPTURE_MPI_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi_ops.h"

#define MPI_CONTRACT 4u
#define MPI_FEW      64u /* requests or statuses that need no memory of their own */
#define MPI_LETTER   48  /* bytes of what is posted */

struct cap_slot;
struct cap_frame;

/* A traced call, on the stack of its wrapper. */
struct mpi_call {
	struct cap_frame *frame;
	uint64_t *v; /* arguments in order, then a result that is no error code */
	uint32_t op;
	uint32_t count;  /* requests saved */
	uint64_t handle; /* of what the call takes away, as it was before */
	uint64_t probe;  /* call that took the message which this one receives */
	uint64_t *saved; /* requests as they were before: `few`, or memory of their own */
	uint64_t few[MPI_FEW];
};

/* What a module may call. */
struct mpi_host {
	/* False: not traced. `caller` and `sp` are the wrapper's return address and frame. */
	bool (*enter)(struct mpi_call *c, uint32_t op, uint64_t *v, const void *caller,
		      const void *sp);
	void (*leave)(struct mpi_call *c, int result);
};

struct mpi_status {
	int source, tag;
	bool cancelled;
	uint64_t bytes;
};

/* Group of a communicator, window or file, as ranks of MPI_COMM_WORLD; UINT32_MAX: not in it. */
enum mpi_object { MPI_OBJECT_COMM, MPI_OBJECT_WINDOW, MPI_OBJECT_FILE };

struct mpi_object_info {
	int rank, size; /* of the calling process, of the local group */
	int remote;     /* size of the remote group, -1: none */
	char name[128];
};

/* A way to exchange bytes with other ranks: over a communicator that nobody else uses. */
struct mpi_private {
	int rank, size;
};

struct mpi_description; /* backend.h */

struct mpi_module {
	uint32_t contract;    /* MPI_CONTRACT */
	uint32_t ops;         /* MPI_OP_COUNT */
	const char *name;     /* "Open MPI" */
	uint32_t handle_size; /* bytes */
	int32_t proc_null, any_source, root, undefined;
	uint64_t in_place, request_null, comm_null, world; /* valid after bind() */
	const struct mpi_host *host;
	const struct mpi_description *description;
	void *const *wrappers; /* by op; NULL: this implementation has it not */
	void **next;           /* by op: its PMPI function; filled before bind() */
	/* `find` gives a symbol of the implementation. False: it is none that this module knows. */
	bool (*bind)(const struct mpi_host *host, void *(*find)(const char *name));
	int64_t (*type_size)(uint64_t type); /* -1: none */
	void (*type_name)(uint64_t type, char name[128]);
	bool (*query)(enum mpi_object what, uint64_t handle, struct mpi_object_info *out);
	/* Members of the local or remote group; `n` as query() told. */
	bool (*members)(enum mpi_object what, uint64_t handle, bool remote, uint32_t *out, int n);
	void (*status)(const void *statuses, uint32_t index, struct mpi_status *out);
	bool (*neighbors)(uint64_t comm, uint32_t *in, uint32_t *out);
	int (*error_class)(int code);
	void (*library)(char out[256], int *thread_level);
	/* The private communicator: collective over MPI_COMM_WORLD. */
	bool (*private_open)(struct mpi_private *out);
	void (*private_close)(void);
	bool (*send)(int to, int tag, const void *data, int bytes);
	bool (*receive)(int from, int tag, void *data, int bytes);
	/*
	 * The same without ever waiting, for MPI_LETTER bytes: false where there is no room for another
	 * one on its way, and where none has come.
	 */
	bool (*post)(int to, int tag, const void *letter);
	bool (*take)(int from, int tag, void *letter);
	/* Waits until all that was posted is on its way. */
	void (*settle)(void);
};

/* What the door tells. */
struct mpi_door {
	uint32_t contract, ops;
	struct cap_slot *slots;          /* two for each op: MPI_X, PMPI_X */
	const char *const *names;        /* "PMPI_X" */
	void *(*next)(const char *name); /* the definition after the door's own, or NULL */
	/* Where the thread's latest call of a Fortran function came from. */
	const void **(*fortran_caller)(void);
};

#endif
