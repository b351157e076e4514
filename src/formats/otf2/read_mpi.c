/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages, collectives and one-sided transfers of processes. Ranks are those of communicators in OTF2 and those
 * of the world here. A communicator is one of each process that uses it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"
#include "wire/defs.h"

/* ---- communicators --------------------------------------------------------------------------- */

int32_t otf2r_peer(const struct reader *r, uint32_t location)
{
	uint32_t rank =
		location ? r->t->processes[r->places[location - 1].process].rank : UINT32_MAX;

	return rank < INT32_MAX ? (int32_t)rank : -1;
}

/* Ranks of the world that follow on one another are one run. */
static void find_runs(struct reader *r, struct members *l, uint32_t list)
{
	struct t_ranks *runs = trace_alloc(r->t, (l->count + UINT64_C(1)) * sizeof(*runs));
	uint32_t n = 0;

	l->ranked = true;
	for (uint32_t i = 0; runs && i < l->count; i++) {
		uint32_t at = otf2r_rank(r, list, i, 0),
			 process = at ? r->places[at - 1].process : 0;
		uint32_t rank = process ? r->t->processes[process].rank : UINT32_MAX;

		if (process && !map_get(&l->ranks, process) &&
		    !map_set(&l->ranks, process, i + UINT64_C(1)))
			r->status = KYMO_ERROR_NO_MEMORY;
		if (n && rank != UINT32_MAX && runs[n - 1].first != UINT32_MAX &&
		    runs[n - 1].first + runs[n - 1].count == rank)
			runs[n - 1].count++;
		else
			runs[n++] = (struct t_ranks){rank, 1, 1};
	}
	l->runs = runs;
	l->run_count = n;
}

static struct members *ranked(struct reader *r, uint32_t list)
{
	struct members *l = list ? &r->lists[list - 1] : NULL;

	if (l && !l->ranked)
		find_runs(r, l, list);
	return l;
}

static uint32_t add_communicator(struct reader *r, uint32_t process, uint32_t comm, uint32_t window)
{
	const struct comm *c = &r->comms[comm - 1];
	struct members *own = ranked(r, c->group), *other = ranked(r, c->remote);
	struct t_communicator x = {.process = process,
				   .kind = window     ? COMMUNICATOR_WINDOW
					   : c->inter ? COMMUNICATOR_INTER
						      : COMMUNICATOR_INTRA,
				   .id = window ? r->comms_count + window : comm,
				   .name = window ? r->windows[window - 1].name : c->name};

	if (other && own && !map_get(&own->ranks, process)) {
		struct members *swap = own;

		own = other;
		other = swap;
	}
	x.key = hash_mix(hash_u64(x.id), 1);
	if (own) {
		x.size = own->type == OTF2_GROUP_TYPE_COMM_SELF ? 1 : own->count;
		x.members = own->runs;
		x.member_runs = own->run_count;
		x.own_rank = (uint32_t)map_get(&own->ranks, process);
	}
	if (other) {
		x.remote_size = other->count;
		x.remote = other->runs;
		x.remote_runs = other->run_count;
	}
	*trace_add(r->t, communicators) = x;
	return r->t->communicators_count - 1;
}

/* Index; true: it is new. */
static bool find_communicator(struct reader *r, uint32_t process, uint32_t comm, uint32_t window,
			      uint32_t *index)
{
	uint64_t key = hash_mix(hash_mix(hash_u64(process), comm), window);

	*index = (uint32_t)map_get(&r->communicators, key);
	if (*index || r->sink || !comm)
		return false;
	*index = add_communicator(r, process, comm, window);
	if (!map_set(&r->communicators, key, *index))
		r->status = KYMO_ERROR_NO_MEMORY;
	return true;
}

/* `window` is one on the communicator, or 0. Both are places + 1. */
uint32_t otf2r_communicator(struct reader *r, uint32_t process, uint32_t comm, uint32_t window)
{
	uint32_t first, child, parent, above;
	bool more = find_communicator(r, process, comm, window, &first);

	for (child = first; more; child = parent) {
		above = window ? comm : otf2r_at(&r->comms_at, r->comms[comm - 1].parent_ref);
		if (!above || (!window && above >= comm)) /* it might lie in itself */
			break;
		more = find_communicator(r, process, above, 0, &parent);
		r->t->communicators[child].parent = parent;
		comm = above;
		window = 0;
	}
	return first;
}

