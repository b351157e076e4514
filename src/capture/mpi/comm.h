/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activity domain "comm": bytes exchanged with peers. A record spans the transfer as this
 * process sees it: a blocking call, or from the call that started it to the one that saw it
 * complete. Fields are appended, never renamed.
 */
#ifndef CAPTURE_MPI_COMM_H
#define CAPTURE_MPI_COMM_H

#include <stdbool.h>

#include "core/capture.h"

enum {
	COMM_CORRELATION,  /* REF call: the call that started it */
	COMM_COMPLETED_BY, /* REF call: the call that saw it complete; 0: the same */
	COMM_COMMUNICATOR, /* REF communicator (or window, or file); 0: not known */
	COMM_PEER,         /* rank in the world: other side, root, target; -1: none */
	COMM_TAG,          /* -1: none */
	COMM_SENT,         /* bytes this process gave: sent, put, written */
	COMM_RECEIVED,     /* bytes it got */
	COMM_DATATYPE,     /* REF string: name of the type of what is sent, else received */
	COMM_REQUEST,      /* number of the transfer's request in its process; 0: blocking */
	COMM_STATE,        /* ENUM comm_state */
	COMM_FIELDS
};

enum {
	COMM_OP_SEND,
	COMM_OP_RECEIVE,
	COMM_OP_COLLECTIVE,
	COMM_OP_PUT,
	COMM_OP_GET,
	COMM_OP_ACCUMULATE,
	COMM_OP_READ,
	COMM_OP_WRITE,
	COMM_OPS
};

enum comm_state {
	COMM_COMPLETED = 0,
	COMM_CANCELLED = 1,
	COMM_FREED = 2, /* the program let the request go before it was seen complete */
	COMM_LEFT = 3   /* under way when MPI was finalised */
};

extern struct cap_op comm_ops[COMM_OPS];

/* Registers the domain; as often as one likes. */
bool comm_register(void);

/* Somebody wants messages that calls of this op start. */
bool comm_wanted_of(const struct cap_op *call);

/* What a record says. */
struct comm_transfer {
	unsigned op; /* COMM_OP_* */
	enum comm_state state;
	bool has_origin; /* of one that completes later: what was so when it was started */
	struct cap_origin origin;
	uint64_t correlation, completed_by;
	uint64_t excluded; /* buffers that it does not go into */
	uint64_t start;    /* tick */
	uint32_t communicator, datatype;
	int32_t peer, tag;
	uint64_t sent, received, request;
};

/* Writes the record of a transfer that ended at the tick `end`, and ends its origin. */
void comm_write(struct comm_transfer *t, uint64_t end);

#endif
