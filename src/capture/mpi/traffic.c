/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls move: point to point, collectives, one-sided, files. Bytes are those of the program's
 * own buffers: what this process gives to and gets from an operation, whatever an algorithm sends
 * on the way. Arguments that MPI says are not significant are not looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/mpi/backend.h"
#include "capture/mpi/host.h"
#include "capture/mpi/requests.h"
#include "core/activity/ordinary.h"
#include "core/marker/marker.h"

/* Of an array of requests: how much earlier a request is told of. */
enum { NEAR = 6, FAR = 12 };

/* A call and what is known of it. */
struct view {
	const struct mpi_call *c;
	const struct mpi_info *info;
	struct mpi_transfer t;
	uint32_t members; /* of the (remote) group */
	bool root;        /* this process is it */
	bool bystander;   /* in the root's group of an intercommunicator, and not the root */
	bool send_in_place, receive_in_place;
};

static uint64_t arg(const struct view *w, enum mpi_role role)
{
	return mpi_arg(w->c, w->info, role);
}

/* ---- writing -------------------------------------------------------------------------------- */

void mpi_transfer_status(struct mpi_transfer *t, const struct mpi_status *s)
{
	/* Open MPI does not set the mark of requests of files. */
	struct comm_item *i = &t->item;
	bool cancelled = s->cancelled && (i->op == COMM_OP_SEND || i->op == COMM_OP_RECEIVE);

	if (i->op == COMM_OP_RECEIVE) {
		i->peer = mpi_world_rank(t->comm, s->source);
		i->tag = s->tag;
		i->received = s->bytes;
	} else if (i->op == COMM_OP_READ) {
		i->received = s->bytes;
	} else if (i->op == COMM_OP_WRITE) {
		i->sent = s->bytes;
	}
	if (!cancelled)
		return;
	i->state = COMM_CANCELLED;
	i->received = 0;
	if (i->op == COMM_OP_SEND)
		i->sent = 0;
}

/* The addresses that mean "no status" are 0 and 1. */
static bool has_status(uint64_t address)
{
	return address > 1;
}

static void status_at(uint64_t address, uint32_t index, struct mpi_transfer *t)
{
	struct mpi_status s;

	mpi_module->status((const void *)(uintptr_t)address, index, &s);
	mpi_transfer_status(t, &s);
}

#define HAVE_STATUS (1u << COMM_OP_RECEIVE | 1u << COMM_OP_READ | 1u << COMM_OP_WRITE)

static void add_request(uint64_t handle, struct mpi_transfer *t)
{
	bool real = handle != mpi_module->request_null;

	if (real && mpi_requests_add(handle, t))
		return;
	comm_item_drop(&t->item);
	if (real)
		cap_lost(&comm_ops[t->item.op], 1);
}

/* Complete by now, or when its request is. */
static void finish_transfer(struct view *w)
{
	const struct cap_frame *f = w->c->frame;
	struct comm_item *i = &w->t.item;
	uint64_t excluded = atomic_load_explicit(&f->op->excluded, memory_order_relaxed);

	i->correlation = f->id;
	i->start = f->start;
	i->communicator = w->t.comm ? w->t.comm->id : 0;
	if (mpi_has(w->info, MPI_ROLE_REQUEST)) {
		if (!(i->own & MPI_PERSISTENT)) {
			i->own |= MPI_ACTIVE;
			comm_item_submit(i, f, excluded);
		} else {
			i->excluded = excluded;
		}
		add_request(mpi_handle_at(arg(w, MPI_ROLE_REQUEST), 0), &w->t);
		return;
	}
	i->excluded = excluded;
	if ((1u << i->op & HAVE_STATUS) && has_status(arg(w, MPI_ROLE_STATUS)))
		status_at(arg(w, MPI_ROLE_STATUS), 0, &w->t);
	comm_item_write(i, 0, 0, f->end);
}

/* ---- plain messages -------------------------------------------------------------------------
 * By functions of enum mpi_plain, where nobody is to be asked and nothing to be kept but the message.
 */

