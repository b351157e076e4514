/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libfabric backend. A program calls libfabric through tables of functions that its objects
 * point to; each object that it opens gets copies of them with functions of ours in place of those
 * that are traced. A provider may put another table into an endpoint when the endpoint is changed
 * (bind, control, setopt): it is looked at again after those calls.
 *
 * Invariants. A copy belongs to one object, and lives until that is closed; by libfabric's rules
 * nobody is in a call of the object then. What a copy has beyond our headers' tables is the
 * provider's own.
 */
#ifndef CAPTURE_LIBFABRIC_LIBFABRIC_H
#define CAPTURE_LIBFABRIC_LIBFABRIC_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "core/capture.h"
#include "core/activity/comm.h"

/* ---- ops (describe.c) ---- */

/* name, fields, flags */
#define FABRIC_OPS(X)                                                                              \
	X(fi_fabric, OPENED, KYMO_OP_MINIMAL)                                                      \
	X(fi_domain, OPENED, KYMO_OP_MINIMAL)                                                      \
	X(fi_endpoint, OPENED, KYMO_OP_MINIMAL)                                                    \
	X(fi_cq_open, OPENED, KYMO_OP_MINIMAL)                                                     \
	X(fi_mr_reg, REGISTERED, 0)                                                                \
	X(fi_mr_regv, REGISTERED, 0)                                                               \
	X(fi_mr_regattr, REGISTERED, 0)                                                            \
	X(fi_close, CLOSED, KYMO_OP_MINIMAL)                                                       \
	X(fi_cq_read, READ, KYMO_OP_CHATTY)                                                        \
	X(fi_cq_readfrom, READ, KYMO_OP_CHATTY)                                                    \
	X(fi_cq_sread, READ, KYMO_OP_WAITS)                                                        \
	X(fi_cq_sreadfrom, READ, KYMO_OP_WAITS)                                                    \
	X(fi_cq_readerr, READ, 0)                                                                  \
	X(fi_recv, TRANSFER, 0)                                                                    \
	X(fi_recvv, TRANSFER, 0)                                                                   \
	X(fi_recvmsg, TRANSFER, 0)                                                                 \
	X(fi_send, TRANSFER, 0)                                                                    \
	X(fi_sendv, TRANSFER, 0)                                                                   \
	X(fi_sendmsg, TRANSFER, 0)                                                                 \
	X(fi_inject, TRANSFER, 0)                                                                  \
	X(fi_senddata, TRANSFER, 0)                                                                \
	X(fi_injectdata, TRANSFER, 0)                                                              \
	X(fi_trecv, TRANSFER, 0)                                                                   \
	X(fi_trecvv, TRANSFER, 0)                                                                  \
	X(fi_trecvmsg, TRANSFER, 0)                                                                \
	X(fi_tsend, TRANSFER, 0)                                                                   \
	X(fi_tsendv, TRANSFER, 0)                                                                  \
	X(fi_tsendmsg, TRANSFER, 0)                                                                \
	X(fi_tinject, TRANSFER, 0)                                                                 \
	X(fi_tsenddata, TRANSFER, 0)                                                               \
	X(fi_tinjectdata, TRANSFER, 0)                                                             \
	X(fi_read, TRANSFER, 0)                                                                    \
	X(fi_readv, TRANSFER, 0)                                                                   \
	X(fi_readmsg, TRANSFER, 0)                                                                 \
	X(fi_write, TRANSFER, 0)                                                                   \
	X(fi_writev, TRANSFER, 0)                                                                  \
	X(fi_writemsg, TRANSFER, 0)                                                                \
	X(fi_inject_write, TRANSFER, 0)                                                            \
	X(fi_writedata, TRANSFER, 0)                                                               \
	X(fi_inject_writedata, TRANSFER, 0)                                                        \
	X(fi_domain2, FLAGGED, KYMO_OP_MINIMAL)                                                    \
	X(fi_endpoint2, FLAGGED, KYMO_OP_MINIMAL)

enum {
#define FABRIC_OP(name, fields, flags) FABRIC_##name,
	FABRIC_OPS(FABRIC_OP)
#undef FABRIC_OP
		FABRIC_COUNT,
	FABRIC_FIRST_TRANSFER = FABRIC_fi_recv,
	FABRIC_LAST_TRANSFER = FABRIC_fi_inject_writedata
};

#define FABRIC_FIELDS 5u /* of an op at most */

/* Arguments of a call, in the order of its fields. */
struct fabric_call {
	struct cap_frame *frame; /* NULL: not traced */
	bool nested; /* libfabric calls itself through the tables of the program's object: it is no
			call */
	unsigned op;
	uint64_t values[FABRIC_FIELDS];
};

/* Registers the domain. False: nothing is traced. */
bool fabric_known(void);
const kymo_op_desc_t *fabric_op(unsigned op, struct cap_op **cap);

