/* SPDX-License-Identifier: Apache-2.0 */
/* Description of the domain "comm"; see comm.h. */
#include "core/activity/comm.h"

#include <pthread.h>

#include "core/activity/submission.h"
#include "core/context/context.h"
#include "core/ring/ring.h"
#include "core/tally/tally.h"

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
	wire_def_u64(&d, c->own_rank);
	cap_define(&d);
}

/* ---- records ---- */

struct numbers { /* of a record, besides what the transfer says */
	uint64_t request, by;
};

/* A receive sends nothing. */
static uint64_t sent_of(const struct comm_item *t)
{
	return t->op == COMM_OP_RECEIVE ? 0 : t->sent;
}

static uint64_t probe_of(const struct comm_item *t)
{
	return t->op == COMM_OP_RECEIVE ? t->probe : 0;
}

static void put_fields(struct wire_enc *e, const struct comm_item *t, const struct numbers *n)
{
	wire_unsigned(e, COMM_CORRELATION, t->correlation);
	wire_unsigned(e, COMM_COMPLETED_BY, n->by);
	wire_unsigned(e, COMM_COMMUNICATOR, t->communicator);
	wire_signed(e, COMM_PEER, t->peer, 4);
	wire_signed(e, COMM_TAG, t->tag, 4);
	wire_unsigned(e, COMM_SENT, sent_of(t));
	wire_unsigned(e, COMM_RECEIVED, t->received);
	wire_unsigned(e, COMM_DATATYPE, t->datatype);
	wire_unsigned(e, COMM_REQUEST, n->request);
	wire_unsigned(e, COMM_STATE, t->state);
	wire_unsigned(e, COMM_PROBE, probe_of(t));
	wire_unsigned(e, COMM_PARTITIONS, t->partitions);
}

/* Whatever there is: several buffers, callbacks, filters, no room. */
static __attribute__((noinline, cold)) void write_any(struct comm_item *t, const struct numbers *n,
						      uint64_t end)
{
	struct cap_op *op = &comm_ops[t->op];
	uint64_t excluded = t->has_submission ? 0 : t->excluded;
	struct cap_frame f;
	struct wire_enc e;

	if (excluded) { /* some buffers are to have it and others are not */
		t->has_submission = cap_submission_take(&t->submission, NULL, op, NULL);
		if (!t->has_submission)
			return;
		t->submission.buffers &= ~excluded;
	}
	if (cap_activity_begin(&f, &e, op, t->has_submission ? &t->submission : NULL, t->start, end,
			       COMM_FIELDS)) {
		put_fields(&e, t, n);
		cap_activity_commit(&f, &e);
	}
}

/* ---- the ordinary record ----------------------------------------------------------------------
 * One buffer, nobody who is called back or asked: what nearly every message of a program is.
 */

/* The one buffer that it goes into; 0: not that simple. */
static inline uint64_t one_buffer(const struct cap_thread *t, const struct comm_item *i)
{
	const struct cap_op *op = &comm_ops[i->op];
	uint64_t open = atomic_load_explicit(&core_buffers_open, memory_order_acquire), buffers;

	if (i->has_submission) {
		if (cap_unlikely(i->submission.more ||
				 i->submission.epoch !=
					 atomic_load_explicit(&core_epoch, memory_order_acquire)))
			return 0;
		buffers = i->submission.buffers & open;
	} else {
		if (cap_unlikely(atomic_load_explicit(&op->callbacks, memory_order_relaxed) ||
				 atomic_load_explicit(&t->externals, memory_order_relaxed)))
			return 0;
		buffers = atomic_load_explicit(&op->buffers, memory_order_acquire) & open &
			  ~i->excluded;
	}
	return buffers & (buffers - 1) ? 0 : buffers;
}

/* A number of 32 bits, as wire_unsigned() has it. */
#define PUT(i, v)                                                                                  \
	do {                                                                                       \
		uint32_t number = (uint32_t)(v);                                                   \
		unsigned class = (number != 0) + (number > 0xffu);                                 \
                                                                                                   \
		memcpy(p, &number, 4);                                                             \
		p += (0x410u >> (class * 4)) & 0xfu;                                               \
		classes |= (uint64_t) class << (2 * (i));                                          \
	} while (0)