struct plain { /* what is found out before it is written down */
	const struct mpi_comm *comm;
	struct mpi_type type;
	struct cap_submission submission;
};

static inline __attribute__((always_inline)) void
plain_fill(struct mpi_transfer *t, const struct mpi_call *c, const struct plain *p, bool sends)
{
	const struct cap_frame *f = c->frame;
	uint64_t bytes = c->v[MPI_PLAIN_COUNT] * (uint64_t)p->type.size;

	t->item.correlation = f->id;
	t->item.start = f->start;
	t->item.sent = sends ? bytes : 0; /* of a receive: no probe */
	t->item.received = sends ? 0 : bytes;
	t->item.communicator = p->comm ? p->comm->id : 0;
	t->item.datatype = p->type.name;
	t->item.peer = mpi_world_rank(p->comm, (int64_t)c->v[MPI_PLAIN_PEER]);
	t->item.tag = (int32_t)c->v[MPI_PLAIN_TAG];
	t->item.partitions = 0;
	t->item.op = sends ? COMM_OP_SEND : COMM_OP_RECEIVE;
	t->item.state = 0;
	t->item.has_submission = true;
	t->item.own = MPI_ACTIVE;
	t->item.submission = p->submission;
	t->comm = p->comm;
}

static inline __attribute__((always_inline)) void plain_start(const struct mpi_call *c,
							      const struct plain *p, bool sends)
{
	uint64_t handle = mpi_handle_at(c->v[MPI_PLAIN_REQUEST], 0);
	struct mpi_transfer t;

	if (cap_likely(handle != mpi_module->request_null && mpi_owner_enter())) {
		bool room = mpi_near_room(handle);

		if (cap_likely(room)) {
			plain_fill(mpi_near_next(), c, p, sends);
			mpi_near_put(handle);
		}
		mpi_owner_leave();
		if (cap_likely(room))
			return;
	}
	plain_fill(&t, c, p, sends);
	add_request(handle, &t);
}

/* False: it is not as simple as that, and nothing was done. */
static inline __attribute__((always_inline)) bool plain(const struct mpi_call *c,
							const struct mpi_info *info, bool sends)
{
	const struct cap_frame *f = c->frame;
	struct plain p = {.type = {0, 0}};
	struct mpi_transfer t;

	if ((int64_t)c->v[MPI_PLAIN_PEER] == mpi_module->proc_null)
		return true;
	if (cap_unlikely(!cap_submission_ordinary(
		    &p.submission, f, &comm_ops[sends ? COMM_OP_SEND : COMM_OP_RECEIVE])))
		return false;
	p.submission.buffers &= ~atomic_load_explicit(&f->op->excluded, memory_order_relaxed);
	p.comm = mpi_comm_of(MPI_OBJECT_COMM, c->v[MPI_PLAIN_COMM]);
	if (cap_likely((int64_t)c->v[MPI_PLAIN_COUNT] > 0))
		p.type = mpi_type_of(c->v[MPI_PLAIN_TYPE]);
	if (mpi_has(info, MPI_ROLE_REQUEST)) {
		plain_start(c, &p, sends);
		return true;
	}
	plain_fill(&t, c, &p, sends);
	if (!sends && has_status(c->v[MPI_PLAIN_STATUS]))
		status_at(c->v[MPI_PLAIN_STATUS], 0, &t);
	comm_item_write(&t.item, 0, 0, f->end);
	return true;
}

static bool plain_message(const struct mpi_call *c, const struct mpi_info *info)
{
	switch ((enum mpi_plain)info->plain) {
	case MPI_PLAIN_SEND:
		return plain(c, info, true);
	case MPI_PLAIN_RECEIVE:
		return plain(c, info, false);
	default:
		return false;
	}
}

/* ---- amounts -------------------------------------------------------------------------------- */

