/* SPDX-License-Identifier: Apache-2.0 */
/* Joining the two ends of messages; see match.h. */
#include "formats/raw/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "formats/raw/read.h"

/* One end of a message: a send, or a receive. */
struct end {
	uint64_t communicator; /* the same in all its members; with ... */
	uint32_t world;
	int32_t source, destination, tag; /* ranks of the world */
	bool receives;
	bool placed;   /* its place among those of its channel is known */
	bool sized;    /* `bytes` are those of the message */
	bool doubtful; /* a send that may have been cancelled before it was freed */
	uint32_t process;
	int64_t posted;
	uint64_t probe; /* call that took the message before; 0: none did */
	uint64_t order; /* of those that one call posted */
	uint64_t call;  /* that posted it, or took it before */
	uint64_t record;
	uint64_t bytes;
};

/* A call, where threads may call at the same time, or that took a message for a later receive. */
struct caller {
	uint64_t id;
	uint32_t thread;
	int64_t start, end;
};

struct member {              /* list and map: base/bulk.h */
	struct map messages; /* by id of the record: number of the message */
	bool trusted;        /* all its messages are in the trace, in the order they were posted */
	bool several;        /* threads may call at the same time */
	struct caller *callers;
	uint32_t caller_count, caller_room;
};

struct match {
	struct stream_sink sink; /* first */
	const struct trace *trace;
	struct member *members; /* by process */
	uint32_t member_count;
	uint32_t domain;  /* of MPI */
	struct end *ends; /* base/bulk.h */
	uint32_t count, room;
	uint64_t numbered;
};

static struct match *match_of_sink(struct stream_sink *s)
{
	return (struct match *)(void *)s;
}

/* ---- whom to believe ----------------------------------------------------------------------- */

static bool paused(const struct trace *t, uint32_t process)
{
	for (uint32_t i = 1; i < t->pauses_count; i++)
		if (t->pauses[i].process == process)
			return true;
	return false;
}

/* What threads do one after the other is in order; of MPI_THREAD_MULTIPLE only what each does. */
static bool several_threads(const struct t_process *p)
{
	enum { SERIALIZED = 2 };

	return p->thread_level < 0 || p->thread_level > SERIALIZED;
}

static bool complete(const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];
	bool all_calls = !p->filters || !*p->filters;

	return !p->lost_records && !p->overwritten_records && !p->lost_definitions &&
	       !p->untraced_calls && !p->damaged_blocks && !p->recording && all_calls &&
	       p->rank != UINT32_MAX && p->rank_stage == RANK_FINALIZING &&
	       p->how_ended != UINT32_MAX && !paused(t, process);
}

/* Records that are not there: of all threads', for a message may be started by one and end in another. */
static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct match *m = match_of_sink(s);

	m->members[r->process].trusted = false;
	return KYMO_OK;
}

/* ---- collecting ---------------------------------------------------------------------------- */

static bool is_probe(const struct t_op *op)
{
	return strcmp(op->name, "MPI_Mprobe") == 0 || strcmp(op->name, "MPI_Improbe") == 0;
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	struct match *m = match_of_sink(s);
	struct member *p = &m->members[r->process];
	const struct t_op *op = &m->trace->ops[r->op];

	if (!p->trusted || op->domain != m->domain)
		return KYMO_OK;
	if (!r->ok) /* a receive that failed may have taken a message */
		p->trusted = false;
	if (!p->several && !is_probe(op))
		return KYMO_OK;
	if (!bulk_reserve(&p->callers, &p->caller_room, p->caller_count, 1))
		return KYMO_ERROR_NO_MEMORY;
	p->callers[p->caller_count++] = (struct caller){r->id, r->thread, r->start, r->end};
	return KYMO_OK;
}

/* Both sides are known, and a receive got its message: one that was freed may have been cancelled. */
static bool known(const struct rec_comm *r, bool receives)
{
	return r->peer >= 0 && r->tag >= 0 && (!receives || r->state == COMM_COMPLETED);
}

static bool is_message(const struct match *m, const struct rec_comm *r)
{
	const struct t_communicator *c = &m->trace->communicators[r->communicator];
	uint32_t op = m->trace->ops[r->base.op].number;

	return (op == COMM_OP_SEND || op == COMM_OP_RECEIVE) && c->kind <= COMMUNICATOR_INTER &&
	       r->state != COMM_CANCELLED && !r->partitions;
}

