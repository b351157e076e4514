/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the MPI backend share: the host's side, which knows no implementation's types.
 */
#ifndef CAPTURE_MPI_BACKEND_H
#define CAPTURE_MPI_BACKEND_H

#include "core/activity/comm.h"
#include "capture/mpi/contract.h"
#include "core/capture.h"

/* ---- description, generated ----------------------------------------------------------------- */

enum mpi_how { /* what an argument's value becomes in a record */
	       MPI_ARG_VALUE,
	       MPI_ARG_DEREF, /* what it points to, after the call */
	       MPI_ARG_DEREF_HANDLE,
	       MPI_ARG_STRING,
	       MPI_ARG_STRING_OUT,
	       MPI_ARG_INTS, /* `count` of them, of `size` bytes */
	       MPI_ARG_HANDLES
};
enum mpi_when { MPI_ALWAYS, MPI_AT_ROOT, MPI_NOT_IN_PLACE };
#define MPI_COUNT_OF_COMM 0xffu /* as many as the communicator has (remote) members */

struct mpi_arg {
	uint8_t how, size;
	uint8_t count; /* argument that says how many */
	uint8_t when;  /* only then may it be read */
};

enum mpi_class { /* what a function does, as far as traffic is concerned */
		 MPI_CLASS_NONE,
		 MPI_CLASS_INIT,
		 MPI_CLASS_SESSION,
		 MPI_CLASS_FINALIZE,
		 MPI_CLASS_CONTROL,
		 MPI_CLASS_SEND,
		 MPI_CLASS_SEND_INIT,
		 MPI_CLASS_RECV,
		 MPI_CLASS_RECV_INIT,
		 MPI_CLASS_SENDRECV,
		 MPI_CLASS_BARRIER,
		 MPI_CLASS_BCAST,
		 MPI_CLASS_REDUCE,
		 MPI_CLASS_ALLREDUCE,
		 MPI_CLASS_GATHER,
		 MPI_CLASS_SCATTER,
		 MPI_CLASS_ALLGATHER,
		 MPI_CLASS_ALLTOALL,
		 MPI_CLASS_REDUCE_SCATTER,
		 MPI_CLASS_REDUCE_SCATTER_BLOCK,
		 MPI_CLASS_NEIGHBOR_ALLGATHER,
		 MPI_CLASS_NEIGHBOR_ALLTOALL,
		 MPI_CLASS_PUT,
		 MPI_CLASS_GET,
		 MPI_CLASS_ACCUMULATE,
		 MPI_CLASS_FETCH,
		 MPI_CLASS_READ,
		 MPI_CLASS_WRITE,
		 MPI_CLASS_WAIT,
		 MPI_CLASS_WAITALL,
		 MPI_CLASS_WAITANY,
		 MPI_CLASS_WAITSOME,
		 MPI_CLASS_START,
		 MPI_CLASS_STARTALL,
		 MPI_CLASS_REQUEST_FREE,
		 MPI_CLASS_PROBE,
		 MPI_CLASS_TYPE_CHANGED,
		 MPI_CLASS_COMM_NEW,
		 MPI_CLASS_COMM_FREE,
		 MPI_CLASS_COMM_NAME,
		 MPI_CLASS_WIN_NEW,
		 MPI_CLASS_WIN_FREE,
		 MPI_CLASS_WIN_NAME,
		 MPI_CLASS_FILE_OPEN,
		 MPI_CLASS_FILE_CLOSE,
		 MPI_CLASS_FREE, /* of what no message refers to */
		 MPI_CLASSES
};