/* `count` elements of the type of that role; remembers the type's name. */
static uint64_t amount(struct view *w, int64_t count, enum mpi_role role)
{
	struct mpi_type type;

	if (count <= 0)
		return 0;
	type = mpi_type_of(arg(w, role));
	if (!w->t.item.datatype)
		w->t.item.datatype = type.name;
	return (uint64_t)count * (uint64_t)type.size;
}

static uint64_t counted(struct view *w, enum mpi_role count, enum mpi_role type)
{
	return amount(w, (int64_t)arg(w, count), type);
}

static int64_t count_at(const struct view *w, enum mpi_role role, uint32_t i)
{
	uint64_t at = arg(w, role);
	int64_t wide;

	if (!w->info->large)
		return mpi_int_at(at, i);
	memcpy(&wide, (const char *)(uintptr_t)at + 8 * (size_t)i, 8);
	return wide;
}

/* Element i of an array of counts, of its own type where there is one for each. */
static uint64_t one(struct view *w, enum mpi_role counts, enum mpi_role type, enum mpi_role types,
		    uint32_t i)
{
	int64_t n = count_at(w, counts, i);

	if (!mpi_has(w->info, types))
		return amount(w, n, type);
	return n > 0 ? (uint64_t)n * (uint64_t)mpi_type_of(mpi_handle_at(arg(w, types), i)).size
		     : 0;
}

static uint64_t sum(struct view *w, enum mpi_role counts, enum mpi_role type, enum mpi_role types,
		    uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += one(w, counts, type, types, i);
	return bytes;
}

/* What goes to all members: an array of counts, or one count for each. */
static uint64_t to_all(struct view *w, uint32_t n)
{
	if (mpi_has(w->info, MPI_ROLE_COUNTS))
		return sum(w, MPI_ROLE_COUNTS, MPI_ROLE_TYPE, MPI_ROLE_TYPES, n);
	return n * counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
}

static uint64_t from_all(struct view *w, uint32_t n)
{
	if (mpi_has(w->info, MPI_ROLE_COUNTS2))
		return sum(w, MPI_ROLE_COUNTS2, MPI_ROLE_TYPE2, MPI_ROLE_TYPES2, n);
	return n * counted(w, MPI_ROLE_COUNT2, MPI_ROLE_TYPE2);
}

static uint32_t own_rank(const struct view *w)
{
	return w->t.comm && w->t.comm->rank >= 0 ? (uint32_t)w->t.comm->rank : 0;
}

/* This process's own part of the receive buffer. */
static uint64_t own_received(struct view *w)
{
	if (mpi_has(w->info, MPI_ROLE_COUNTS2))
		return one(w, MPI_ROLE_COUNTS2, MPI_ROLE_TYPE2, MPI_ROLE_TYPES2, own_rank(w));
	return counted(w, MPI_ROLE_COUNT2, MPI_ROLE_TYPE2);
}

static uint64_t own_sent(struct view *w)
{
	if (mpi_has(w->info, MPI_ROLE_COUNTS))
		return one(w, MPI_ROLE_COUNTS, MPI_ROLE_TYPE, MPI_ROLE_TYPES, own_rank(w));
	return counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
}

/* ---- collectives ---------------------------------------------------------------------------- */

static void neighbors(struct view *w)
{
	uint32_t in, out;

	if (!mpi_module->neighbors(arg(w, MPI_ROLE_COMM), &in, &out))
		return;
	w->t.item.received = from_all(w, in);
	w->t.item.sent = w->info->group == MPI_CLASS_NEIGHBOR_ALLGATHER
				 ? counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE)
				 : to_all(w, out);
}

static void gather_scatter(struct view *w)
{
	bool gather = w->info->group == MPI_CLASS_GATHER;

	if (gather && !(w->root && w->t.comm->remote))
		w->t.item.sent = w->send_in_place ? own_received(w)
						  : counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
	if (gather && w->root)
		w->t.item.received = from_all(w, w->members);
	if (!gather && w->root)
		w->t.item.sent = to_all(w, w->members);
	if (!gather && !(w->root && w->t.comm->remote))
		w->t.item.received = w->receive_in_place
					     ? own_sent(w)
					     : counted(w, MPI_ROLE_COUNT2, MPI_ROLE_TYPE2);
}

