/* SPDX-License-Identifier: Apache-2.0 */
/* Description of the domain "comm"; see comm.h. */
#include "capture/mpi/comm.h"

#include <pthread.h>

#include "core/capture.h"

struct cap_op comm_ops[COMM_OPS];

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const kymo_enum_value_t states[] = {{"completed", COMM_COMPLETED},
					   {"cancelled", COMM_CANCELLED},
					   {"freed", COMM_FREED},
					   {"left", COMM_LEFT}};
static const kymo_enum_set_t comm_state = {"comm_state", states, COUNT(states)};

static const kymo_field_t fields[] = {
	[COMM_CORRELATION] = {"correlation", "call", NULL, KYMO_KIND_REF, 0, 8, 0},
	[COMM_COMPLETED_BY] = {"completed_by", "call", NULL, KYMO_KIND_REF, 0, 8, 0},
	[COMM_COMMUNICATOR] = {"communicator", "communicator", NULL, KYMO_KIND_REF, 0, 8, 0},
	[COMM_PEER] = {"peer", "rank", NULL, KYMO_KIND_SIGNED, 0, 4, 0},
	[COMM_TAG] = {"tag", "int", NULL, KYMO_KIND_SIGNED, 0, 4, 0},
	[COMM_SENT] = {"sent", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	[COMM_RECEIVED] = {"received", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	[COMM_DATATYPE] = {"datatype", "string", NULL, KYMO_KIND_REF, 0, 8, 0},
	[COMM_REQUEST] = {"request", "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	[COMM_STATE] = {"state", "comm_state", &comm_state, KYMO_KIND_ENUM, 0, 4, 0},
};
_Static_assert(COUNT(fields) == COMM_FIELDS, "comm fields");

#define OP(name)                                                                                   \
	{                                                                                          \
		name, fields, COMM_FIELDS, KYMO_OP_MINIMAL | KYMO_OP_ACTIVITY, NULL, 0             \
	}

static const kymo_op_desc_t descs[COMM_OPS] = {
	[COMM_OP_SEND] = OP("send"),
	[COMM_OP_RECEIVE] = OP("receive"),
	[COMM_OP_COLLECTIVE] = OP("collective"),
	[COMM_OP_PUT] = OP("put"),
	[COMM_OP_GET] = OP("get"),
	[COMM_OP_ACCUMULATE] = OP("accumulate"),
	[COMM_OP_READ] = OP("read"),
	[COMM_OP_WRITE] = OP("write"),
};

static const kymo_domain_desc_t desc = {sizeof(desc), "comm", "Messages", 1, COMM_OPS, descs};
CAP_KNOWN_DOMAIN(comm, &desc);
static const struct cap_domain_info info = {.desc = &desc, .ops = comm_ops};

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

bool comm_wanted_of(const struct cap_op *call)
{
	uint64_t excluded = atomic_load(&call->excluded);

	for (unsigned i = 0; i < COMM_OPS; i++)
		if (atomic_load(&comm_ops[i].callbacks) ||
		    (atomic_load(&comm_ops[i].buffers) & ~excluded))
			return true;
	return false;
}

/* Some buffers are to have it and others are not. False: nobody is. */
static bool exclude(struct comm_transfer *t)
{
	if (!t->has_origin)
		t->has_origin = cap_origin_take(&t->origin, NULL, &comm_ops[t->op], NULL);
	t->origin.buffers &= ~t->excluded;
	return t->has_origin;
}

void comm_write(struct comm_transfer *t, uint64_t end)
{
	struct cap_frame f;
	struct wire_enc e;

	if (cap_unlikely(t->excluded != 0) && !exclude(t))
		return;
	if (cap_activity_begin(&f, &e, &comm_ops[t->op], t->has_origin ? &t->origin : NULL,
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
		cap_activity_commit(&f, &e);
	}
	if (t->has_origin)
		cap_origin_end(&t->origin);
	t->has_origin = false;
}
