/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: MPI's as MPI events on the threads that sent and received, in communicators whose
 * members are the ranks' main threads; a rank that was not recorded has a location without events,
 * so that ranks keep their numbers. What other libraries exchange (NCCL, libfabric) is a region.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"
#include "wire/defs.h"

static const char no_peer[] = "messages whose other side is not known",
		  foreign[] = "messages of libraries other than MPI outside of recorded calls",
		  files[] = "transfers of files (MPI-IO) outside of recorded calls",
		  partitioned[] = "partitions of transfers";

struct world {
	uint32_t *locations;  /* by rank */
	uint32_t size, first; /* first: place in the group of all worlds */
};

struct mpi_comm {              /* one for all members that know it by the same key */
	uint32_t communicator; /* index of the first member's */
	uint32_t world;
	bool window;
	uint32_t number; /* of windows: theirs */
};

struct mpi {
	struct world *worlds;
	uint32_t world_count;
	uint32_t *comm_of; /* by index of the trace's list: place + 1 */
	struct mpi_comm *comms;
	uint32_t comm_count, comm_room;
	uint32_t
		elsewhere; /* location of ranks of worlds that are not told, + 1; 0: there are none */
};

/* ---- ranks and communicators --------------------------------------------------------------- */

static uint32_t world_of(const struct otf2 *w, uint32_t process)
{
	uint32_t world = w->t->processes[process].world;

	return world < w->mpi->world_count ? world : 0;
}

static bool is_rank(const struct t_process *p)
{
	return p->rank != UINT32_MAX && p->mpi && *p->mpi;
}

static void add_rank(struct otf2 *w, uint32_t process)
{
	const struct trace *t = w->t;
	struct world *x = &w->mpi->worlds[world_of(w, process)];
	uint32_t rank = t->processes[process].rank;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		if (t->threads[i].process == process && t->threads[i].main)
			x->locations[rank] = row_location(w, &w->threads[i]) + 1;
	}
	if (!x->locations[rank])
		x->locations[rank] = row_location(w, &w->processes[process]) + 1;
}

static void add_missing(struct otf2 *w)
{
	char name[64];

	for (uint32_t i = 0; i < w->mpi->world_count; i++) {
		struct world *x = &w->mpi->worlds[i];

		for (uint32_t rank = 0; rank < x->size; rank++) {
			if (x->locations[rank])
				continue;
			snprintf(name, sizeof(name), "rank %u (not recorded)", rank);
			x->locations[rank] = 1 + archive_location(&w->archive, name,
								  OTF2_LOCATION_TYPE_CPU_THREAD,
								  define_process_group(w, 0));
		}
	}
}

/* Of a communicator with ranks of other worlds, as of MPI_Comm_spawn(), which these are is not known. */
static bool all_told(const struct t_ranks *runs, uint32_t n, uint32_t size)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (runs[i].first == UINT32_MAX)
			return false;
		count += runs[i].count;
	}
	return count == size;
}

static void add_elsewhere(struct otf2 *w)
{
	const struct trace *t = w->t;
	bool told = true;

	for (uint32_t i = 1; i < t->communicators_count && told; i++) {
		const struct t_communicator *c = &t->communicators[i];

		told = all_told(c->members, c->member_runs, c->size) &&
		       (c->kind != COMMUNICATOR_INTER ||
			all_told(c->remote, c->remote_runs, c->remote_size));
	}
	if (!told)
		w->mpi->elsewhere = 1 + archive_location(&w->archive, "ranks of other worlds",
							 OTF2_LOCATION_TYPE_CPU_THREAD,
							 define_process_group(w, 0));
}

/* Both groups are known, and are to be told by OTF2's own definition. */
static bool in_two_groups(const struct otf2 *w, const struct t_communicator *c)
{
	return w->intercomm && c->kind == COMMUNICATOR_INTER &&
	       all_told(c->members, c->member_runs, c->size) &&
	       all_told(c->remote, c->remote_runs, c->remote_size);
}

