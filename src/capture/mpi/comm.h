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

/* Registers the domain. */
bool comm_register(void);

#endif
