/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the waits of ranks among messages and collective calls; see waits.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/waits.h"

#define NONE TIMELINE_NONE

struct collect {
	struct waits *w;
	const struct timeline *tl;
	uint32_t *rank_of; /* by process: index + 1 */
	bool failed;
};

/* What two clocks may be apart, of which a wait is no sign; -1: they were never compared. */
static int64_t floor_of(const struct collect *c, uint32_t a, uint32_t b)
{
	const struct trace *t = c->tl->trace;
	const struct t_process *p = &t->processes[c->w->ranks[a].process];
	const struct t_process *q = &t->processes[c->w->ranks[b].process];
	double error = p->clock_error_ns + q->clock_error_ns;

	if (p->aligned && q->aligned)
		error += p->job_error_ns + q->job_error_ns;
	else if (p->hostname && q->hostname && strcmp(p->hostname, q->hostname) != 0)
		return -1;
	return TIMELINE_LONG_NS + (int64_t)(error < 1e15 ? error : 1e15);
}

static void add(struct collect *c, struct rank_wait wait)
{
	struct waits_rank *r = &c->w->ranks[wait.rank];
	int64_t least;

	if (wait.end <= wait.start || wait.rank == wait.cause ||
	    c->w->ranks[wait.cause].world != r->world ||
	    c->tl->calls[wait.call].thread != r->thread)
		return;
	least = floor_of(c, wait.rank, wait.cause);
	c->w->unaligned += least < 0;
	c->w->below += least >= 0 && wait.end - wait.start < least;
	if (least < 0 || wait.end - wait.start < least)
		return;
	if (!waits_add(c->w, wait))
		c->failed = true;
}

/* The call that saw it complete: NULL if it was too short to be kept. */
static const struct tl_call *completing(const struct collect *c, const struct tl_message *m)
{
	return timeline_find(c->tl, m->process, m->completed_by ? m->completed_by : m->id);
}

/*
 * Calls that ask again and again are one burst (see timeline.h), which has no id: the one that ends when the
 * message is complete.
 */
static const struct tl_call *polling(const struct collect *c, const struct tl_message *m)
{
	const struct tl_thread *th = &c->tl->threads[m->thread];
	uint32_t i = timeline_at(c->tl, m->thread, m->end - 1);
	const struct tl_call *x;

	if (i >= th->count)
		return NULL;
	x = &c->tl->calls[c->tl->outer[th->first + i]];
	return (x->flags & CALL_BURST) && (x->flags & CALL_MPI) && x->start <= m->end ? x : NULL;
}

/* ---- messages ---------------------------------------------------------------------------------- */

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void wait_of(struct collect *c, const struct tl_message *m, const struct tl_message *other,
		    uint8_t kind)
{
	const struct tl_call *x = completing(c, m);

	if (!x && m->request)
		x = polling(c, m);
	if (!x || (kind == WAIT_RECEIVER && x->end <= other->start))
		return;
	add(c, (struct rank_wait){.start = x->start,
				  .end = least_of(other->start, x->end),
				  .rank = c->rank_of[m->process] - 1,
				  .cause = c->rank_of[other->process] - 1,
				  .call = (uint32_t)(x - c->tl->calls),
				  .because = (uint32_t)(other - c->tl->messages),
				  .kind = kind});
}

/* The first call of MPI that a thread begins after `time`, NULL: it is in one then, or none follows before `until`. */
static const struct tl_call *next_call(const struct timeline *tl, uint32_t thread, int64_t time,
				       int64_t until)
{
	const struct tl_thread *th = &tl->threads[thread];

	for (uint32_t i = timeline_at(tl, thread, time); i < th->count; i++) {
		const struct tl_call *x = &tl->calls[tl->outer[th->first + i]];

		if (x->start >= until)
			break;
		if (x->flags & CALL_MPI)
			return x->start > time ? x : NULL;
	}
	return NULL;
}

/* It comes late to a call that sends: whoever waits for it does so for what it did before that. */
static bool is_send(const struct timeline *tl, const struct tl_call *x)
{
	const char *name = tl->trace->ops[x->op].name;

	return strstr(name, "Send") || strstr(name, "send");
}

/*
 * Libraries of MPI mostly work while they are called: a send whose receive is posted may be held until the receiver
 * calls again, whatever it does until then.
 */
static void wait_for_call(struct collect *c, const struct tl_message *s,
			  const struct tl_message *received)
{
	const struct tl_call *x = completing(c, s), *next;

	if (!x || received->start >= x->start)
		return;
	next = next_call(c->tl, received->thread, x->start, x->end);
	/* Who asks now and then is told by mpi-late-polling. */
	if (next && !(next->flags & CALL_ASKS))
		add(c,
		    (struct rank_wait){.start = x->start,
				       .end = next->start,
				       .rank = c->rank_of[s->process] - 1,
				       .cause = c->rank_of[received->process] - 1,
				       .call = (uint32_t)(x - c->tl->calls),
				       .because = NONE,
				       .kind = is_send(c->tl, next) ? WAIT_SENDER : WAIT_RECEIVER});
}