static void symmetric(struct view *w)
{
	uint64_t bytes;

	switch ((enum mpi_class)w->info->group) {
	case MPI_CLASS_ALLREDUCE:
		w->t.item.sent = w->t.item.received = counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
		return;
	case MPI_CLASS_ALLGATHER:
		w->t.item.received = from_all(w, w->members);
		w->t.item.sent = w->send_in_place ? own_received(w)
						  : counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
		return;
	case MPI_CLASS_ALLTOALL:
		w->t.item.received = from_all(w, w->members);
		w->t.item.sent = w->send_in_place ? w->t.item.received : to_all(w, w->members);
		return;
	case MPI_CLASS_REDUCE_SCATTER:
		w->t.item.sent = from_all(w, w->members);
		w->t.item.received = own_received(w);
		return;
	case MPI_CLASS_REDUCE_SCATTER_BLOCK:
		bytes = counted(w, MPI_ROLE_COUNT2, MPI_ROLE_TYPE2);
		w->t.item.sent = w->members * bytes;
		w->t.item.received = bytes;
		return;
	default:
		neighbors(w);
	}
}

static void rooted(struct view *w)
{
	uint64_t bytes;

	w->t.item.peer =
		w->root ? (w->t.comm->remote ? -1 : mpi_world_rank(w->t.comm, w->t.comm->rank))
			: mpi_world_rank(w->t.comm, (int64_t)arg(w, MPI_ROLE_ROOT));
	if (w->info->group != MPI_CLASS_BCAST && w->info->group != MPI_CLASS_REDUCE) {
		gather_scatter(w);
		return;
	}
	bytes = counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
	if (w->info->group == MPI_CLASS_BCAST) {
		w->t.item.sent = w->root ? bytes : 0;
		w->t.item.received = w->root ? 0 : bytes;
	} else {
		w->t.item.sent = w->root && w->t.comm->remote ? 0 : bytes;
		w->t.item.received = w->root ? bytes : 0;
	}
}

static void collective(struct view *w)
{
	const struct mpi_comm *comm = w->t.comm;
	int64_t root = (int64_t)arg(w, MPI_ROLE_ROOT);

	if (!comm || !comm->local)
		return;
	w->t.item.op = COMM_OP_COLLECTIVE;
	if (mpi_has(w->info, MPI_ROLE_REQUEST) && strstr(mpi_descs[w->c->op].name, "_init"))
		w->t.item.own = MPI_PERSISTENT;
	w->members = (comm->remote ? comm->remote : comm->local)->count;
	w->root = root == (comm->remote ? mpi_module->root : comm->rank);
	w->bystander = comm->remote && root == mpi_module->proc_null;
	w->send_in_place = mpi_has(w->info, MPI_ROLE_SENDBUF) &&
			   arg(w, MPI_ROLE_SENDBUF) == mpi_module->in_place;
	w->receive_in_place = mpi_has(w->info, MPI_ROLE_RECVBUF) &&
			      arg(w, MPI_ROLE_RECVBUF) == mpi_module->in_place;
	if (w->info->group != MPI_CLASS_BARRIER && !mpi_has(w->info, MPI_ROLE_ROOT))
		symmetric(w);
	else if (w->info->group != MPI_CLASS_BARRIER && !w->bystander)
		rooted(w);
	finish_transfer(w);
}

/* ---- point to point, one-sided, files ------------------------------------------------------- */

static bool nobody(const struct view *w, enum mpi_role role)
{
	return (int64_t)arg(w, role) == mpi_module->proc_null;
}

/* Of a transfer, 1 where it has none; what has some says so in the record. */
static int64_t partitions(struct view *w)
{
	if (!mpi_has(w->info, MPI_ROLE_PARTS))
		return 1;
	w->t.item.partitions = (uint32_t)arg(w, MPI_ROLE_PARTS);
	return (int64_t)arg(w, MPI_ROLE_PARTS);
}