/* The same of one that is above 255 nearly always, or 0. */
#define PUT_WIDE(i, v)                                                                             \
	do {                                                                                       \
		uint32_t number = (uint32_t)(v);                                                   \
		uint64_t there = number != 0;                                                      \
                                                                                                   \
		memcpy(p, &number, 4);                                                             \
		p += there * 4;                                                                    \
		classes |= there << (2 * (i) + 1);                                                 \
	} while (0)

#define ONE_BYTE(i)   (1ull << (2 * (i)))
#define FOUR_BYTES(i) (2ull << (2 * (i)))

/* A message between two, of which nothing is larger than it mostly is. */
static inline bool usual(const struct comm_item *t, const struct numbers *n)
{
	bool sends = t->op == COMM_OP_SEND;
	uint64_t none = (sends ? t->received : t->probe) | t->partitions | t->state;
	uint32_t bytes = t->communicator | (uint32_t)t->peer | (uint32_t)t->tag | t->datatype;
	uint64_t words = t->correlation | n->by | n->request | (sends ? t->sent : t->received);

	return (none | bytes >> 8 | words >> 32) == 0 && (n->by != 0) == (n->request != 0) &&
	       (sends || t->op == COMM_OP_RECEIVE);
}

_Static_assert(COMM_COMPLETED_BY == COMM_CORRELATION + 1 && COMM_COMMUNICATOR == 2 &&
		       COMM_PEER == 3 && COMM_TAG == 4 && COMM_SENT == 5 && COMM_RECEIVED == 6 &&
		       COMM_DATATYPE == 7 && COMM_REQUEST == 8,
	       "the order in which these are stored");

/* The record of such a one: which fields it has and how wide they are is known. */
static inline void encode_usual(struct wire_enc *e, const struct comm_item *t,
				const struct numbers *n)
{
	bool sends = t->op == COMM_OP_SEND, later = n->by != 0;
	uint64_t calls = t->correlation | n->by << 32;
	uint64_t rest = t->communicator | (uint64_t)t->peer << 8 | (uint64_t)t->tag << 16 |
			(sends ? t->sent : t->received) << 24 | (uint64_t)t->datatype << 56;
	uint8_t *p = e->p;

	memcpy(p, &calls, 8);
	p += later ? 8 : 4;
	memcpy(p, &rest, 8);
	memcpy(p + 8, &n->request, 4);
	e->p = p + (later ? 12 : 8);
	e->classes = FOUR_BYTES(COMM_CORRELATION) | ONE_BYTE(COMM_COMMUNICATOR) |
		     ONE_BYTE(COMM_PEER) | ONE_BYTE(COMM_TAG) | ONE_BYTE(COMM_DATATYPE) |
		     (sends ? FOUR_BYTES(COMM_SENT) : FOUR_BYTES(COMM_RECEIVED)) |
		     (later ? FOUR_BYTES(COMM_COMPLETED_BY) | FOUR_BYTES(COMM_REQUEST) : 0);
}

/* Of any; numbers below 2^32 are stored without a branch for each. */
static __attribute__((noinline)) void encode_any(struct wire_enc *e, const struct comm_item *t,
						 const struct numbers *n)
{
	uint64_t sent = sent_of(t), classes = 0;
	uint8_t *p = e->p;

	if (cap_unlikely((t->correlation | n->by | n->request | sent | t->received) >> 32 |
			 probe_of(t) | t->partitions | t->state)) {
		put_fields(e, t, n);
		return;
	}
	PUT_WIDE(COMM_CORRELATION, t->correlation);
	PUT_WIDE(COMM_COMPLETED_BY, n->by);
	PUT(COMM_COMMUNICATOR, t->communicator);
	PUT(COMM_PEER, t->peer);
	PUT(COMM_TAG, t->tag);
	PUT_WIDE(COMM_SENT, sent);
	PUT_WIDE(COMM_RECEIVED, t->received);
	PUT(COMM_DATATYPE, t->datatype);
	PUT_WIDE(COMM_REQUEST, n->request);
	e->p = p;
	e->classes = classes;
}

static inline void encode(struct wire_enc *e, const struct comm_item *t, const struct numbers *n)
{
	struct wire_enc any;

	if (cap_likely(usual(
		    t, n))) { /* of a backend whose messages have no submission of their own */
		encode_usual(e, t, n);
		return;
	}
	any = *e; /* e itself stays in registers */
	encode_any(&any, t, n);
	*e = any;
}