static void messages(struct collect *c)
{
	const struct timeline *tl = c->tl;

	for (uint32_t i = 0; i < tl->messages_count; i++) {
		const struct tl_message *m = &tl->messages[i], *s;
		uint32_t rank = c->rank_of[m->process];

		if (m->kind != COMM_OP_RECEIVE || !rank)
			continue;
		if (!c->w->other[i]) {
			c->w->unmatched++;
			continue;
		}
		s = &tl->messages[c->w->other[i] - 1];
		if (!c->rank_of[s->process])
			continue;
		c->w->worlds[c->w->ranks[rank - 1].world].messages++;
		wait_of(c, m, s, WAIT_SENDER);
		wait_of(c, s, m, WAIT_RECEIVER);
		wait_for_call(c, s, m);
	}
}

/* ---- collective calls -------------------------------------------------------------------------- */

struct entry { /* one rank's part of a collective call */
	uint64_t key;
	uint32_t process, world, number; /* the how manieth of its process with this key */
	uint32_t size;
	uint32_t message;
	int64_t start, end;
};

static int by_process(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->world != y->world)
		return x->world < y->world ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->world != y->world)
		return x->world < y->world ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static uint32_t list_entries(struct collect *c, struct entry *e)
{
	const struct trace *t = c->tl->trace;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->tl->messages_count; i++) {
		const struct tl_message *m = &c->tl->messages[i];
		const struct t_communicator *comm = &t->communicators[m->communicator];

		if (m->kind != COMM_OP_COLLECTIVE || !c->rank_of[m->process] || !m->communicator ||
		    !comm->key || comm->size < 2 || comm->remote_size)
			continue;
		e[n++] = (struct entry){.key = comm->key,
					.process = m->process,
					.world = t->processes[m->process].world,
					.size = comm->size,
					.message = i,
					.start = m->start,
					.end = m->end};
	}
	if (n)
		qsort(e, n, sizeof(*e), by_process);
	for (uint32_t i = 1; i < n; i++)
		if (e[i].process == e[i - 1].process && e[i].key == e[i - 1].key)
			e[i].number = e[i - 1].number + 1;
	if (n)
		qsort(e, n, sizeof(*e), by_number);
	return n;
}

/* All members have called it equally often: none lacks a record, so equal numbers are one call. */
static bool complete(const struct entry *e, uint32_t n)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < n; i++)
		first += e[i].number == 0;
	return first == e[0].size && n % first == 0 && e[n - 1].number == n / first - 1;
}

enum shape { SHAPE_NONE, SHAPE_ALL, SHAPE_FROM_ROOT, SHAPE_TO_ROOT };

static enum shape shape_of(const char *op)
{
	static const struct {
		const char *name;
		enum shape shape;
	} shapes[] = {{"Barrier", SHAPE_ALL},     {"Allreduce", SHAPE_ALL},
		      {"Allgather", SHAPE_ALL},   {"Allgatherv", SHAPE_ALL},
		      {"Alltoall", SHAPE_ALL},    {"Alltoallv", SHAPE_ALL},
		      {"Alltoallw", SHAPE_ALL},   {"Reduce_scatter", SHAPE_ALL},
		      {"Finalize", SHAPE_ALL},    {"Reduce_scatter_block", SHAPE_ALL},
		      {"Bcast", SHAPE_FROM_ROOT}, {"Scatter", SHAPE_FROM_ROOT},
		      {"Reduce", SHAPE_TO_ROOT},  {"Gather", SHAPE_TO_ROOT},
		      {"Gatherv", SHAPE_TO_ROOT}, {"Scatterv", SHAPE_FROM_ROOT}};
	size_t length;

	if (strncmp(op, "MPI_", 4) != 0)
		return SHAPE_NONE;
	length = strlen(op) - 4;
	if (length > 2 && strcmp(op + 4 + length - 2, "_c") == 0)
		length -= 2;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (strlen(shapes[i].name) == length &&
		    strncmp(shapes[i].name, op + 4, length) == 0)
			return shapes[i].shape;
	return SHAPE_NONE;
}

static const struct entry *latest(const struct entry *e, uint32_t n, const struct entry *but)
{
	const struct entry *last = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (&e[i] != but && (!last || e[i].start > last->start))
			last = &e[i];
	return last;
}

static const struct entry *root_of(const struct collect *c, const struct entry *e, uint32_t n)
{
	int32_t root = c->tl->messages[e->message].peer;

	for (uint32_t i = 0; i < n; i++)
		if ((int32_t)c->tl->trace->processes[e[i].process].rank == root)
			return &e[i];
	return NULL;
}