static void send(struct view *w, uint8_t own)
{
	int64_t parts = partitions(w);

	if (nobody(w, MPI_ROLE_DEST))
		return;
	w->t.item.op = COMM_OP_SEND;
	w->t.item.own = own;
	w->t.item.peer = mpi_world_rank(w->t.comm, (int64_t)arg(w, MPI_ROLE_DEST));
	w->t.item.tag = (int32_t)arg(w, MPI_ROLE_TAG);
	w->t.item.sent = amount(w, parts * (int64_t)arg(w, MPI_ROLE_COUNT), MPI_ROLE_TYPE);
	finish_transfer(w);
}

static void receive(struct view *w, uint8_t own)
{
	int64_t parts = partitions(w);

	if (mpi_has(w->info, MPI_ROLE_SOURCE) && nobody(w, MPI_ROLE_SOURCE))
		return;
	w->t.item.probe = 0;
	if (mpi_has(w->info, MPI_ROLE_MESSAGE)) {
		w->t.comm = (const struct mpi_comm *)(uintptr_t)w->c->handle;
		w->t.item.probe = w->c->probe;
	}
	w->t.item.op = COMM_OP_RECEIVE;
	w->t.item.own = own;
	w->t.item.datatype = 0;
	w->t.item.peer = mpi_world_rank(w->t.comm, (int64_t)arg(w, MPI_ROLE_SOURCE));
	w->t.item.tag = (int32_t)arg(w, MPI_ROLE_TAG2);
	w->t.item.received = amount(w, parts * (int64_t)arg(w, MPI_ROLE_COUNT2), MPI_ROLE_TYPE2);
	finish_transfer(w);
}

static void one_sided(struct view *w)
{
	int64_t count = mpi_has(w->info, MPI_ROLE_COUNT) ? (int64_t)arg(w, MPI_ROLE_COUNT) : 1;

	if (nobody(w, MPI_ROLE_DEST))
		return;
	w->t.comm = mpi_comm_of(MPI_OBJECT_WINDOW, arg(w, MPI_ROLE_WIN));
	w->t.item.peer = mpi_world_rank(w->t.comm, (int64_t)arg(w, MPI_ROLE_DEST));
	w->t.item.op = w->info->group == MPI_CLASS_PUT   ? COMM_OP_PUT
		       : w->info->group == MPI_CLASS_GET ? COMM_OP_GET
							 : COMM_OP_ACCUMULATE;
	if (w->info->group != MPI_CLASS_GET)
		w->t.item.sent = amount(w, count, MPI_ROLE_TYPE);
	if (w->info->group == MPI_CLASS_GET)
		w->t.item.received = amount(w, count, MPI_ROLE_TYPE);
	else if (w->info->group == MPI_CLASS_FETCH)
		w->t.item.received = amount(
			w, mpi_has(w->info, MPI_ROLE_COUNT2) ? (int64_t)arg(w, MPI_ROLE_COUNT2) : 1,
			MPI_ROLE_TYPE2);
	finish_transfer(w);
}

static void file(struct view *w)
{
	w->t.comm = mpi_comm_of(MPI_OBJECT_FILE, arg(w, MPI_ROLE_FILE));
	w->t.item.op = w->info->group == MPI_CLASS_READ ? COMM_OP_READ : COMM_OP_WRITE;
	if (mpi_has(w->info, MPI_ROLE_COUNT))
		*(w->t.item.op == COMM_OP_READ ? &w->t.item.received : &w->t.item.sent) =
			counted(w, MPI_ROLE_COUNT, MPI_ROLE_TYPE);
	finish_transfer(w);
}

