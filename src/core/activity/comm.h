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

/* Somebody wants messages; messages that calls of this op start. */
bool comm_wanted(void);
bool comm_wanted_of(const struct cap_op *call);

/* A communicator, or what else messages are told apart by; `id` is from cap_new_id(). */
struct comm_definition {
	uint32_t id, parent, kind; /* COMMUNICATOR_* */
	const char *name;
	uint64_t key;    /* the same in all its members; 0: not known */
	uint64_t handle; /* 0: has none */
	/* Ranks of both groups as runs of first, count, stride (wire/defs.h); NULL: not known. */
	uint32_t size, remote_size;
	const void *members, *remote_members;
	size_t members_bytes, remote_members_bytes;
	uint32_t own_rank; /* + 1, where the process may be known by it; 0: not known */
};

/* May be defined again when more is known. */
void comm_define(const struct comm_definition *c);

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

/* The same in few bytes, for backends that keep many of them. */
struct comm_item {
	uint64_t correlation, start;
	union {
		uint64_t sent;
		uint64_t probe; /* of a receive */
	};
	uint64_t received;
	uint32_t communicator, datatype;
	int32_t peer, tag;
	uint32_t partitions;
	uint8_t op, state;
	bool has_submission;
	uint8_t own; /* the backend's */
	union {
		struct cap_submission submission; /* less the buffers that it does not go into */
		uint64_t excluded;                /* without one: these buffers */
	};
};

/*
 * What is started now by the call `f`: takes its submission (cap_submission_take(), but quicker where
 * nothing is out of the ordinary). Without one the moment at which it is written counts.
 */
void comm_item_submit(struct comm_item *t, const struct cap_frame *f, uint64_t excluded);
/* `by`: the call that saw it complete, 0: the one that started it. */
void comm_item_write(struct comm_item *t, uint64_t request, uint64_t by, uint64_t end);
/* It is never written. */
static inline void comm_item_drop(struct comm_item *t)
{
	if (t->has_submission)
		cap_submission_end(&t->submission);
	t->has_submission = false;
}

#endif