/* Writes or counts it if that is all that is to be done. */
static bool write_one(const struct comm_item *t, const struct numbers *n, uint64_t end)
{
	struct cap_thread *thread = cap_thread_current;
	const struct cap_op *op = &comm_ops[t->op];
	struct wire_event v = {0};
	struct wire_ring *r;
	struct wire_enc e;
	uint64_t buffer;

	buffer = one_buffer(thread, t);
	r = &thread->rings[buffer ? __builtin_ctzll(buffer) : 0];
	if (cap_unlikely(!buffer || !cap_room(r)))
		return false;
	if (cap_unlikely(thread->next_id >= thread->id_limit))
		cap_ids_refill(thread);
	if (cap_unlikely(buffer & atomic_load_explicit(&cap_counted, memory_order_relaxed)))
		return core_work_comm(thread, &core_buffers[__builtin_ctzll(buffer)], op, t, end);
	v.id = cap_take_id(thread);
	v.start = t->start;
	v.end = end;
	v.scope = t->has_submission ? t->submission.scope : thread->scope;
	v.op = op->wire;
	cap_note_early(r, op, t->start);
	wire_begin(&e, r, &v, COMM_FIELDS);
	encode(&e, t, n);
	wire_end(&e, r);
	cap_count_record(thread);
	return true;
}

/* The usual record, where it is one. False: nothing was done. */
static inline bool write_usual(const struct comm_item *t, const struct numbers *n, uint64_t end)
{
	struct cap_thread *thread = cap_thread_current;
	const struct cap_op *op = &comm_ops[t->op];
	struct wire_event v = {0};
	struct wire_ring *r;
	struct wire_enc e;

	if (cap_unlikely(!t->has_submission || !usual(t, n)))
		return false;
	r = cap_activity_ring(thread, op, &t->submission, t->start);
	if (cap_unlikely(!r))
		return false;
	v.id = cap_take_id(thread);
	v.start = t->start;
	v.end = end;
	v.scope = t->submission.scope;
	v.op = op->wire;
	wire_begin(&e, r, &v, COMM_FIELDS);
	encode_usual(&e, t, n);
	cap_activity_end(&e);
	return true;
}

static __attribute__((noinline)) void write_other(struct comm_item *t, const struct numbers *n,
						  uint64_t end)
{
	struct cap_thread *thread = cap_thread_current;
	bool written = false;

	if (cap_likely(thread && thread->magic == CAP_THREAD_MAGIC)) {
		cap_read_lock(thread);
		written = write_one(t, n, end);
		cap_read_unlock(thread);
	}
	if (cap_unlikely(!written))
		write_any(t, n, end);
	comm_item_drop(t);
}

void comm_item_write(struct comm_item *t, uint64_t request, uint64_t by, uint64_t end)
{
	const struct numbers n = {request, by};

	if (cap_unlikely(!write_usual(t, &n, end)))
		write_other(t, &n, end); /* else its submission has nothing to end */
}

void comm_item_submit(struct comm_item *t, const struct cap_frame *f, uint64_t excluded)
{
	const struct cap_op *op = &comm_ops[t->op];
	struct cap_submission *o = &t->submission;

	t->has_submission =
		cap_submission_ordinary(o, f, op) || cap_submission_take(o, f, op, NULL);
	if (t->has_submission)
		o->buffers &= ~excluded;
	else
		t->excluded = excluded;
}

void comm_write(struct comm_transfer *t, uint64_t end)
{
	struct comm_item item = {.correlation = t->correlation,
				 .start = t->start,
				 .sent = t->sent,
				 .received = t->received,
				 .communicator = t->communicator,
				 .datatype = t->datatype,
				 .peer = t->peer,
				 .tag = t->tag,
				 .partitions = t->partitions,
				 .op = (uint8_t)t->op,
				 .state = (uint8_t)t->state,
				 .has_submission = t->has_submission};

	if (t->op == COMM_OP_RECEIVE)
		item.probe = t->probe;
	if (t->has_submission) {
		item.submission = t->submission;
		item.submission.buffers &= ~t->excluded;
	} else {
		item.excluded = t->excluded;
	}
	t->has_submission = false;
	comm_item_write(&item, t->request, t->completed_by, end);
}