enum mpi_role {
	MPI_ROLE_COMM,
	MPI_ROLE_DEST,
	MPI_ROLE_SOURCE,
	MPI_ROLE_ROOT,
	MPI_ROLE_TAG,
	MPI_ROLE_TAG2,
	MPI_ROLE_COUNT,
	MPI_ROLE_TYPE,
	MPI_ROLE_COUNT2,
	MPI_ROLE_TYPE2,
	MPI_ROLE_COUNTS,
	MPI_ROLE_COUNTS2,
	MPI_ROLE_TYPES,
	MPI_ROLE_TYPES2,
	MPI_ROLE_REQUEST,
	MPI_ROLE_STATUS,
	MPI_ROLE_REQUESTS,
	MPI_ROLE_STATUSES,
	MPI_ROLE_N,
	MPI_ROLE_FLAG,
	MPI_ROLE_INDEX,
	MPI_ROLE_OUTCOUNT,
	MPI_ROLE_INDICES,
	MPI_ROLE_WIN,
	MPI_ROLE_FILE,
	MPI_ROLE_SENDBUF,
	MPI_ROLE_RECVBUF,
	MPI_ROLE_NEW,
	MPI_ROLE_HANDLE,
	MPI_ROLE_PARTS,
	MPI_ROLE_MESSAGE,
	MPI_ROLES
};

/* Where a message's arguments are in the functions that nearly all messages are made by. */
enum mpi_plain { MPI_PLAIN_NOT, MPI_PLAIN_SEND, MPI_PLAIN_RECEIVE };
enum {
	MPI_PLAIN_COUNT = 1,
	MPI_PLAIN_TYPE,
	MPI_PLAIN_PEER,
	MPI_PLAIN_TAG,
	MPI_PLAIN_COMM,
	MPI_PLAIN_REQUEST,
	MPI_PLAIN_STATUS = MPI_PLAIN_REQUEST
};

struct mpi_info {
	const struct mpi_arg *args; /* one for each field */
	uint8_t fields;
	uint8_t group;           /* enum mpi_class */
	uint8_t plain;           /* enum mpi_plain */
	bool steers;             /* begins or ends MPI, or Kymo's recording */
	bool large;              /* arrays of counts have 8-byte elements */
	bool status;             /* the result is an error code */
	uint8_t role[MPI_ROLES]; /* argument + 1, 0: it has none */
};

/* In the modules, so that processes without MPI need not relocate them; the host's copies are set when
 * the door is opened. */
struct mpi_description {
	const struct mpi_info *infos; /* by op */
	const kymo_op_desc_t *ops;
	const kymo_domain_desc_t *domain;
};

extern const struct mpi_info *mpi_infos;
extern const kymo_op_desc_t *mpi_descs;

extern struct cap_op mpi_ops[MPI_OP_COUNT];
extern _Atomic bool mpi_moves[MPI_OP_COUNT]; /* somebody wants the messages of such calls */
extern const struct mpi_module *mpi_module;  /* NULL until bound */

static inline bool mpi_has(const struct mpi_info *info, enum mpi_role role)
{
	return info->role[role] != 0;
}

/* The argument of that role; 0 where there is none. */
static inline uint64_t mpi_arg(const struct mpi_call *c, const struct mpi_info *info,
			       enum mpi_role role)
{
	return info->role[role] ? c->v[info->role[role] - 1] : 0;
}

/* The handle at an address, as wide as the implementation's handles are. */
static inline uint64_t mpi_handle_at(uint64_t address, uint32_t index)
{
	const char *p = (const char *)(uintptr_t)address;
	uint32_t narrow;
	uint64_t wide;

	if (mpi_module->handle_size == 4) {
		memcpy(&narrow, p + 4 * (size_t)index, 4);
		return narrow;
	}
	memcpy(&wide, p + 8 * (size_t)index, 8);
	return wide;
}

static inline int mpi_int_at(uint64_t address, uint32_t index)
{
	int value;

	memcpy(&value, (const char *)(uintptr_t)address + sizeof(int) * (size_t)index,
	       sizeof(value));
	return value;
}

static inline uint64_t mpi_deref(uint64_t address, unsigned size)
{
	int64_t wide;
	int32_t narrow;

	if (!address)
		return 0;
	if (size == 4) {
		memcpy(&narrow, (const void *)(uintptr_t)address, 4);
		return (uint64_t)(int64_t)narrow;
	}
	memcpy(&wide, (const void *)(uintptr_t)address, 8);
	return (uint64_t)wide;
}