static bool same(const struct trace *t, const struct t_communicator *a, uint32_t index)
{
	const struct t_communicator *b = &t->communicators[index];

	return a->key && a->key == b->key &&
	       (a->size == b->size ||
		(a->kind == COMMUNICATOR_INTER && a->size == b->remote_size)) &&
	       t->processes[a->process].world == t->processes[b->process].world;
}

/* All ranks of the world in their order: events say the world for it. */
static bool is_world(const struct otf2 *w, const struct t_communicator *c)
{
	return c->kind == COMMUNICATOR_INTRA && !c->parent && c->member_runs == 1 &&
	       c->members[0].first == 0 && c->members[0].stride == 1 &&
	       c->size == w->mpi->worlds[world_of(w, c->process)].size && c->name &&
	       strcmp(c->name, "MPI_COMM_WORLD") == 0;
}

static bool add_comm(struct otf2 *w, struct map *keys, uint32_t i)
{
	const struct t_communicator *c = &w->t->communicators[i];
	struct mpi *m = w->mpi;
	uint64_t hash = hash_u64(c->key), place;

	if (is_world(w, c))
		return true;
	map_each(keys, hash, place) {
		if (same(w->t, c, m->comms[place - 1].communicator)) {
			m->comm_of[i] = (uint32_t)place;
			return true;
		}
	}
	if (!vec_reserve(&m->comms, &m->comm_room, m->comm_count, 1) ||
	    !map_add(keys, hash, m->comm_count + 1u))
		return false;
	m->comms[m->comm_count++] = (struct mpi_comm){
		i, world_of(w, c->process), c->kind == COMMUNICATOR_WINDOW, w->mpi_windows};
	w->mpi_windows += c->kind == COMMUNICATOR_WINDOW;
	m->comm_of[i] = m->comm_count;
	return true;
}

static bool make_worlds(struct otf2 *w)
{
	const struct trace *t = w->t;
	struct mpi *m = w->mpi;
	uint32_t top = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		top = t->processes[i].world > top ? t->processes[i].world : top;
	m->world_count = top + 1;
	m->worlds = calloc(m->world_count, sizeof(*m->worlds));
	if (!m->worlds)
		return false;
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];
		struct world *x = &m->worlds[world_of(w, i)];

		if (!is_rank(p))
			continue;
		x->size = p->rank >= x->size ? p->rank + 1 : x->size;
		x->size = p->ranks > x->size ? p->ranks : x->size;
	}
	for (uint32_t i = 0; i < m->world_count; i++) {
		m->worlds[i].first = i ? m->worlds[i - 1].first + m->worlds[i - 1].size : 0;
		m->worlds[i].locations = calloc(m->worlds[i].size + 1u, sizeof(uint32_t));
		if (!m->worlds[i].locations)
			return false;
	}
	return true;
}

kymo_status_t mpi_begin(struct otf2 *w)
{
	const struct trace *t = w->t;
	struct map keys = {0};
	bool any = false, fine = true;

	for (uint32_t i = 1; i < t->processes_count; i++)
		any = any || is_rank(&t->processes[i]);
	if (!any)
		return KYMO_OK;
	w->mpi = calloc(1, sizeof(*w->mpi));
	if (!w->mpi || !make_worlds(w))
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 1; i < t->processes_count; i++) {
		if (is_rank(&t->processes[i]))
			add_rank(w, i);
	}
	add_missing(w);
	add_elsewhere(w);
	w->mpi->comm_of = calloc(t->communicators_count, sizeof(uint32_t));
	fine = w->mpi->comm_of != NULL;
	for (uint32_t i = 1; fine && i < t->communicators_count; i++)
		fine = add_comm(w, &keys, i);
	map_release(&keys);
	return fine ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* World i has number i, communicator i comes after the worlds; windows have theirs later. */