/* ---- records --------------------------------------------------------------------------------- */

struct message {
	uint32_t comm, partner, tag; /* partner: rank in the communicator */
	uint64_t bytes, request;
};

static OTF2_CallbackCode code_of(const struct reader *r)
{
	return r->status == KYMO_OK ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* Whose group the partner's number is of: of two the one that the process is not in. */
static uint32_t list_of(struct reader *r, const struct place *p, uint32_t comm)
{
	const struct comm *c = &r->comms[comm - 1];
	const struct members *own = ranked(r, c->group);

	return c->remote && own && map_get(&own->ranks, p->process) ? c->remote : c->group;
}

static int32_t partner_of(struct reader *r, const struct place *p, uint32_t comm, uint32_t rank)
{
	uint32_t self = (uint32_t)(p - r->places) + 1;

	return comm ? otf2r_peer(r, otf2r_rank(r, list_of(r, p, comm), rank, self)) : -1;
}

static struct rec_comm message_of(struct reader *r, const struct place *p, const struct message *m,
				  uint32_t op)
{
	const struct frame *call = otf2r_call(p);
	uint32_t comm = otf2r_at(&r->comms_at, m->comm);
	struct rec_comm c = {.base = otf2r_base(r, p, r->now),
			     .correlation = call ? call->id : 0,
			     .communicator = otf2r_communicator(r, p->process, comm, 0),
			     .peer = partner_of(r, p, comm, m->partner),
			     .tag = m->tag <= INT32_MAX ? (int32_t)m->tag : -1,
			     .request = m->request};

	if (!comm)
		unplaced_add(&r->unplaced, "communicators that are not defined", 1);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_comm, op);
	return c;
}

/* A blocking message is under way until its call returns. */
void otf2r_sent(struct reader *r, struct place *p)
{
	while (p->send_count && p->sends[p->send_count - 1].depth >= p->depth) {
		struct rec_comm c = p->sends[--p->send_count].record;

		c.base.end = r->now;
		OTF2R_EMIT(r, comm, &c);
	}
}

static OTF2_CallbackCode on_send(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				 OTF2_AttributeList *a, uint32_t to, OTF2_CommRef comm,
				 uint32_t tag, uint64_t bytes)
{
	const struct message m = {comm, to, tag, bytes, 0};
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct rec_comm c;

	if (!p)
		return code_of(r);
	c = message_of(r, p, &m, COMM_OP_SEND);
	c.sent = bytes;
	if (!p->depth)
		OTF2R_EMIT(r, comm, &c);
	else if (vec_reserve(&p->sends, &p->send_room, p->send_count, 1))
		p->sends[p->send_count++] = (struct sent){p->depth, c};
	else
		r->status = KYMO_ERROR_NO_MEMORY;
	return code_of(r);
}

static OTF2_CallbackCode on_receive(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				    OTF2_AttributeList *a, uint32_t from, OTF2_CommRef comm,
				    uint32_t tag, uint64_t bytes)
{
	const struct message m = {comm, from, tag, bytes, 0};
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	const struct frame *call = p ? otf2r_call(p) : NULL;
	struct rec_comm c;

	if (!p)
		return code_of(r);
	c = message_of(r, p, &m, COMM_OP_RECEIVE);
	c.received = bytes;
	c.base.start = call ? call->start : r->now;
	OTF2R_EMIT(r, comm, &c);
	return code_of(r);
}

/* ---- with a request -------------------------------------------------------------------------- */

static uint64_t request_key(const struct place *p, uint64_t request)
{
	return hash_mix(hash_u64(p->process), request);
}