/* encode.c: before the real function, after it, and when all is done; `c` has op, and values by
 * fabric_leave(). */
void fabric_enter(struct fabric_call *c, const void *caller, const void *sp);
void fabric_leave(struct fabric_call *c, int64_t status);
void fabric_done(struct fabric_call *c);

#define FABRIC_ENTER(c) fabric_enter(c, __builtin_return_address(0), cap_sp())

/* ---- objects (objects.c) ---- */

struct fabric_object;

/* Copy of a table of functions; what the object points to is `ops`. */
struct fabric_table {
	const void *real;
	void **at; /* where the object points to its table */
	struct fabric_object *object;
	_Alignas(max_align_t) char ops[];
};

enum { TABLE_FID, TABLE_OPS, TABLE_MR, TABLE_MSG = TABLE_MR, TABLE_RMA, TABLE_TAGGED, TABLES };

struct fabric_object {
	struct fabric_table *tables[TABLES];
	char provider[64];
	/* Of endpoints: */
	uint32_t communicator;
	uint64_t caps, transmit_flags, receive_flags;  /* flags: of calls that take none */
	const struct fid_cq *transmit_cq, *receive_cq; /* NULL: not known, or none */
	bool transmit_selective, receive_selective,
		shared; /* shared: endpoints receive through it */
	/* Of completion queues: */
	enum fi_cq_format format; /* of the queue */
	bool narrow;              /* the program asked for less, of which it gets no more */
};

/* The table that `ops_pointer` of an object is a copy of, and whose the copy is. */
#define FABRIC_TABLE(ops_pointer)                                                                  \
	((struct fabric_table *)((char *)(ops_pointer)-offsetof(struct fabric_table, ops)))
#define FABRIC_REAL(ops_pointer)   ((__typeof__(ops_pointer))FABRIC_TABLE(ops_pointer)->real)
#define FABRIC_OBJECT(ops_pointer) (FABRIC_TABLE(ops_pointer)->object)

/* Copies the table at `*at`, which begins with its size, and puts the copy in its place. NULL: it
 * stays. */
void *fabric_copy(struct fabric_object *object, unsigned which, void *at);

/* The copy has that function, of a provider's table that may be shorter than ours: ours takes its
 * place. */
#define FABRIC_REPLACE(ops_pointer, member, function)                                              \
	do {                                                                                       \
		__typeof__(ops_pointer) table_ = (ops_pointer);                                    \
		if (table_ && table_->size > offsetof(__typeof__(*table_), member) &&              \
		    table_->member)                                                                \
			table_->member = (function);                                               \
	} while (0)

/* Put the functions of ours into a copy. */
void fabric_replace_msg(struct fi_ops_msg *ops);
void fabric_replace_tagged(struct fi_ops_tagged *ops);
void fabric_replace_rma(struct fi_ops_rma *ops);
/* An object's table of its own: fi_close() is ours. */
struct fabric_object *fabric_object_new(struct fid *fid, const char *provider);

/* queue.c */
int fabric_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		   void *context);

/* ---- transfers (work.c) ---- */

struct fabric_transfer {
	struct fabric_call call;
	unsigned comm; /* COMM_OP_* */
	bool receives, injected, has_flags;
	struct fid_ep *ep;
	struct fabric_object *object;
	void *context;
	uint64_t bytes, flags;
	fi_addr_t peer;
	uint64_t tag;
	bool has_tag;
	bool wanted;                    /* its record is to be written */
	struct comm_transfer record;    /* of one that is over with the call */
	struct fabric_pending *pending; /* NULL: it is; else until its completion is read */
	uint64_t number;                /* of that */
};

/* Before the real function, as its completion may be read before it returns; and after it. */
void fabric_transfer_begin(struct fabric_transfer *t, const void *caller, const void *sp);
ssize_t fabric_transfer_end(struct fabric_transfer *t, ssize_t status);

#define FABRIC_BEGIN(t) fabric_transfer_begin(t, __builtin_return_address(0), cap_sp())

static inline uint64_t fabric_iov_bytes(const struct iovec *iov, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; iov && i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* A completion that was read from `cq`. */
struct fabric_completion {
	void *context;
	uint64_t flags, bytes;
	fi_addr_t source; /* FI_ADDR_NOTAVAIL: not told */
	bool told;        /* flags and bytes are there */
	bool failed;
	uint64_t read_by; /* the call, 0: not recorded */
};
void fabric_completed(const struct fid_cq *cq, const struct fabric_completion *c);
/* The endpoint goes: what is under way of it will not be seen to complete. */
void fabric_forget(const struct fabric_object *object);
void fabric_work_fork_child(void);

/* Defines the endpoint for records of messages. */
uint32_t fabric_define_endpoint(const char *provider);

#endif