/* Of argument 0: the request that was waited for, or what was given back, not what is left of it. */
static inline uint64_t mpi_first_handle(const struct mpi_call *c, bool ok)
{
	if (c->count == 1)
		return c->saved[0];
	return ok && c->v[0] ? mpi_handle_at(c->v[0], 0) : 0;
}

static inline bool mpi_collective(const struct mpi_info *info)
{
	return info->group >= MPI_CLASS_BARRIER && info->group <= MPI_CLASS_REDUCE_SCATTER_BLOCK;
}

/* ---- call.c: what calls have that take no straight path --------------------------------------- */

/* Those saved before the call, and others at the address `at`. */
void mpi_put_handles(struct wire_enc *e, unsigned i, const struct mpi_call *c, uint64_t at,
		     size_t n);
/* All arguments one after the other, as the description says. `ok`: the call succeeded. */
struct wire_enc mpi_put_arguments(struct wire_enc e, const struct mpi_call *c,
				  const struct mpi_info *info, unsigned level, bool ok);
/* As those of struct mpi_host; `c` says no more than op and arguments. */
bool mpi_enter_any(struct mpi_call *c, uint32_t op, const void *caller, const void *sp);
void mpi_leave_any(struct mpi_call *c, const struct mpi_info *info, int result);
/* What is left to do when the end is stamped. */
void mpi_leave_rest(struct mpi_call *c, const struct mpi_info *info, int result, bool ok);

/* ---- objects.c ------------------------------------------------------------------------------ */

struct mpi_members { /* interned, kept for ever */
	uint32_t count;
	uint32_t *world; /* ranks of MPI_COMM_WORLD; NULL: 0, 1, 2, ... */
	uint64_t hash;
};

struct mpi_comm { /* one lifetime of a communicator, window or file; kept for ever */
	uint32_t id;
	int rank;
	const struct mpi_members *local;
	const struct mpi_members *remote; /* of intercommunicators, else NULL */
	uint64_t job_key;
};

#define MPI_BUCKETS 1024u

/* Nodes are never freed: handles are used again, so there are as many as were live at once. */
struct mpi_node {
	_Atomic uint64_t handle; /* 0: nothing is here yet */
	_Atomic uintptr_t value; /* 0: the handle is not valid now */
	struct mpi_node *_Atomic next;
};

/* The first node of a bucket lies in it: for most handles one cache line is all. */
struct mpi_map {
	struct mpi_node buckets[MPI_BUCKETS];
};

extern struct mpi_map mpi_maps[3], mpi_types; /* maps: by enum mpi_object */

static inline unsigned mpi_map_bucket(uint64_t handle)
{
	return (unsigned)((handle * 0x9e3779b97f4a7c15ull) >> 54);
}

static inline struct mpi_node *mpi_map_find(struct mpi_map *m, uint64_t handle)
{
	struct mpi_node *n = &m->buckets[mpi_map_bucket(handle)];

	while (n && atomic_load_explicit(&n->handle, memory_order_acquire) != handle)
		n = atomic_load_explicit(&n->next, memory_order_acquire);
	return n;
}

static inline uintptr_t mpi_map_get(struct mpi_map *m, uint64_t handle)
{
	struct mpi_node *n = mpi_map_find(m, handle);

	return n ? atomic_load_explicit(&n->value, memory_order_acquire) : 0;
}

const struct mpi_comm *mpi_comm_learn(enum mpi_object what, uint64_t handle);

/* The object behind a handle, defined at first sight; NULL: none. */
static inline const struct mpi_comm *mpi_comm_of(enum mpi_object what, uint64_t handle)
{
	const struct mpi_comm *c = (const struct mpi_comm *)mpi_map_get(&mpi_maps[what], handle);

	return cap_likely(c != NULL) ? c : mpi_comm_learn(what, handle);
}
/* The same of one that a call has just made, which all members call. */
void mpi_comm_made(enum mpi_object what, uint64_t handle, uint32_t parent);
/* Its handle is no longer valid, or means another object from now on. */
void mpi_comm_forget(enum mpi_object what, uint64_t handle);
/* It got a name. */
void mpi_comm_named(enum mpi_object what, uint64_t handle);
/* Rank in MPI_COMM_WORLD of a peer, -1: none. */
static inline int32_t mpi_world_rank(const struct mpi_comm *comm, int64_t rank)
{
	const struct mpi_members *m = comm ? (comm->remote ? comm->remote : comm->local) : NULL;

	if (!m || (uint64_t)rank >= m->count)
		return -1;
	return m->world ? (int32_t)m->world[rank] : (int32_t)rank;
}

