/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and collectives, which calls of MPI are rows of; see reader.h. */
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"
#include "record/fields.h"
#include "wire/defs.h"

/* ---- communicators ----------------------------------------------------------------------------- */

static uint64_t comm_key(uint64_t owner, int64_t handle)
{
	return hash_mix(hash_u64(owner), (uint64_t)handle);
}

/* Of a rank, the communicator that it calls so. */
static void take_communicator(struct reader *r, const struct dbrow *row, uint32_t source)
{
	struct communicator c = {.rank = nsys_number(r, row, C_COMM_RANK),
				 .handle = nsys_number(r, row, C_COMM_HANDLE),
				 .size = nsys_number(r, row, C_COMM_SIZE),
				 .own = nsys_number(r, row, C_COMM_OWN),
				 .uid = (uint64_t)nsys_number(r, row, C_COMM_UID)};
	uint64_t key = comm_key((uint64_t)c.rank, c.handle);

	if (c.size <= 0 || c.size > INT32_MAX || c.own < 0 || c.own >= c.size) {
		unplaced_add(&r->left_out, "communicators of no size or rank", 1);
		return;
	}
	if (map_get(&r->comms_at, key)) {
		unplaced_add(&r->left_out, "further communicators of one handle", 1);
		return;
	}
	if (!vec_reserve(&r->comms, &r->comm_room, r->comm_count, 1)) {
		r->failed = true;
		return;
	}
	r->comms[r->comm_count++] = c;
	r->world = c.size > r->world ? c.size : r->world;
	if (!map_set(&r->comms_at, key, r->comm_count))
		r->failed = true;
}

static const struct communicator *described(const struct reader *r, uint32_t process,
					    int64_t handle)
{
	uint64_t i = map_get(&r->comms_at, comm_key(r->t->processes[process].rank, handle));

	return i ? &r->comms[i - 1] : NULL;
}

/* Index; 0: it is of none. */
static uint32_t communicator_of(struct reader *r, uint32_t process, const struct dbrow *row)
{
	int64_t handle = nsys_number(r, row, C_CALL_COMM);
	uint64_t key = comm_key(process, handle);
	uint32_t known = (uint32_t)map_get(&r->communicators, key);
	const struct communicator *c = described(r, process, handle);
	struct t_communicator x = {.process = process,
				   .kind = COMMUNICATOR_INTRA,
				   .name = "",
				   .handle = (uint64_t)handle};

	if (known || r->walks || !dbrow_has(row, C_CALL_COMM))
		return known;
	x.id = r->communicators.count + 1;
	x.key = hash_mix(hash_u64(c && c->uid ? c->uid : (uint64_t)handle), c && c->uid);
	if (c) {
		x.size = (uint32_t)c->size;
		x.own_rank = (uint32_t)c->own + 1;
	}
	known = r->t->communicators_count;
	*trace_add(r->t, communicators) = x;
	if (!map_set(&r->communicators, key, known))
		r->failed = true;
	return known;
}

/*
 * Ranks are those of the communicator. They are the job's where it is not described, or has all processes and
 * this one has its own rank in it.
 */
static int32_t peer_of(struct reader *r, uint32_t process, const struct dbrow *row, unsigned column)
{
	int64_t rank = dbrow_has(row, column) ? nsys_number(r, row, column) : -1;
	const struct communicator *c = described(r, process, nsys_number(r, row, C_CALL_COMM));

	if (rank < 0 || rank > INT32_MAX)
		return -1;
	if (!c || (c->size == r->world && c->own == c->rank))
		return (int32_t)rank;
	unplaced_add(&r->left_out, "ranks in communicators that are a part of the job", 1);
	return -1;
}

/* ---- messages ---------------------------------------------------------------------------------- */

static bool has(const struct t_op *op, const char *word)
{
	return strcasestr(op->name, word) != NULL;
}