static struct begun *begin_request(struct reader *r, const struct place *p,
				   const struct rec_comm *c)
{
	struct begun *w = otf2r_wait(r, &r->requests, request_key(p, c->request));

	if (!w)
		return NULL;
	w->start = c->base.start;
	w->scope = c->base.scope;
	w->call = c->correlation;
	w->process = p->process;
	w->thread = p->thread;
	w->communicator = c->communicator;
	w->peer = c->peer;
	w->tag = c->tag;
	w->sent = c->sent;
	w->received = c->received;
	w->request = c->request;
	w->op = (uint8_t)r->t->ops[c->base.op].number;
	return w;
}

static void end_request(struct reader *r, const struct begun *w, const struct place *p,
			uint8_t state)
{
	const struct frame *call = p ? otf2r_call(p) : NULL;
	struct rec_comm c = {.base = {.process = w->process,
				      .thread = w->thread,
				      .ok = true,
				      .parent = w->call,
				      .scope = w->scope,
				      .start = w->start,
				      .end = r->now},
			     .correlation = w->call,
			     .completed_by = call ? call->id : 0,
			     .communicator = w->communicator,
			     .peer = w->peer,
			     .tag = w->tag,
			     .sent = w->sent,
			     .received = w->received,
			     .request = w->request,
			     .state = state};

	c.base.op = make_activity(&r->model, RECORD_DOMAIN_comm, w->op);
	OTF2R_EMIT(r, comm, &c);
}

static OTF2_CallbackCode on_isend(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				  OTF2_AttributeList *a, uint32_t to, OTF2_CommRef comm,
				  uint32_t tag, uint64_t bytes, uint64_t request)
{
	const struct message m = {comm, to, tag, bytes, request};
	struct place *p = otf2r_event(data, l, t);
	struct rec_comm c;

	if (!p)
		return code_of(data);
	c = message_of(data, p, &m, COMM_OP_SEND);
	c.sent = bytes;
	begin_request(data, p, &c);
	return code_of(data);
}

/* What it receives is told when it is complete. */
static OTF2_CallbackCode on_irecv_request(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					  OTF2_AttributeList *a, uint64_t request)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	const struct frame *call = p ? otf2r_call(p) : NULL;
	struct rec_comm c = {
		.correlation = call ? call->id : 0, .peer = -1, .tag = -1, .request = request};

	if (!p)
		return code_of(r);
	c.base = otf2r_base(r, p, r->now);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_comm, COMM_OP_RECEIVE);
	begin_request(r, p, &c);
	return code_of(r);
}

static OTF2_CallbackCode on_irecv(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				  OTF2_AttributeList *a, uint32_t from, OTF2_CommRef comm,
				  uint32_t tag, uint64_t bytes, uint64_t request)
{
	const struct message m = {comm, from, tag, bytes, request};
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct begun *w = p ? otf2r_take(&r->requests, request_key(p, request)) : NULL;
	struct rec_comm c;

	if (!p)
		return code_of(r);
	c = message_of(r, p, &m, COMM_OP_RECEIVE);
	c.received = bytes;
	if (!w) {
		OTF2R_EMIT(r, comm, &c);
		return code_of(r);
	}
	w->communicator = c.communicator;
	w->peer = c.peer;
	w->tag = c.tag;
	w->received = bytes;
	end_request(r, w, p, COMM_COMPLETED);
	return code_of(r);
}

static OTF2_CallbackCode end_event(struct reader *r, struct place *p, uint64_t request,
				   uint8_t state)
{
	struct begun *w = p ? otf2r_take(&r->requests, request_key(p, request)) : NULL;

	if (w)
		end_request(r, w, p, state);
	else if (p)
		unplaced_add(&r->unplaced, "ends of requests that did not begin", 1);
	return code_of(r);
}

static OTF2_CallbackCode on_isend_complete(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					   OTF2_AttributeList *a, uint64_t request)
{
	return end_event(data, otf2r_event(data, l, t), request, COMM_COMPLETED);
}

static OTF2_CallbackCode on_cancelled(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				      OTF2_AttributeList *a, uint64_t request)
{
	return end_event(data, otf2r_event(data, l, t), request, COMM_CANCELLED);
}