struct mpi_type {
	int64_t size;  /* bytes */
	uint32_t name; /* DEF_STRING, 0: none */
};
/* Bytes and name in one word, so that a lookup is one load: name u24 | size + 1 u40. */
#define MPI_SIZE_BITS 40
uintptr_t mpi_type_learn(uint64_t handle);

/* Never fails; an unknown type has no size. */
static inline struct mpi_type mpi_type_of(uint64_t handle)
{
	uintptr_t v = mpi_map_get(&mpi_types, handle);

	if (cap_unlikely(!v))
		v = mpi_type_learn(handle);
	return (struct mpi_type){(int64_t)(v & ((1ull << MPI_SIZE_BITS) - 1)) - 1,
				 (uint32_t)(v >> MPI_SIZE_BITS)};
}
void mpi_type_forget(uint64_t handle);

/* The communicator of a message that was matched and not received yet. */
/* `probe`: the call that took it. */
void mpi_message_put(uint64_t handle, const struct mpi_comm *comm, uint64_t probe);
uintptr_t mpi_message_take(uint64_t handle, uint64_t *probe);

void mpi_objects_fork_child(void);

/* ---- traffic.c, requests.c ------------------------------------------------------------------ */

enum { /* comm_item.own */
       MPI_PERSISTENT = 1,
       MPI_ACTIVE = 2,
       MPI_FOLLOWED = 4 /* the call has started another one with the same request */
};

/* A transfer while it is under way: two cache lines with what requests.c adds. */
struct mpi_transfer {
	struct comm_item item;
	const struct mpi_comm *comm;
	uint64_t id; /* of the request, one for each use */
};

/* Corrects it by what was really received. */
void mpi_transfer_status(struct mpi_transfer *t, const struct mpi_status *s);

/* It gets an id. The handle is not that of no request. False: there is no memory. */
bool mpi_requests_add(uint64_t handle, const struct mpi_transfer *t);
/* What one of the following has given is not needed any more. */
void mpi_requests_release(uint64_t handle, struct mpi_transfer *t);
/*
 * The oldest active transfer of that handle, only one that the call `started` has started, if that is not 0;
 * or NULL. It is out, for the caller to release; of a persistent one, which becomes inactive, it is a copy
 * in `persistent`.
 */
struct mpi_transfer *mpi_requests_complete(uint64_t handle, uint64_t started,
					   struct mpi_transfer *persistent);
/* Many will be asked for in this order: `far` soon, `near` at once. */
void mpi_requests_expect(uint64_t far, uint64_t near);
void mpi_requests_start(uint64_t handle, uint64_t correlation, uint64_t start);
/* Request_free: whatever is left of it, for the caller to release; NULL: nothing. */
struct mpi_transfer *mpi_requests_drop(uint64_t handle);
/* Before MPI is finalised: writes what is still under way. */
void mpi_requests_leave(void);
void mpi_requests_fork_child(void);

/* What a call needs to remember of its arguments, and the records after it. */
void mpi_traffic_before(struct mpi_call *c, const struct mpi_info *info);
void mpi_traffic_after(struct mpi_call *c, const struct mpi_info *info, bool ok);

/* ---- job.c, clock.c ------------------------------------------------------------------------- */

/* After a collective call: may be an occasion to compare clocks. */
void mpi_job_after_collective(const struct mpi_call *c, const struct mpi_info *info);
/* Before and after MPI_Init, before MPI_Finalize (`f`: that call, NULL where nobody wants it). */
void mpi_job_before_init(void);
void mpi_job_after_init(bool world);
/* Instead of them, where MPI was initialised before Kymo came: clocks of ranks are not compared. */
void mpi_job_came_late(void);
void mpi_job_before_finalize(struct cap_frame *f);

#endif