/* ---- completion ----------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
end_of(const struct mpi_call *c, struct mpi_transfer *t, uint64_t statuses, uint32_t index)
{
	if (has_status(statuses))
		status_at(statuses, index, t);
	comm_item_write(&t->item, t->id, c->frame->id, c->frame->end);
}

/* One request may stand for a send and a receive that were started together by `first`. */
static __attribute__((noinline)) void complete_any(const struct mpi_call *c, uint64_t handle,
						   uint64_t first, uint64_t statuses,
						   uint32_t index)
{
	struct mpi_transfer persistent, *t;

	while ((t = mpi_requests_complete(handle, first, &persistent)) != NULL) {
		first = t->item.own & MPI_FOLLOWED ? t->item.correlation : 0;
		end_of(c, t, statuses, index);
		if (t != &persistent)
			mpi_requests_release(handle, t);
		if (!first)
			return;
	}
}

static void complete(const struct mpi_call *c, uint64_t handle, uint64_t statuses, uint32_t index)
{
	struct mpi_transfer *t = handle ? mpi_near_complete(handle) : NULL;

	if (cap_unlikely(!t)) {
		complete_any(c, handle, 0, statuses, index);
		return;
	}
	end_of(c, t, statuses, index);
	if (cap_unlikely(t->item.own & MPI_FOLLOWED))
		complete_any(c, handle, t->item.correlation, statuses, index);
}

static void complete_some(const struct mpi_call *c, const struct mpi_info *info)
{
	uint64_t statuses = mpi_arg(c, info, MPI_ROLE_STATUSES);
	int n = mpi_int_at(mpi_arg(c, info, MPI_ROLE_OUTCOUNT), 0);

	for (int i = 0; i < n && n != mpi_module->undefined; i++) {
		int k = mpi_int_at(mpi_arg(c, info, MPI_ROLE_INDICES), (uint32_t)i);

		if (k >= 0 && (uint32_t)k < c->count)
			complete(c, c->saved[k], statuses, (uint32_t)i);
	}
}

/* Where there are many, what is known of the next ones is fetched from far memory meanwhile. */
static void complete_all(const struct mpi_call *c, uint64_t statuses)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (i + FAR < c->count)
			mpi_requests_expect(c->saved[i + FAR], c->saved[i + NEAR]);
		complete(c, c->saved[i], statuses, i);
	}
}

static void completed(const struct mpi_call *c, const struct mpi_info *info)
{
	int k;

	if (mpi_has(info, MPI_ROLE_FLAG) && !mpi_int_at(mpi_arg(c, info, MPI_ROLE_FLAG), 0))
		return;
	switch ((enum mpi_class)info->group) {
	case MPI_CLASS_WAITANY:
		k = mpi_int_at(mpi_arg(c, info, MPI_ROLE_INDEX), 0);
		if (k >= 0 && (uint32_t)k < c->count)
			complete(c, c->saved[k], mpi_arg(c, info, MPI_ROLE_STATUS), 0);
		return;
	case MPI_CLASS_WAITSOME:
		complete_some(c, info);
		return;
	case MPI_CLASS_WAIT:
		complete(c, c->saved[0], mpi_arg(c, info, MPI_ROLE_STATUS), 0);
		return;
	default:
		complete_all(c, mpi_arg(c, info, MPI_ROLE_STATUSES));
	}
}

static void freed(const struct mpi_call *c)
{
	struct mpi_transfer *t = c->count ? mpi_requests_drop(c->saved[0]) : NULL;

	if (!t)
		return;
	t->item.state = COMM_FREED;
	if (t->item.own & MPI_ACTIVE)
		comm_item_write(&t->item, t->id, c->frame->id, c->frame->end);
	mpi_requests_release(c->saved[0], t);
}

/* ---- objects -------------------------------------------------------------------------------- */

static enum mpi_object object_of(const struct mpi_info *info)
{
	return info->group >= MPI_CLASS_FILE_OPEN ? MPI_OBJECT_FILE
	       : info->group >= MPI_CLASS_WIN_NEW ? MPI_OBJECT_WINDOW
						  : MPI_OBJECT_COMM;
}