static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct match *m = match_of_sink(s);
	const struct t_communicator *c = &m->trace->communicators[r->communicator];
	const struct t_process *p = &m->trace->processes[r->base.process];
	bool receives = m->trace->ops[r->base.op].number == COMM_OP_RECEIVE;

	if (!m->members[r->base.process].trusted || !is_message(m, r))
		return KYMO_OK;
	if (!bulk_reserve(&m->ends, &m->room, m->count, 1))
		return KYMO_ERROR_NO_MEMORY;
	m->ends[m->count++] = (struct end){
		.communicator = c->key,
		.world = p->world,
		.source = receives ? r->peer : (int32_t)p->rank,
		.destination = receives ? (int32_t)p->rank : r->peer,
		.tag = r->tag,
		.receives = receives,
		.placed = known(r, receives) && c->key && !c->remote_size,
		.sized = r->state == COMM_COMPLETED,
		.doubtful = !receives && r->state == COMM_FREED,
		.process = r->base.process,
		.posted = r->base.start,
		.probe = r->probe,
		.order = r->request,
		.call = r->probe ? r->probe : r->correlation,
		.record = r->base.wire->id,
		.bytes = receives ? r->received : r->sent,
	};
	return KYMO_OK;
}

/* ---- order --------------------------------------------------------------------------------- */

#define COMPARE(member)                                                                            \
	if (x->member != y->member)                                                                \
	return x->member < y->member ? -1 : 1

static int compare_posted(const struct end *x, const struct end *y)
{
	COMPARE(posted);
	COMPARE(order);
	COMPARE(record);
	return 0;
}

/* Receives of a process by communicator, as they were posted. */
static int compare_receives(const void *a, const void *b, void *unused)
{
	const struct end *x = a, *y = b;

	(void)unused;
	COMPARE(receives);
	COMPARE(process);
	COMPARE(communicator);
	return compare_posted(x, y);
}

static int compare_channels(const void *a, const void *b, void *unused)
{
	const struct end *x = a, *y = b;

	(void)unused;
	COMPARE(world);
	COMPARE(communicator);
	COMPARE(source);
	COMPARE(destination);
	COMPARE(tag);
	COMPARE(receives);
	COMPARE(process);
	return compare_posted(x, y);
}

static bool same_channel(const struct end *x, const struct end *y)
{
	return x->world == y->world && x->communicator == y->communicator &&
	       x->source == y->source && x->destination == y->destination && x->tag == y->tag;
}

/* What was posted after a receive that may have got any message may have got another than it seems. */
static void mark_behind_unknown(struct match *m)
{
	const struct end *unknown = NULL;

	for (uint32_t i = 0; i < m->count; i++) {
		struct end *e = &m->ends[i];

		if (!e->receives)
			continue;
		if (unknown &&
		    (unknown->process != e->process || unknown->communicator != e->communicator))
			unknown = NULL;
		if (!e->placed)
			unknown = e;
		else if (unknown)
			e->placed = false;
	}
}

static int compare_ids(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	COMPARE(id);
	return 0;
}

static int compare_callers(const void *a, const void *b, void *unused)
{
	(void)unused;
	return compare_ids(a, b);
}

static bool sort_callers(struct match *m)
{
	bool ok = true;

	for (uint32_t i = 1; i < m->member_count && ok; i++) {
		struct member *p = &m->members[i];

		ok = !p->caller_count || bulk_sort(&p->callers, p->caller_count,
						   sizeof(*p->callers), compare_callers, NULL);
	}
	return ok;
}

static const struct caller *caller_of(const struct member *p, uint64_t id)
{
	return p->caller_count ? bsearch(&(struct caller){.id = id}, p->callers, p->caller_count,
					 sizeof(*p->callers), compare_ids)
			       : NULL;
}

/*
 * Of ends that different threads posted at the same time nobody knows the order; nor of those whose thread
 * is not known, which leaves the whole channel without.
 */
static void mark_at_once(struct match *m, struct end *e, uint32_t n)
{
	const struct member *p = &m->members[e->process];

	for (uint32_t i = 0, next; p->several && i < n; i = next) {
		const struct caller *first = caller_of(p, e[i].call);
		int64_t until = first ? first->end : INT64_MAX;
		bool mixed = !first;

		for (next = i + 1; next < n && e[next].posted < until; next++) {
			const struct caller *c = caller_of(p, e[next].call);

			mixed |= !c || c->thread != first->thread;
			until = !c ? INT64_MAX : c->end > until ? c->end : until;
		}
		for (uint32_t k = i; mixed && k < n && (k < next || until == INT64_MAX); k++)
			e[k].placed = false;
	}
}

/* ---- joining ------------------------------------------------------------------------------- */

static bool number(struct match *m, const struct end *send, const struct end *receive)
{
	m->numbered++;
	return bulk_map_set(&m->members[send->process].messages, send->record, m->numbered) &&
	       bulk_map_set(&m->members[receive->process].messages, receive->record, m->numbered);
}

static bool one_process(const struct end *e, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (e[i].process != e[0].process)
			return false;
	return true;
}