void otf2r_left_messages(struct reader *r)
{
	for (uint32_t i = 0; i < r->requests.count && r->status == KYMO_OK; i++) {
		const struct begun *w = &r->requests.items[i];

		/* Those that are not waiting are not found under their key. */
		uint64_t key = w->key;

		if (map_get(&r->requests.heads, key) == i + UINT64_C(1))
			while ((w = otf2r_take(&r->requests, key)) != NULL)
				end_request(r, w, NULL, COMM_LEFT);
	}
}

/* ---- collectives ----------------------------------------------------------------------------- */

static struct rec_comm collective_of(struct reader *r, const struct place *p, uint32_t comm,
				     uint32_t root, uint64_t sent, uint64_t received)
{
	const struct message m = {.comm = comm, .partner = root, .tag = UINT32_MAX};
	struct rec_comm c = message_of(r, p, &m, COMM_OP_COLLECTIVE);

	if (root == OTF2_COLLECTIVE_ROOT_SELF)
		c.peer = otf2r_peer(r, (uint32_t)(p - r->places) + 1);
	c.sent = sent;
	c.received = received;
	return c;
}

static OTF2_CallbackCode on_collective_begin(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					     OTF2_AttributeList *a)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);

	if (p)
		p->collective = r->now;
	return code_of(r);
}

static OTF2_CallbackCode on_collective_end(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					   OTF2_AttributeList *a, OTF2_CollectiveOp op,
					   OTF2_CommRef comm, uint32_t root, uint64_t sent,
					   uint64_t received)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct rec_comm c;

	if (!p)
		return code_of(r);
	c = collective_of(r, p, comm, root, sent, received);
	c.base.start = p->collective ? p->collective : r->now;
	p->collective = 0;
	OTF2R_EMIT(r, comm, &c);
	return code_of(r);
}

static OTF2_CallbackCode on_icollective(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					OTF2_AttributeList *a, uint64_t request)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	const struct frame *call = p ? otf2r_call(p) : NULL;
	struct rec_comm c = {
		.correlation = call ? call->id : 0, .peer = -1, .tag = -1, .request = request};

	if (!p)
		return code_of(r);
	c.base = otf2r_base(r, p, r->now);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_comm, COMM_OP_COLLECTIVE);
	begin_request(r, p, &c);
	return code_of(r);
}

static OTF2_CallbackCode on_icollective_end(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					    OTF2_AttributeList *a, OTF2_CollectiveOp op,
					    OTF2_CommRef comm, uint32_t root, uint64_t sent,
					    uint64_t received, uint64_t request)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct begun *w = p ? otf2r_take(&r->requests, request_key(p, request)) : NULL;
	struct rec_comm c;

	if (!p)
		return code_of(r);
	c = collective_of(r, p, comm, root, sent, received);
	if (!w) {
		OTF2R_EMIT(r, comm, &c);
		return code_of(r);
	}
	w->communicator = c.communicator;
	w->peer = c.peer;
	w->sent = sent;
	w->received = received;
	end_request(r, w, p, COMM_COMPLETED);
	return code_of(r);
}

/* ---- one-sided ------------------------------------------------------------------------------- */

void otf2r_one_sided(struct reader *r, const struct begun *x)
{
	struct begun w = *x;
	uint32_t comm = w.communicator ? r->windows[w.communicator - 1].parent : 0;
	const struct place *p = &r->places[w.place];

	w.communicator = otf2r_communicator(r, p->process, comm, w.communicator);
	w.peer = otf2r_peer(r, w.remote);
	w.tag = -1;
	end_request(r, &w, p, COMM_COMPLETED);
}

void otf2r_listen_mpi(OTF2_GlobalEvtReaderCallbacks *c)
{
	OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(c, on_send);
	OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(c, on_receive);
	OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(c, on_isend);
	OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCompleteCallback(c, on_isend_complete);
	OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvRequestCallback(c, on_irecv_request);
	OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(c, on_irecv);
	OTF2_GlobalEvtReaderCallbacks_SetMpiRequestCancelledCallback(c, on_cancelled);
	OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveBeginCallback(c, on_collective_begin);
	OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveEndCallback(c, on_collective_end);
	OTF2_GlobalEvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(c, on_icollective);
	OTF2_GlobalEvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(c,
									       on_icollective_end);
}