/* Files are pointers in every implementation. */
static uint64_t object_at(const struct mpi_info *info, uint64_t address)
{
	uint64_t file;

	if (object_of(info) != MPI_OBJECT_FILE)
		return mpi_handle_at(address, 0);
	memcpy(&file, (const void *)(uintptr_t)address, sizeof(file));
	return file;
}

static void made(const struct mpi_call *c, const struct mpi_info *info)
{
	uint64_t handle = object_at(info, mpi_arg(c, info, MPI_ROLE_NEW));
	const struct mpi_comm *parent = NULL;

	if (info->group == MPI_CLASS_COMM_NEW && handle == mpi_module->comm_null)
		return;
	if (mpi_has(info, MPI_ROLE_COMM))
		parent = mpi_comm_of(MPI_OBJECT_COMM, mpi_arg(c, info, MPI_ROLE_COMM));
	if (c->op != MPI_OP_Comm_get_parent)
		mpi_comm_forget(object_of(info), handle);
	/* One that is made in the background may not be asked about yet. */
	if (!mpi_has(info, MPI_ROLE_REQUEST))
		mpi_comm_made(object_of(info), handle, parent ? parent->id : 0);
}

/* ---- entry points --------------------------------------------------------------------------- */

/* Of what is not there MPI says itself what it thinks. */
static void save(struct mpi_call *c, uint64_t at, int64_t n)
{
	if (n <= 0 || !at)
		return;
	if (n > MPI_FEW) {
		c->saved = malloc((size_t)n * sizeof(*c->saved));
		if (!c->saved) {
			c->saved = c->few;
			n = MPI_FEW;
		}
	}
	if (mpi_module->handle_size == 8)
		for (int64_t i = 0; i < n; i++)
			memcpy(&c->saved[i], (const char *)(uintptr_t)at + 8 * i, 8);
	else
		for (int64_t i = 0; i < n; i++)
			c->saved[i] = mpi_handle_at(at, (uint32_t)i);
	c->count = (uint32_t)n;
}

/* What a call takes away: afterwards nothing tells what it was. */
static void given_back(struct mpi_call *c, uint64_t handle)
{
	c->saved[0] = handle;
	c->count = 1;
}

void mpi_traffic_before(struct mpi_call *c, const struct mpi_info *info)
{
	uint64_t first = mpi_arg(c, info, MPI_ROLE_HANDLE);

	switch ((enum mpi_class)info->group) {
	case MPI_CLASS_WAIT:
	case MPI_CLASS_REQUEST_FREE:
	case MPI_CLASS_FREE:
		save(c, first, 1);
		break;
	case MPI_CLASS_WAITALL:
	case MPI_CLASS_WAITANY:
	case MPI_CLASS_WAITSOME:
	case MPI_CLASS_STARTALL:
		save(c, mpi_arg(c, info, MPI_ROLE_REQUESTS), (int32_t)mpi_arg(c, info, MPI_ROLE_N));
		break;
	case MPI_CLASS_COMM_FREE:
	case MPI_CLASS_WIN_FREE:
	case MPI_CLASS_FILE_CLOSE:
		/* Before: its handle may be another's as soon as the call is done. */
		if (!first)
			break;
		given_back(c, object_at(info, first));
		mpi_comm_forget(object_of(info), c->saved[0]);
		break;
	case MPI_CLASS_TYPE_CHANGED:
		if (c->op == MPI_OP_Type_free && !first)
			break;
		if (c->op == MPI_OP_Type_free)
			given_back(c, mpi_handle_at(first, 0));
		mpi_type_forget(c->op == MPI_OP_Type_free ? c->saved[0] : first);
		break;
	case MPI_CLASS_RECV:
		if (mpi_has(info, MPI_ROLE_MESSAGE) && mpi_arg(c, info, MPI_ROLE_MESSAGE))
			c->handle = mpi_message_take(
				mpi_handle_at(mpi_arg(c, info, MPI_ROLE_MESSAGE), 0), &c->probe);
		break;
	default:
		break;
	}
}

