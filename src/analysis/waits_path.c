/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits of ranks cost the run; see waits.h. The path goes backwards from the end of the last rank, and from
 * each wait to the rank that was waited for. What the others wait meanwhile is charged to the rank it is on.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/waits.h"
#include "base/map.h"
#include "base/vec.h"

struct meet { /* of two ranks, by a message */
	uint64_t pair;
	int64_t received, sent;
	uint32_t from, to;
};

enum {
	MOST_LINKS = 64
}; /* of a chain, messages between two: a bound for what it costs to follow them */

enum {
	LEAST_TOGETHER = 16,
	TASKS_EACH = 8
}; /* collective calls; waits for answers to each of them */

enum { UPWARD = 1, DOWNWARD = 2 }; /* messages from the lower of two ranks, from the higher */

struct leave { /* of a collective call of the whole world */
	uint32_t rank;
	int64_t time;
};

struct charge {
	struct waits *w;
	struct meet *meets;
	struct leave *leaves;
	uint32_t meets_count, leaves_count;
	struct map ways; /* by pair: UPWARD, DOWNWARD */
	uint32_t first;  /* where in waits.path that of the present world begins */
};

static uint64_t pair_of(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* ---- when ranks met ---------------------------------------------------------------------------- */

static int by_pair(const void *a, const void *b)
{
	const struct meet *x = a, *y = b;

	if (x->pair != y->pair)
		return x->pair < y->pair ? -1 : 1;
	return x->received < y->received ? -1 : x->received > y->received;
}

static int by_leave(const void *a, const void *b)
{
	const struct leave *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static bool list_meets(struct charge *c, const uint32_t *rank_of)
{
	const struct timeline *tl = c->w->tl;

	for (uint32_t i = 0; i < tl->messages_count; i++) {
		const struct tl_message *m = &tl->messages[i], *s;
		uint32_t to = rank_of[m->process], from;

		if (m->kind != COMM_OP_RECEIVE || !c->w->other[i] || !to)
			continue;
		s = &tl->messages[c->w->other[i] - 1];
		from = rank_of[s->process];
		if (from)
			c->meets[c->meets_count++] = (struct meet){
				pair_of(from - 1, to - 1), m->end, s->start, from - 1, to - 1};
	}
	for (uint32_t i = 0; i < c->meets_count; i++) {
		const struct meet *m = &c->meets[i];
		uint64_t way = m->from < m->to ? UPWARD : DOWNWARD;

		if (!(map_get(&c->ways, m->pair) & way) &&
		    !map_set(&c->ways, m->pair, map_get(&c->ways, m->pair) | way))
			return false;
	}
	if (c->meets_count)
		qsort(c->meets, c->meets_count, sizeof(*c->meets), by_pair);
	return true;
}

static void list_leaves(struct charge *c, const uint32_t *rank_of)
{
	const struct timeline *tl = c->w->tl;

	for (uint32_t i = 0; i < tl->messages_count; i++) {
		const struct tl_message *m = &tl->messages[i];
		uint32_t rank = rank_of[m->process];

		if (m->kind == COMM_OP_COLLECTIVE && rank && m->communicator &&
		    tl->trace->communicators[m->communicator].size ==
			    c->w->worlds[c->w->ranks[rank - 1].world].ranks)
			c->leaves[c->leaves_count++] = (struct leave){rank - 1, m->end};
	}
	if (c->leaves_count)
		qsort(c->leaves, c->leaves_count, sizeof(*c->leaves), by_leave);
}

static bool list_syncs(struct charge *c)
{
	const struct timeline *tl = c->w->tl;
	uint32_t *rank_of = calloc((size_t)tl->trace->processes_count + 1, sizeof(*rank_of));
	bool ok = rank_of;

	c->meets = calloc((size_t)tl->messages_count + 1, sizeof(*c->meets));
	c->leaves = calloc((size_t)tl->messages_count + 1, sizeof(*c->leaves));
	ok = ok && c->meets && c->leaves;
	for (uint32_t i = 0; ok && i < c->w->ranks_count; i++)
		rank_of[c->w->ranks[i].process] = i + 1;
	if (ok) {
		ok = list_meets(c, rank_of);
		list_leaves(c, rank_of);
	}
	free(rank_of);
	return ok;
}

/* How many messages, of pairs before and of this one, were received by `time`. */
static uint32_t meets_until(const struct charge *c, uint64_t pair, int64_t time)
{
	uint32_t low = 0, high = c->meets_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct meet *m = &c->meets[middle];

		if (m->pair < pair || (m->pair == pair && m->received <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last message between a rank that begins to wait at `mine` and one that comes at `other`. */
static const struct meet *last_meet(const struct charge *c, uint32_t rank, uint32_t cause,
				    int64_t mine, int64_t other)
{
	uint64_t pair = pair_of(rank, cause);

	for (uint32_t low = meets_until(c, pair, other); low && c->meets[low - 1].pair == pair;
	     low--) {
		const struct meet *m = &c->meets[low - 1];

		if ((m->to == rank ? m->received : m->sent) < mine)
			return m;
	}
	return NULL;
}

/*
 * What the rank did before it sent message `m` to the other, since it last got one from it: what it did first, it
 * could have done while the other works.
 */
static uint64_t did_first(const struct charge *c, const struct meet *m)
{
	int64_t since = c->w->ranks[m->from].begin;
	const struct meet *before = m;

	while (before > c->meets && before[-1].pair == m->pair) {
		before--;
		if (before->to == m->from && before->received <= m->sent) {
			since = before->received;
			break;
		}
	}
	return waits_work(c->w, m->from, since, m->sent);
}

/* Who sent `m` has got a message from the other since, before `time`: what it waits for then is no answer to `m`. */
static bool heard_since(const struct charge *c, const struct meet *m, int64_t time)
{
	uint32_t n = meets_until(c, m->pair, time);

	for (uint32_t i = 0; i < MOST_LINKS && n; i++) {
		const struct meet *x = &c->meets[--n];

		if (x->pair != m->pair || x->received <= m->sent)
			break;
		if (x->to == m->from)
			return true;
	}
	return false;
}

static int64_t last_leave(const struct charge *c, uint32_t rank, int64_t time)
{
	uint32_t low = 0, high = c->leaves_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct leave *x = &c->leaves[middle];

		if (x->rank < rank || (x->rank == rank && x->time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low && c->leaves[low - 1].rank == rank ? c->leaves[low - 1].time
						      : c->w->ranks[rank].begin;
}

static bool both_ways(const struct charge *c, uint32_t a, uint32_t b)
{
	return map_get(&c->ways, pair_of(a, b)) == (UPWARD | DOWNWARD);
}

/* The last wait of a rank that was over by `time`, of its first `most`; as a number from 1, 0: none. */
static uint32_t wait_before(const struct waits *w, uint32_t rank, uint32_t most, int64_t time)
{
	const struct waits_rank *r = &w->ranks[rank];
	uint32_t low = 0, high = most;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->list[r->first + middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * What others did one after the other while a rank waits, from its own last message on, which went round: each had to
 * wait for the one before.
 */
struct chain {
	uint64_t work;  /* ns of all of them */
	uint32_t links; /* 0: it is no chain */
	int64_t sent;   /* the rank's own message, by which it began */
};

static struct chain chain_of(const struct charge *c, const struct rank_wait *x)
{
	struct chain found = {.sent = x->start};
	uint32_t rank = x->cause;
	int64_t time = x->end;

	while (found.links < MOST_LINKS) {
		const struct waits_rank *r = &c->w->ranks[rank];
		uint32_t n = wait_before(c->w, rank, r->count, time);
		const struct rank_wait *y = n ? &c->w->list[r->first + n - 1] : NULL;

		if (!y || y->kind != WAIT_SENDER)
			break;
		found.work += waits_work(c->w, rank, y->end, time);
		found.links++;
		if (y->end <= x->start) {
			found.sent = y->end;
			return y->cause == x->rank ? found : (struct chain){0};
		}
		rank = y->cause;
		time = y->end;
	}
	return (struct chain){0};
}

/* A wait for what goes round through several ranks. Who did nothing before it sent its part waits by design. */
static void judge_chain(const struct charge *c, struct rank_wait *x, const struct chain *chain)
{
	const struct waits_rank *r = &c->w->ranks[x->rank];
	uint32_t n = wait_before(c->w, x->rank, r->count, chain->sent);
	int64_t since = n ? c->w->list[r->first + n - 1].end : r->begin;
	uint64_t did = waits_work(c->w, x->rank, chain->sent, x->start);
	uint64_t each = chain->work / chain->links;

	x->more = chain->work > did ? chain->work - did : 0;
	x->asked = 5 * did < each && 5 * waits_work(c->w, x->rank, since, chain->sent) < each;
	x->handed_on = 2 * x->more < (uint64_t)(x->end - x->start);
	x->both = true;
}

/*
 * Who is to blame for a wait: what both did since they last met. Of collective calls that is the last one of
 * all: what came in between hangs together.
 */
static void judge(const struct charge *c, struct rank_wait *x)
{
	int64_t mine = last_leave(c, x->rank, x->start);
	int64_t other = last_leave(c, x->cause, x->end - 1);
	bool collective = x->kind == WAIT_ALL || x->kind == WAIT_ROOT, sent = false;
	const struct meet *m =
		collective ? NULL : last_meet(c, x->rank, x->cause, x->start, x->end);
	struct chain chain = {0};
	uint64_t did, does, more, had_waited;

	if (x->kind == WAIT_SENDER)
		chain = chain_of(c, x);
	if (chain.links > 1) {
		judge_chain(c, x, &chain);
		return;
	}
	if (m) {
		int64_t at_mine = m->to == x->rank ? m->received : m->sent;

		if (at_mine > mine) {
			mine = at_mine;
			other = m->to == x->cause ? m->received : m->sent;
			sent = m->from == x->rank && !heard_since(c, m, x->start);
		}
	}
	did = waits_work(c->w, x->rank, mine, x->start);
	does = waits_work(c->w, x->cause, other, x->end);
	had_waited = x->end > other ? (uint64_t)(x->end - other) - does : 0;
	more = does > did ? does - did : 0;
	x->more = more;
	x->asked = x->kind == WAIT_SENDER && sent && 5 * did < does && 5 * did_first(c, m) < does;
	x->handed_on = more < had_waited || 2 * more < (uint64_t)(x->end - x->start);
	x->both = 5 * did >= does && (collective || both_ways(c, x->rank, x->cause));
}

/* ---- the path ---------------------------------------------------------------------------------- */

static uint32_t last_rank(const struct waits *w, const struct waits_world *world)
{
	uint32_t last = world->members[0];

	for (uint32_t i = 1; i < world->ranks; i++)
		if (w->ranks[world->members[i]].end > w->ranks[last].end)
			last = world->members[i];
	return last;
}

static bool add_section(struct waits *w, struct waits_section s)
{
	if (s.end <= s.start)
		return true;
	if (!vec_reserve(&w->path, &w->path_room, w->path_count, 1))
		return false;
	w->path[w->path_count++] = s;
	return true;
}

/* `left`: by rank, how many of its waits lie before the path. */
static bool find_path(struct charge *c, const struct waits_world *world, uint32_t *left)
{
	struct waits *w = c->w;
	uint32_t rank = last_rank(w, world), wait = TIMELINE_NONE;
	int64_t time = world->end;

	c->first = w->path_count;
	for (;;) {
		uint32_t n = wait_before(w, rank, left[rank], time);
		const struct rank_wait *x;

		if (!n || w->list[w->ranks[rank].first + n - 1].end <= world->begin)
			return add_section(w,
					   (struct waits_section){world->begin, time, rank, wait});
		x = &w->list[w->ranks[rank].first + n - 1];
		left[rank] = n - 1;
		if (!add_section(w, (struct waits_section){x->end, time, rank, wait}))
			return false;
		time = x->end;
		wait = (uint32_t)(x - w->list);
		rank = x->cause;
	}
}

/* ---- costs ------------------------------------------------------------------------------------- */

struct event {
	int64_t time;
	uint32_t index; /* of a wait, or of a section */
	uint8_t what;
};

enum { WAIT_ENDS, WAIT_BEGINS, SECTION_BEGINS };

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static uint32_t list_events(const struct charge *c, uint32_t world, struct event *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->w->count; i++) {
		const struct rank_wait *x = &c->w->list[i];

		if (c->w->ranks[x->rank].world != world)
			continue;
		e[n++] = (struct event){x->start, i, WAIT_BEGINS};
		e[n++] = (struct event){x->end, i, WAIT_ENDS};
	}
	for (uint32_t i = c->first; i < c->w->path_count; i++)
		e[n++] = (struct event){c->w->path[i].start, i, SECTION_BEGINS};
	qsort(e, n, sizeof(*e), by_time);
	return n;
}

struct waiting {
	uint32_t all, asked, charged[WAIT_KINDS];
};

static void count(struct waiting *now, const struct rank_wait *x, uint32_t one)
{
	now->all += one;
	if (x->asked)
		now->asked += one;
	if (!x->asked && !x->handed_on)
		now->charged[x->kind] += one;
}

static void add_cost(struct waits_cost *cost, const struct waiting *now, uint32_t ranks,
		     uint64_t ns)
{
	uint32_t most = 0;

	cost->even += ns * (now->all - now->asked) / ranks;
	for (uint32_t k = 1; k < WAIT_KINDS; k++)
		if (now->charged[k] > now->charged[most])
			most = k;
	if (now->all + 1 >= ranks && now->charged[most])
		cost->alone[most] += ns;
}

static bool add_costs(struct charge *c, uint32_t world)
{
	struct event *e =
		calloc((size_t)c->w->count * 2 + c->w->path_count - c->first + 1, sizeof(*e));
	uint32_t n, rank = TIMELINE_NONE;
	struct waiting now = {0};

	if (!e)
		return false;
	n = list_events(c, world, e);
	for (uint32_t i = 0; i < n; i++) {
		if (i && rank != TIMELINE_NONE && e[i].time > e[i - 1].time)
			add_cost(&c->w->cost[rank], &now, c->w->worlds[world].ranks,
				 (uint64_t)(e[i].time - e[i - 1].time));
		if (e[i].what == SECTION_BEGINS)
			rank = c->w->path[e[i].index].rank;
		else
			count(&now, &c->w->list[e[i].index],
			      e[i].what == WAIT_BEGINS ? 1 : UINT32_MAX);
	}
	free(e);
	return true;
}

/*
 * Who waits for the answer to a task does nothing by design; but ranks that also meet in collective calls, about once in
 * some such waits, run the same code: of these one has less to do.
 */
static void doubt_tasks(struct waits *w)
{
	for (uint32_t k = 0; k < w->worlds_count; k++) {
		uint32_t asked = 0, all = w->worlds[k].collectives;

		for (uint32_t i = 0; i < w->count; i++)
			asked += w->list[i].asked && w->ranks[w->list[i].rank].world == k;
		if (all < LEAST_TOGETHER || asked > TASKS_EACH * all)
			continue;
		for (uint32_t i = 0; i < w->count; i++) {
			struct rank_wait *x = &w->list[i];

			if (w->ranks[x->rank].world != k || !x->asked)
				continue;
			x->asked = false;
			x->both = true;
		}
	}
}

bool waits_charge(struct waits *w)
{
	struct charge c = {.w = w};
	uint32_t *left = calloc((size_t)w->ranks_count + 1, sizeof(*left));
	bool ok = left && list_syncs(&c);

	for (uint32_t i = 0; ok && i < w->count; i++)
		judge(&c, &w->list[i]);
	if (ok)
		doubt_tasks(w);
	for (uint32_t i = 0; ok && i < w->ranks_count; i++)
		left[i] = w->ranks[i].count;
	for (uint32_t i = 0; ok && i < w->worlds_count; i++)
		ok = w->worlds[i].ranks < 2 ||
		     (find_path(&c, &w->worlds[i], left) && add_costs(&c, i));
	map_release(&c.ways);
	free(c.meets);
	free(c.leaves);
	free(left);
	return ok;
}
