/* SPDX-License-Identifier: Apache-2.0 */
/* Description of the domain "comm"; see comm.h. */
#include "core/context/context.h"
#include "core/activity/comm.h"

#include <pthread.h>

#include "core/capture.h"

struct cap_op comm_ops[COMM_OPS];

CAP_KNOWN_DOMAIN(comm, packed_describe(RECORD_PACKED, RECORD_DOMAIN_comm));
static const struct cap_domain_info info = {RECORD_DESCRIPTION(comm), .ops = comm_ops};

static bool registered;

static void register_once(void)
{
	struct cap_domain *domain;

	registered = cap_domain_register(&info, &domain) == KYMO_OK;
}

bool comm_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_once);
	return registered;
}

/* By a callback, or by a buffer that is not `excluded`. */
static bool wanted_beside(uint64_t excluded)
{
	for (unsigned i = 0; i < COMM_OPS; i++)
		if (atomic_load(&comm_ops[i].callbacks) ||
		    (atomic_load(&comm_ops[i].buffers) & ~excluded))
			return true;
	return false;
}

bool comm_wanted(void)
{
	return wanted_beside(0);
}

bool comm_wanted_of(const struct cap_op *call)
{
	return wanted_beside(atomic_load(&call->excluded));
}

void comm_define(const struct comm_definition *c)
{
	struct wire_def d;

	wire_def_init(&d, DEF_COMMUNICATOR);
	wire_def_u64(&d, c->id);
	wire_def_string(&d, c->name);
	wire_def_u64(&d, c->kind);
	wire_def_u64(&d, c->size);
	wire_def_bytes(&d, c->members, c->members_bytes);
	wire_def_u64(&d, c->parent);
	wire_def_u64(&d, c->key);
	wire_def_u64(&d, c->handle);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, c->remote_size);
	wire_def_bytes(&d, c->remote_members, c->remote_members_bytes);
	cap_define(&d);
}

/* Some buffers are to have it and others are not. False: nobody is. */
static bool exclude(struct comm_transfer *t)
{
	if (!t->has_submission)
		t->has_submission =
			cap_submission_take(&t->submission, NULL, &comm_ops[t->op], NULL);
	t->submission.buffers &= ~t->excluded;
	return t->has_submission;
}

void comm_write(struct comm_transfer *t, uint64_t end)
{
	struct cap_frame f;
	struct wire_enc e;

	if (cap_unlikely(t->excluded != 0) && !exclude(t))
		return;
	if (cap_activity_begin(&f, &e, &comm_ops[t->op], t->has_submission ? &t->submission : NULL,
			       t->start, end, COMM_FIELDS)) {
		wire_unsigned(&e, COMM_CORRELATION, t->correlation);
		wire_unsigned(&e, COMM_COMPLETED_BY, t->completed_by);
		wire_unsigned(&e, COMM_COMMUNICATOR, t->communicator);
		wire_signed(&e, COMM_PEER, t->peer, 4);
		wire_signed(&e, COMM_TAG, t->tag, 4);
		wire_unsigned(&e, COMM_SENT, t->sent);
		wire_unsigned(&e, COMM_RECEIVED, t->received);
		wire_unsigned(&e, COMM_DATATYPE, t->datatype);
		wire_unsigned(&e, COMM_REQUEST, t->request);
		wire_unsigned(&e, COMM_STATE, t->state);
		wire_unsigned(&e, COMM_PROBE, t->probe);
		wire_unsigned(&e, COMM_PARTITIONS, t->partitions);
		cap_activity_commit(&f, &e);
	}
	if (t->has_submission)
		cap_submission_end(&t->submission);
	t->has_submission = false;
}