static void wait_for(struct collect *c, const struct entry *e, const struct entry *last,
		     const struct tl_call *call, uint8_t kind)
{
	if (!last || last == e)
		return;
	add(c, (struct rank_wait){.start = e->start,
				  .end = least_of(last->start, e->end),
				  .rank = c->rank_of[e->process] - 1,
				  .cause = c->rank_of[last->process] - 1,
				  .call = (uint32_t)(call - c->tl->calls),
				  .because = last->message,
				  .kind = kind});
}

/* Each call of the parts e[0 ... n-1] of one; those without a call that was kept did not wait. */
static void one_collective(struct collect *c, const struct entry *e, uint32_t n)
{
	const struct entry *last = latest(e, n, NULL), *root = root_of(c, e, n);

	for (uint32_t i = 0; i < n; i++) {
		const struct tl_message *m =
			e[i].message == NONE ? NULL : &c->tl->messages[e[i].message];
		const struct tl_call *call = timeline_find(c->tl, e[i].process, m->id);

		if (!call || m->request || call->end < e[i].start)
			continue;
		switch (shape_of(c->tl->trace->ops[call->op].name)) {
		case SHAPE_ALL:
			wait_for(c, &e[i], last, call, WAIT_ALL);
			break;
		case SHAPE_FROM_ROOT:
			wait_for(c, &e[i], root, call, WAIT_ROOT);
			break;
		case SHAPE_TO_ROOT:
			if (&e[i] == root)
				wait_for(c, root, latest(e, n, root), call, WAIT_ROOT);
			break;
		case SHAPE_NONE:
			break;
		}
	}
}

static void count_world(struct collect *c, const struct entry *e)
{
	struct waits_world *world = &c->w->worlds[c->w->ranks[c->rank_of[e->process] - 1].world];

	world->collectives += e->size == world->ranks;
}

static void collectives(struct collect *c)
{
	struct entry *e = calloc((size_t)c->tl->messages_count + 1, sizeof(*e));
	uint32_t n = e ? list_entries(c, e) : 0, next;

	if (!e)
		c->failed = true;
	for (uint32_t i = 0; i < n; i = next) {
		for (next = i + 1;
		     next < n && e[next].key == e[i].key && e[next].world == e[i].world;)
			next++;
		if (!complete(&e[i], next - i)) {
			c->w->unmatched++;
			continue;
		}
		for (uint32_t k = i; k < next; k += e[i].size) {
			count_world(c, &e[k]);
			one_collective(c, &e[k], e[i].size);
		}
	}
	free(e);
}

/* ---- MPI_Finalize ------------------------------------------------------------------------------ */

static const struct tl_call *finalize_of(const struct timeline *tl, uint32_t thread)
{
	const struct tl_thread *th = &tl->threads[thread];

	for (uint32_t i = th->count; i-- > 0;) {
		const struct tl_call *x = &tl->calls[tl->outer[th->first + i]];

		if (x->flags & CALL_MPI && !(x->flags & CALL_BURST) &&
		    strcmp(tl->trace->ops[x->op].name, "MPI_Finalize") == 0)
			return x;
	}
	return NULL;
}

static void finalize(struct collect *c, const struct waits_world *world)
{
	const struct tl_call *last = NULL;
	uint32_t cause = 0;

	for (uint32_t i = 0; i < world->ranks; i++) {
		const struct tl_call *x = finalize_of(c->tl, c->w->ranks[world->members[i]].thread);

		if (!x)
			return;
		if (!last || x->start > last->start) {
			last = x;
			cause = world->members[i];
		}
	}
	for (uint32_t i = 0; last && i < world->ranks; i++) {
		const struct tl_call *x = finalize_of(c->tl, c->w->ranks[world->members[i]].thread);

		add(c, (struct rank_wait){.start = x->start,
					  .end = least_of(last->start, x->end),
					  .rank = world->members[i],
					  .cause = cause,
					  .call = (uint32_t)(x - c->tl->calls),
					  .because = NONE,
					  .kind = WAIT_ALL});
	}
}

bool waits_collect(struct waits *w)
{
	struct collect c = {.w = w, .tl = w->tl};

	c.rank_of = calloc((size_t)w->tl->trace->processes_count + 1, sizeof(*c.rank_of));
	if (!c.rank_of)
		return false;
	for (uint32_t i = 0; i < w->ranks_count; i++)
		c.rank_of[w->ranks[i].process] = i + 1;
	messages(&c);
	collectives(&c);
	for (uint32_t i = 0; i < w->worlds_count; i++)
		finalize(&c, &w->worlds[i]);
	free(c.rank_of);
	return !c.failed;
}