static uint32_t comm_number(const struct otf2 *w, uint32_t process, uint32_t communicator)
{
	const struct mpi *m = w->mpi;
	const struct t_communicator *c = &w->t->communicators[communicator];

	if (!communicator || communicator >= w->t->communicators_count || !c->member_runs ||
	    !m->comm_of[communicator])
		return world_of(w, process);
	return m->world_count + m->comm_of[communicator] - 1;
}

/* Where a rank of the world is in a list of ranks; *before grows by those that are not it. */
static bool place_in(const struct t_ranks *runs, uint32_t n, int32_t peer, uint32_t *before)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t away = (int64_t)peer - runs[i].first, at;

		if (runs[i].first != UINT32_MAX && runs[i].count) {
			at = runs[i].stride ? away / runs[i].stride : 0;
			if (at >= 0 && at < runs[i].count && at * runs[i].stride == away) {
				*before += (uint32_t)at;
				return true;
			}
		}
		*before += runs[i].count;
	}
	return false;
}

/*
 * A rank of the world as the communicator numbers it: of two groups, the second comes after the first, or both begin
 * with 0.
 */
static bool rank_in(const struct otf2 *w, uint32_t number, int32_t peer, uint32_t *rank)
{
	const struct mpi *m = w->mpi;
	const struct t_communicator *c;

	if (peer < 0)
		return false;
	*rank = (uint32_t)peer;
	if (number < m->world_count)
		return *rank < m->worlds[number].size;
	c = &w->t->communicators[m->comms[number - m->world_count].communicator];
	*rank = 0;
	if (place_in(c->members, c->member_runs, peer, rank))
		return true;
	if (in_two_groups(w, c))
		*rank = 0;
	return c->kind == COMMUNICATOR_INTER && place_in(c->remote, c->remote_runs, peer, rank);
}

/* Of a collective whose root is in the caller's own of two groups: numbers are of the other one. */
static bool root_beside(const struct otf2 *w, const struct rec_comm *r, uint32_t *root)
{
	const struct trace *t = w->t;
	const struct t_communicator *c = &t->communicators[r->communicator];
	uint32_t place = 0;

	if (!in_two_groups(w, c) || !place_in(c->members, c->member_runs, r->peer, &place))
		return false;
	*root = t->processes[r->base.process].rank == (uint32_t)r->peer
			? OTF2_COLLECTIVE_ROOT_SELF
			: OTF2_COLLECTIVE_ROOT_THIS_GROUP;
	return true;
}

/* ---- events -------------------------------------------------------------------------------- */

struct message {
	const struct rec_comm *r;
	struct row *row;
	OTF2_EvtWriter *e;
	uint32_t comm, rank, tag;
	uint64_t request;
	bool blocking;
};

static void later(struct otf2 *w, const struct message *m, enum point_kind kind, uint64_t x,
		  uint64_t y)
{
	const struct point p = {.time = m->r->base.end > m->r->base.start ? m->r->base.end
									  : m->r->base.start,
				.kind = kind,
				.a = m->rank,
				.b = m->comm,
				.c = m->tag,
				.x = x,
				.y = y,
				.request = m->request};

	row_point(w, m->row, &p);
}

static void send_message(struct otf2 *w, const struct message *m)
{
	uint64_t time = otf2_time(m->r->base.start);

	if (m->blocking) {
		archive_check(&w->archive, OTF2_EvtWriter_MpiSend(m->e, NULL, time, m->rank,
								  m->comm, m->tag, m->r->sent));
		return;
	}
	archive_check(&w->archive, OTF2_EvtWriter_MpiIsend(m->e, NULL, time, m->rank, m->comm,
							   m->tag, m->r->sent, m->request));
	later(w, m, m->r->state == COMM_CANCELLED ? POINT_CANCELLED : POINT_ISEND_COMPLETE, 0, 0);
}