/* COMM_OP_..., or UINT32_MAX of calls that move nothing. */
static uint32_t what_of(const struct reader *r, const struct assembly_item *i)
{
	const struct t_op *op = &r->t->ops[i->number];
	const struct calls *calls;

	if (i->kind != ASSEMBLY_CALL || i->source < TABLES)
		return UINT32_MAX;
	calls = &r->calls[i->source - TABLES];
	if (strcmp(calls->name, "MPI_COLLECTIVES_EVENTS") == 0)
		return has(op, "_init") ? UINT32_MAX : COMM_OP_COLLECTIVE;
	if (strcmp(calls->name, "MPI_P2P_EVENTS") != 0 || has(op, "_init") ||
	    has(op, "send") == has(op, "recv"))
		return UINT32_MAX;
	return has(op, "send") ? COMM_OP_SEND : COMM_OP_RECEIVE;
}

/* Only the root gives, and the file has one size for both ends. */
static bool is_given(const struct t_op *op, const struct rec_comm *c, const struct t_process *p)
{
	return !(has(op, "bcast") || has(op, "scatter")) || has(op, "reduce_scatter") ||
	       c->peer < 0 || p->rank == (uint32_t)c->peer;
}

static uint64_t bytes_of(struct reader *r, const struct dbrow *row, unsigned column)
{
	int64_t v = nsys_number(r, row, column);

	if (v >= 0)
		return (uint64_t)v;
	unplaced_add(&r->left_out, "numbers out of range", 1);
	return 0;
}

static void put_bytes(struct reader *r, struct rec_comm *c, uint32_t what, const struct dbrow *row,
		      const struct t_op *op)
{
	uint64_t size = bytes_of(r, row, C_CALL_SIZE);
	bool given = what == COMM_OP_SEND;

	if (what == COMM_OP_COLLECTIVE)
		given = is_given(op, c, &r->t->processes[c->base.process]);
	if (given)
		c->sent = size;
	else
		c->received = size;
	if (what == COMM_OP_COLLECTIVE && dbrow_has(row, C_CALL_RECEIVED))
		c->received = bytes_of(r, row, C_CALL_RECEIVED);
}

/* Before the record of its call, whose time it has. */
kymo_status_t nsys_deliver_message(struct reader *r, struct stream_sink *sink,
				   const struct assembly_item *i, const struct dbrow *row)
{
	const struct t_op *op = &r->t->ops[i->number];
	uint32_t what = what_of(r, i);
	int64_t tag = dbrow_has(row, C_CALL_TAG) ? nsys_number(r, row, C_CALL_TAG) : -1;
	struct rec_comm c = {.base = assembly_base(&r->all, i), .correlation = i->key, .tag = -1};

	if (what == UINT32_MAX)
		return KYMO_OK;
	if (what == COMM_OP_SEND && dbrow_has(row, C_CALL_PEER) &&
	    nsys_number(r, row, C_CALL_PEER) < 0) /* to nobody */
		return KYMO_OK;
	c.base.parent = i->key;
	c.communicator = communicator_of(r, i->process, row);
	c.peer =
		peer_of(r, i->process, row, what == COMM_OP_COLLECTIVE ? C_CALL_ROOT : C_CALL_PEER);
	if (what != COMM_OP_COLLECTIVE && tag >= 0 && tag <= INT32_MAX)
		c.tag = (int32_t)tag;
	c.request = (uint64_t)nsys_number(r, row, C_CALL_REQUEST);
	put_bytes(r, &c, what, row, op);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_comm, what);
	return sink->comm(sink, &c);
}

/* Once the ranks of processes are known. */
void nsys_define_messages(struct reader *r)
{
	struct dbwalk *walks = nsys_walks(r);
	struct source_row x;

	nsys_each(r, T_COMMUNICATOR, take_communicator);
	r->failed |= !walks;
	for (uint32_t n = 0; n < r->all.count && !r->failed; n++) {
		const struct assembly_item *i = &r->all.items[n];

		if (what_of(r, i) == UINT32_MAX || !nsys_row(r, walks, i, &x))
			continue;
		make_activity(&r->model, RECORD_DOMAIN_comm, 0);
		communicator_of(r, i->process, &x.row);
	}
	nsys_walks_end(r, walks);
}
