/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activity domain "comm": bytes exchanged with peers. A record spans the transfer as this
 * process sees it: a blocking call, or from the call that started it to the one that saw it
 * complete (model/comm.rec).
 */
#ifndef CORE_ACTIVITY_COMM_H
#define CORE_ACTIVITY_COMM_H

#include <stdbool.h>

#include "core/capture.h"
#include "record/fields.h"

extern struct cap_op comm_ops[COMM_OPS];

/* Registers the domain; as often as one likes. */
bool comm_register(void);

/* Somebody wants messages that calls of this op start. */
bool comm_wanted_of(const struct cap_op *call);

/* What a record says. */
struct comm_transfer {
	unsigned op; /* COMM_OP_* */
	enum comm_state state;
	bool has_submission; /* of one that completes later: what was so when it was started */
	struct cap_submission submission;
	uint64_t correlation, completed_by;
	uint64_t excluded; /* buffers that it does not go into */
	uint64_t start;    /* tick */
	uint32_t communicator, datatype;
	int32_t peer, tag;
	uint64_t sent, received, request;
	uint64_t probe; /* call that took the message before, of a receive */
	uint32_t partitions;
};

/* Writes the record of a transfer that ended at the tick `end`, and ends its submission. */
void comm_write(struct comm_transfer *t, uint64_t end);

#endif