static void move(struct mpi_call *c, const struct mpi_info *info)
{
	struct view w = {.c = c, .info = info, .t = {.item = {.peer = -1, .tag = -1}}};

	if (mpi_has(info, MPI_ROLE_COMM))
		w.t.comm = mpi_comm_of(MPI_OBJECT_COMM, arg(&w, MPI_ROLE_COMM));
	switch ((enum mpi_class)info->group) {
	case MPI_CLASS_SEND:
	case MPI_CLASS_SEND_INIT:
		send(&w, info->group == MPI_CLASS_SEND_INIT ? MPI_PERSISTENT : 0);
		break;
	case MPI_CLASS_RECV:
	case MPI_CLASS_RECV_INIT:
		receive(&w, info->group == MPI_CLASS_RECV_INIT ? MPI_PERSISTENT : 0);
		break;
	case MPI_CLASS_SENDRECV:
		send(&w, MPI_FOLLOWED);
		receive(&w, 0);
		break;
	case MPI_CLASS_PUT:
	case MPI_CLASS_GET:
	case MPI_CLASS_ACCUMULATE:
	case MPI_CLASS_FETCH:
		one_sided(&w);
		break;
	case MPI_CLASS_READ:
	case MPI_CLASS_WRITE:
		file(&w);
		break;
	default:
		collective(&w);
	}
}

static void other_call(struct mpi_call *c, const struct mpi_info *info)
{
	const struct cap_frame *f = c->frame;

	switch ((enum mpi_class)info->group) {
	case MPI_CLASS_INIT:
	case MPI_CLASS_SESSION:
		mpi_job_after_init(info->group == MPI_CLASS_INIT);
		break;
	case MPI_CLASS_CONTROL: /* level 1 goes before the call: both are recorded */
		if ((int)c->v[0] == 0)
			marker_control(KYMO_PAUSE_ALL);
		break;
	case MPI_CLASS_START:
		mpi_requests_start(mpi_handle_at(mpi_arg(c, info, MPI_ROLE_HANDLE), 0), f->id,
				   f->start);
		break;
	case MPI_CLASS_STARTALL:
		for (uint32_t i = 0; i < c->count; i++)
			mpi_requests_start(c->saved[i], f->id, f->start);
		break;
	case MPI_CLASS_REQUEST_FREE:
		freed(c);
		break;
	case MPI_CLASS_COMM_NAME:
	case MPI_CLASS_WIN_NAME:
		mpi_comm_named(object_of(info), mpi_arg(c, info, MPI_ROLE_HANDLE));
		break;
	case MPI_CLASS_COMM_NEW:
	case MPI_CLASS_WIN_NEW:
	case MPI_CLASS_FILE_OPEN:
		made(c, info);
		break;
	case MPI_CLASS_PROBE:
		if (!mpi_has(info, MPI_ROLE_FLAG) || mpi_int_at(mpi_arg(c, info, MPI_ROLE_FLAG), 0))
			mpi_message_put(
				mpi_handle_at(mpi_arg(c, info, MPI_ROLE_MESSAGE), 0),
				mpi_comm_of(MPI_OBJECT_COMM, mpi_arg(c, info, MPI_ROLE_COMM)),
				f->id);
		break;
	default:
		break;
	}
}

void mpi_traffic_after(struct mpi_call *c, const struct mpi_info *info, bool ok)
{
	if (info->group >= MPI_CLASS_SEND && info->group <= MPI_CLASS_WRITE) {
		if (ok && mpi_host_alive() &&
		    atomic_load_explicit(&mpi_moves[c->op], memory_order_relaxed) &&
		    !plain_message(c, info))
			move(c, info);
	} else if (info->group >= MPI_CLASS_WAIT && info->group <= MPI_CLASS_WAITSOME) {
		if (ok && mpi_host_alive())
			completed(c, info);
	} else if (ok) {
		other_call(c, info);
	}
	if (c->saved != c->few)
		free(c->saved);
}