static void receive_message(struct otf2 *w, const struct message *m)
{
	if (m->blocking) {
		later(w, m, POINT_RECEIVE, m->r->received, 0);
		return;
	}
	archive_check(&w->archive, OTF2_EvtWriter_MpiIrecvRequest(
					   m->e, NULL, otf2_time(m->r->base.start), m->request));
	later(w, m, m->r->state == COMM_CANCELLED ? POINT_CANCELLED : POINT_IRECEIVE,
	      m->r->received, 0);
}

static OTF2_CollectiveOp collective_of(const char *call)
{
	static const struct {
		const char *name;
		OTF2_CollectiveOp op;
	} list[] = {{"barrier", OTF2_COLLECTIVE_OP_BARRIER},
		    {"bcast", OTF2_COLLECTIVE_OP_BCAST},
		    {"gather", OTF2_COLLECTIVE_OP_GATHER},
		    {"gatherv", OTF2_COLLECTIVE_OP_GATHERV},
		    {"scatter", OTF2_COLLECTIVE_OP_SCATTER},
		    {"scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
		    {"allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
		    {"allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
		    {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
		    {"alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
		    {"alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
		    {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
		    {"reduce", OTF2_COLLECTIVE_OP_REDUCE},
		    {"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
		    {"reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
		    {"scan", OTF2_COLLECTIVE_OP_SCAN},
		    {"exscan", OTF2_COLLECTIVE_OP_EXSCAN}};
	char name[64];
	size_t n;

	if (strncasecmp(call, "MPI_", 4) != 0)
		return OTF2_COLLECTIVE_OP_CREATE_HANDLE;
	call += call[4] == 'I' && call[5] ? 5 : 4;
	snprintf(name, sizeof(name), "%s", call);
	n = strlen(name);
	if (n > 2 && strcmp(name + n - 2, "_c") == 0)
		name[n - 2] = 0;
	if (n > 5 && strcmp(name + n - 5, "_init") == 0)
		name[n - 5] = 0;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (strcasecmp(list[i].name, name) == 0)
			return list[i].op;
	}
	return strncasecmp(name, "neighbor_", 9) == 0 ? OTF2_COLLECTIVE_OP_ALLTOALLW
						      : OTF2_COLLECTIVE_OP_CREATE_HANDLE;
}

static void collective(struct otf2 *w, struct message *m, const struct open *call)
{
	const char *name = call ? w->t->ops[call->op].name : "";
	uint64_t time = otf2_time(m->r->base.start);

	m->tag = collective_of(name);
	if (m->blocking)
		archive_check(&w->archive, OTF2_EvtWriter_MpiCollectiveBegin(m->e, NULL, time));
	else
		archive_check(&w->archive, OTF2_EvtWriter_NonBlockingCollectiveRequest(
						   m->e, NULL, time, m->request));
	later(w, m, m->blocking ? POINT_COLLECTIVE_END : POINT_ICOLLECTIVE_END, m->r->sent,
	      m->r->received);
}

/* One-sided; the transfer is over when this process saw that. */
static void one_sided(struct otf2 *w, struct message *m, uint32_t op)
{
	OTF2_ErrorCode (*write)(OTF2_EvtWriter *, OTF2_AttributeList *, OTF2_TimeStamp,
				OTF2_RmaWinRef, uint32_t, uint64_t, uint64_t) =
		op == COMM_OP_GET ? OTF2_EvtWriter_RmaGet : OTF2_EvtWriter_RmaPut;
	uint64_t time = otf2_time(m->r->base.start),
		 id = m->request ? m->request : m->r->correlation;

	m->comm = w->mpi->comms[m->comm - w->mpi->world_count].number;
	m->request = id;
	if (op == COMM_OP_ACCUMULATE)
		archive_check(&w->archive,
			      OTF2_EvtWriter_RmaAtomic(m->e, NULL, time, m->comm, m->rank,
						       OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, m->r->sent,
						       m->r->received, id));
	else
		archive_check(&w->archive,
			      write(m->e, NULL, time, m->comm, m->rank,
				    op == COMM_OP_GET ? m->r->received : m->r->sent, id));
	later(w, m, POINT_RMA_COMPLETE, 0, 0);
}

static bool known_window(const struct otf2 *w, const struct message *m)
{
	uint32_t i = m->comm - w->mpi->world_count;

	return m->comm >= w->mpi->world_count && i < w->mpi->comm_count && w->mpi->comms[i].window;
}

/* OTF2's messages and transfers of files are MPI's and of handles; of others the call tells how much it was. */
static void tell_call(struct otf2 *w, const struct rec_comm *r, struct open *call, const char *what)
{
	if (!call) {
		unplaced_leave(&w->unplaced, what, 1, 1);
		return;
	}
	call->told = true;
	call->sent += r->sent;
	call->received += r->received;
}

static void write_message(struct otf2 *w, struct message *m, struct open *call)
{
	const struct rec_comm *r = m->r;
	uint32_t op = w->t->ops[r->base.op].number;
	bool known = rank_in(w, m->comm, r->peer, &m->rank);

	if (op == COMM_OP_COLLECTIVE) {
		if (!known)
			m->rank = OTF2_UNDEFINED_UINT32;
		else
			root_beside(w, r, &m->rank);
		collective(w, m, call);
	} else if (op == COMM_OP_READ || op == COMM_OP_WRITE) {
		tell_call(w, r, call, files);
	} else if (!known) {
		unplaced_leave(&w->unplaced, no_peer, 1, 1);
	} else if (op == COMM_OP_SEND) {
		send_message(w, m);
	} else if (op == COMM_OP_RECEIVE) {
		receive_message(w, m);
	} else if (known_window(w, m)) {
		one_sided(w, m, op);
	} else {
		unplaced_leave(&w->unplaced, no_peer, 1, 1);
	}
}

/* The domain of the call that started it, where that is still open: as it is, in order of time. */
static bool is_mpi(const struct otf2 *w, const struct rec_comm *r, const struct open *call)
{
	const struct trace *t = w->t;

	if (!w->mpi || !is_rank(&t->processes[r->base.process]))
		return false;
	return !call || strcmp(t->domains[t->ops[call->op].domain].name, "mpi") == 0;
}

kymo_status_t mpi_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct otf2 *w = otf2_of(s);
	struct message m = {.r = r, .tag = r->tag >= 0 ? (uint32_t)r->tag : 0};
	struct open *call;

	if (w->device_only)
		return KYMO_OK;
	m.row = row_of_thread(w, r->base.process, r->base.thread);
	row_advance(w, m.row, r->base.start);
	call = row_find(m.row, r->correlation);
	if (!is_mpi(w, r, call)) {
		tell_call(w, r, call, foreign);
		return KYMO_OK;
	}
	if (r->partitions)
		unplaced_add(&w->unplaced, partitioned, 1);
	m.e = archive_events(&w->archive, row_location(w, m.row));
	if (m.row->lanes[0].last > r->base.start) {
		unplaced_leave(&w->unplaced, "messages that begin before what was written", 1, 1);
		return KYMO_OK;
	}
	m.row->lanes[0].last = r->base.start;
	m.comm = comm_number(w, r->base.process, r->communicator);
	m.request = r->request;
	m.blocking = !r->request;
	write_message(w, &m, call);
	return otf2_status(w);
}

void mpi_point(struct otf2 *w, OTF2_EvtWriter *e, const struct point *p)
{
	uint64_t time = otf2_time(p->time);
	OTF2_ErrorCode code = OTF2_SUCCESS;

	switch (p->kind) {
	case POINT_RECEIVE:
		code = OTF2_EvtWriter_MpiRecv(e, NULL, time, p->a, p->b, p->c, p->x);
		break;
	case POINT_IRECEIVE:
		code = OTF2_EvtWriter_MpiIrecv(e, NULL, time, p->a, p->b, p->c, p->x, p->request);
		break;
	case POINT_ISEND_COMPLETE:
		code = OTF2_EvtWriter_MpiIsendComplete(e, NULL, time, p->request);
		break;
	case POINT_CANCELLED:
		code = OTF2_EvtWriter_MpiRequestCancelled(e, NULL, time, p->request);
		break;
	case POINT_COLLECTIVE_END:
		code = OTF2_EvtWriter_MpiCollectiveEnd(e, NULL, time, (OTF2_CollectiveOp)p->c, p->b,
						       p->a, p->x, p->y);
		break;
	case POINT_ICOLLECTIVE_END:
		code = OTF2_EvtWriter_NonBlockingCollectiveComplete(
			e, NULL, time, (OTF2_CollectiveOp)p->c, p->b, p->a, p->x, p->y, p->request);
		break;
	case POINT_RMA_COMPLETE:
		code = OTF2_EvtWriter_RmaOpCompleteBlocking(e, NULL, time, p->b, p->request);
		break;
	default:
		break;
	}
	archive_check(&w->archive, code);
}

/* ---- definitions --------------------------------------------------------------------------- */

static void write_group(struct otf2 *w, struct numbers *n, const char *name, OTF2_GroupType type,
			uint32_t count, const uint64_t *members)
{
	archive_check(&w->archive,
		      OTF2_GlobalDefWriter_WriteGroup(
			      w->archive.defs, n->group++, archive_string(&w->archive, name), type,
			      OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, members));
}

static void end_worlds(struct otf2 *w, struct numbers *n, uint64_t *list)
{
	struct archive *a = &w->archive;
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->mpi->world_count; i++) {
		for (uint32_t j = 0; j < w->mpi->worlds[i].size; j++)
			list[count++] = w->mpi->worlds[i].locations[j] - 1;
	}
	if (w->mpi->elsewhere)
		list[count++] = w->mpi->elsewhere - 1;
	write_group(w, n, "MPI ranks", OTF2_GROUP_TYPE_COMM_LOCATIONS, count, list);
	for (uint32_t i = 0; i < w->mpi->world_count; i++) {
		const struct world *x = &w->mpi->worlds[i];

		for (uint32_t j = 0; j < x->size; j++)
			list[j] = x->first + j;
		write_group(w, n, "MPI_COMM_WORLD", OTF2_GROUP_TYPE_COMM_GROUP, x->size, list);
		archive_check(a, OTF2_GlobalDefWriter_WriteComm(
					 a->defs, n->comm++, archive_string(a, "MPI_COMM_WORLD"),
					 n->group - 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
	}
}

/* Members of one side: places in the group of all ranks. */
static uint32_t side(const struct mpi *m, const struct world *x, const struct t_ranks *runs,
		     uint32_t n, uint64_t *list, uint32_t room)
{
	const struct world *last = &m->worlds[m->world_count - 1];
	const uint64_t elsewhere = (uint64_t)last->first + last->size;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < runs[i].count && count < room; j++) {
			int64_t rank = (int64_t)runs[i].first + (int64_t)j * runs[i].stride;

			if (rank >= 0 && rank < x->size)
				list[count++] = x->first + (uint64_t)rank;
			else if (m->elsewhere)
				list[count++] = elsewhere;
		}
	}
	return count;
}

/* Communicators are numbered as they were met: parents that come later are not told. */
static uint32_t parent_of(const struct otf2 *w, const struct t_communicator *c, uint32_t number)
{
	uint32_t parent = c->parent ? comm_number(w, c->process, c->parent) : number;

	return parent < number ? parent : OTF2_UNDEFINED_COMM;
}

/* That both groups of an intercommunicator are in: recorded is the one of its own group, which it is not. */
static uint32_t peer_of(const struct otf2 *w, const struct t_communicator *c, uint32_t number)
{
	const struct t_communicator *parent = &w->t->communicators[c->parent];

	return c->parent && parent->kind == COMMUNICATOR_INTER ? parent_of(w, c, number)
							       : OTF2_UNDEFINED_COMM;
}

/*
 * Of two groups both, as one communicator: OTF2 3.0 has a definition for these, but its Python binding (3.0.2)
 * can read no archive that uses it. So it is used where it is asked for.
 */
static void end_comm(struct otf2 *w, struct numbers *n, const struct mpi_comm *m, uint64_t *list,
		     uint32_t room)
{
	const struct t_communicator *c = &w->t->communicators[m->communicator];
	const struct world *x = &w->mpi->worlds[m->world];
	const char *name = c->name && *c->name ? c->name : m->window ? "window" : "communicator";
	uint32_t count = side(w->mpi, x, c->members, c->member_runs, list, room), more = 0;
	struct archive *a = &w->archive;

	if (c->kind == COMMUNICATOR_INTER)
		more = side(w->mpi, x, c->remote, c->remote_runs, list + count, room - count);
	if (in_two_groups(w, c)) {
		write_group(w, n, name, OTF2_GROUP_TYPE_COMM_GROUP, count, list);
		write_group(w, n, name, OTF2_GROUP_TYPE_COMM_GROUP, more, list + count);
		archive_check(a,
			      OTF2_GlobalDefWriter_WriteInterComm(
				      a->defs, n->comm, archive_string(a, name), n->group - 2,
				      n->group - 1, peer_of(w, c, n->comm), OTF2_COMM_FLAG_NONE));
	} else {
		write_group(w, n, name, OTF2_GROUP_TYPE_COMM_GROUP, count + more, list);
		archive_check(a, OTF2_GlobalDefWriter_WriteComm(
					 a->defs, n->comm, archive_string(a, name), n->group - 1,
					 parent_of(w, c, n->comm), OTF2_COMM_FLAG_NONE));
	}
	n->comm++;
}

static uint32_t larger(uint32_t room, const struct t_communicator *c)
{
	uint32_t count = c->size + (c->kind == COMMUNICATOR_INTER ? c->remote_size : 0);

	return count > room ? count : room;
}

/* The first numbers are MPI's: events have used them. */
void mpi_end(struct otf2 *w, struct numbers *n)
{
	uint32_t room = 2;
	uint64_t *list;

	if (!w->mpi)
		return;
	for (uint32_t i = 0; i < w->mpi->world_count; i++)
		room += w->mpi->worlds[i].size;
	for (uint32_t i = 1; i < w->t->communicators_count; i++)
		room = larger(room, &w->t->communicators[i]);
	list = malloc(room * sizeof(*list));
	if (!list) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	end_worlds(w, n, list);
	for (uint32_t i = 0; i < w->mpi->comm_count; i++)
		end_comm(w, n, &w->mpi->comms[i], list, room);
	for (uint32_t i = 0; i < w->mpi->comm_count; i++)
		if (w->mpi->comms[i].window)
			archive_check(&w->archive,
				      OTF2_GlobalDefWriter_WriteRmaWin(
					      w->archive.defs, n->window++,
					      archive_string(&w->archive, "window"),
					      w->mpi->world_count + i, OTF2_RMA_WIN_FLAG_NONE));
	free(list);
}

uint32_t mpi_comms(const struct otf2 *w)
{
	return w->mpi ? w->mpi->world_count + w->mpi->comm_count : 0;
}

bool mpi_window(const struct otf2 *w, uint32_t communicator, uint32_t *number)
{
	const struct mpi *m = w->mpi;
	uint32_t place = communicator < w->t->communicators_count ? m->comm_of[communicator] : 0;

	if (!place || !m->comms[place - 1].window)
		return false;
	*number = m->comms[place - 1].number;
	return true;
}

void mpi_release(struct otf2 *w)
{
	if (!w->mpi)
		return;
	for (uint32_t i = 0; i < w->mpi->world_count && w->mpi->worlds; i++)
		free(w->mpi->worlds[i].locations);
	free(w->mpi->worlds);
	free(w->mpi->comm_of);
	free(w->mpi->comms);
	free(w->mpi);
}