/* Sends first, then receives, each as they were posted. Bytes that differ say that something is missing. */
static bool join_channel(struct match *m, struct end *e, uint32_t n)
{
	uint32_t sends = 0, receives;

	while (sends < n && !e[sends].receives)
		sends++;
	receives = n - sends;
	if (!sends || !receives || !one_process(e, sends) || !one_process(e + sends, receives))
		return true;
	mark_at_once(m, e, sends);
	mark_at_once(m, e + sends, receives);
	for (uint32_t i = 0; i < sends && i < receives; i++) {
		const struct end *s = &e[i], *r = &e[sends + i];

		if (s->doubtful ||
		    (s->sized && r->sized && s->placed && r->placed && s->bytes != r->bytes))
			return true;
		if (s->placed && r->placed && !number(m, s, r))
			return false;
	}
	return true;
}

/* A message is matched when it is probed; where that call is not recorded nobody knows when. */
static void place_probed(struct match *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct end *e = &m->ends[i];
		const struct caller *probe =
			e->probe ? caller_of(&m->members[e->process], e->probe) : NULL;

		if (probe)
			e->posted = probe->start;
		else if (e->probe)
			e->placed = false;
	}
}

static bool sort_ends(struct match *m, int (*compare)(const void *, const void *, void *))
{
	return !m->count || bulk_sort(&m->ends, m->count, sizeof(*m->ends), compare, NULL);
}

static bool join(struct match *m)
{
	uint32_t kept = 0;

	if (!sort_callers(m))
		return false;
	place_probed(m);
	if (!sort_ends(m, compare_receives))
		return false;
	mark_behind_unknown(m);
	for (uint32_t i = 0; i < m->count; i++)
		if (m->ends[i].source >= 0 && m->ends[i].destination >= 0 && m->ends[i].tag >= 0 &&
		    m->ends[i].communicator && m->members[m->ends[i].process].trusted)
			m->ends[kept++] = m->ends[i];
	m->count = kept;
	if (!sort_ends(m, compare_channels))
		return false;
	for (uint32_t i = 0, next; i < kept; i = next) {
		for (next = i + 1; next < kept && same_channel(&m->ends[i], &m->ends[next]);)
			next++;
		if (!join_channel(m, m->ends + i, next - i))
			return false;
	}
	return true;
}

/* ---- from outside -------------------------------------------------------------------------- */

static void release_collected(struct match *m)
{
	bulk_free(m->ends);
	m->ends = NULL;
	for (uint32_t i = 0; m->members && i < m->member_count; i++) {
		bulk_free(m->members[i].callers);
		m->members[i].callers = NULL;
	}
}

static uint32_t mpi_of(const struct trace *t)
{
	for (uint32_t i = 1; i < t->domains_count; i++)
		if (strcmp(t->domains[i].name, "mpi") == 0)
			return i;
	return 0;
}

static bool wants(const struct trace *t, const struct t_op *op)
{
	const char *domain = t->domains[op->domain].name;

	return strcmp(domain, "mpi") == 0 || strcmp(domain, "comm") == 0;
}

static bool collect(struct match *m, struct raw_trace *rt)
{
	const struct trace *t = rt->trace;

	m->sink = (struct stream_sink){
		.call = on_call, .comm = on_comm, .loss = on_loss, .brief = true};
	m->trace = t;
	m->member_count = t->processes_count;
	m->members = calloc(m->member_count, sizeof(*m->members));
	for (uint32_t i = 1; m->members && i < m->member_count; i++) {
		m->members[i].trusted = complete(t, i);
		m->members[i].several = m->members[i].trusted && several_threads(&t->processes[i]);
	}
	return m->members && raw_trace_look(rt, wants, &m->sink) == KYMO_OK && join(m);
}

/* Some process has records of transfers that can be believed. */
static bool has_messages(const struct trace *t)
{
	bool ranks = false;

	for (uint32_t i = 1; i < t->processes_count && !ranks; i++)
		ranks = complete(t, i);
	for (uint32_t i = 1; i < t->ops_count && ranks; i++)
		if (strcmp(t->domains[t->ops[i].domain].name, "comm") == 0)
			return true;
	return false;
}

kymo_status_t match_messages(struct raw_trace *rt)
{
	struct match *m;

	if (rt->match)
		return KYMO_OK;
	if (!has_messages(rt->trace))
		return KYMO_OK;
	m = calloc(1, sizeof(*m));
	if (!m)
		return KYMO_ERROR_NO_MEMORY;
	m->domain = mpi_of(rt->trace);
	if (!collect(m, rt)) {
		match_free(m);
		return KYMO_ERROR_NO_MEMORY;
	}
	release_collected(m);
	rt->match = m;
	return KYMO_OK;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	release_collected(m);
	for (uint32_t i = 0; m->members && i < m->member_count; i++)
		bulk_map_release(&m->members[i].messages);
	free(m->members);
	free(m);
}

void raw_finish_comm(struct raw_chunk *c, struct rec_comm *out)
{
	const struct match *m = c->source->rt->match;

	if (m && out->base.wire)
		out->match = map_get(&m->members[out->base.process].messages, out->base.wire->id);
}
