/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much shorter a run is without some waits; see waits.h. Each rank is earlier by some time, which grows where a
 * wait falls away and is held back where the rank needs what another does: a message that was sent, a
 * collective call that all have entered.
 */
#include <stdlib.h>

#include "analysis/waits.h"

struct event {
	int64_t time;
	uint32_t index; /* of a wait, or of a message received */
	uint8_t what;
};

enum { SENT, WAIT_BEGUN, WAITED_FOR, WAIT_OVER, RECEIVED }; /* in this order at one time */

struct replay {
	const struct waits *w;
	const struct waits_left_out *out;
	uint32_t world, count;
	struct event *events;
	int64_t *earlier; /* by rank, ns */
	int64_t *
		then; /* by wait: its rank when it begins; then, by message received: who sent it */
	uint64_t *lead;    /* by message sent: so much earlier it is */
	uint32_t *rank_of; /* by process: index + 1 */
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool falls_away(const struct replay *r, const struct rank_wait *x)
{
	return 1u << x->kind & r->out->kinds && !x->asked && x->cause != r->out->but;
}

/*
 * A wait is what the other had to do more than the rank itself, and what held up the other: that first part falls
 * away, or all of it where nothing else did.
 */
static uint64_t lead_of(const struct rank_wait *x)
{
	return x->handed_on ? x->more : (uint64_t)(x->end - x->start);
}

static const struct tl_message *sender_of(const struct replay *r, uint32_t received)
{
	uint32_t other = r->w->other[received];

	return other ? &r->w->tl->messages[other - 1] : NULL;
}

static void add(struct replay *r, int64_t time, uint32_t index, uint8_t what)
{
	r->events[r->count++] = (struct event){time, index, what};
}

static void list_waits(struct replay *r)
{
	for (uint32_t i = 0; i < r->w->count; i++) {
		const struct rank_wait *x = &r->w->list[i];

		if (r->w->ranks[x->rank].world != r->world)
			continue;
		add(r, x->start, i, WAIT_BEGUN);
		add(r, x->end, i, WAIT_OVER);
		if (x->kind == WAIT_ALL)
			add(r, x->end, i, WAITED_FOR);
		else if (x->because != TIMELINE_NONE && falls_away(r, x))
			r->lead[x->because] = lead_of(x);
	}
}

static void list_messages(struct replay *r)
{
	const struct timeline *tl = r->w->tl;

	for (uint32_t i = 0; i < tl->messages_count; i++) {
		const struct tl_message *m = &tl->messages[i], *s = sender_of(r, i);
		uint32_t rank = r->rank_of[m->process];

		if (m->kind != COMM_OP_RECEIVE || !s || !rank || !r->rank_of[s->process] ||
		    r->w->ranks[rank - 1].world != r->world || m->end < s->start)
			continue;
		add(r, s->start, i, SENT);
		add(r, m->end, i, RECEIVED);
	}
}

static void hold(int64_t *earlier, int64_t most)
{
	if (*earlier > most)
		*earlier = most;
}

/* It is over as soon as the other is there, and not before it begins. */
static void end_wait(int64_t *earlier, int64_t length, int64_t other)
{
	if (other > *earlier + length)
		*earlier += length;
	else if (other > *earlier)
		*earlier = other;
}

static void on_wait(struct replay *r, const struct event *e)
{
	const struct rank_wait *x = &r->w->list[e->index];
	int64_t *mine = &r->earlier[x->rank], *other = &r->earlier[x->cause];
	int64_t length = x->end - x->start;

	if (e->what == WAIT_BEGUN)
		r->then[e->index] = *mine;
	else if (e->what == WAITED_FOR && !falls_away(r, x))
		hold(other, r->then[e->index] + length);
	else if (e->what == WAIT_OVER && falls_away(r, x))
		*mine += length;
	else if (e->what == WAIT_OVER)
		end_wait(mine, length, *other + (falls_away(r, x) ? (int64_t)x->more : 0));
}

static void on_message(struct replay *r, const struct event *e)
{
	const struct tl_message *m = &r->w->tl->messages[e->index], *s = sender_of(r, e->index);
	int64_t *sent = &r->then[r->w->count + e->index];
	int64_t lead = (int64_t)r->lead[s - r->w->tl->messages];

	if (e->what == SENT)
		*sent = r->earlier[r->rank_of[s->process] - 1];
	else
		hold(&r->earlier[r->rank_of[m->process] - 1], *sent + (m->end - s->start) + lead);
}

/* When the last rank ends, and what the busiest does, is what the run takes. */
static uint64_t won(const struct replay *r)
{
	const struct waits_world *world = &r->w->worlds[r->world];
	int64_t last = world->begin;
	uint64_t most, length = (uint64_t)(world->end - world->begin);

	for (uint32_t i = 0; i < world->ranks; i++) {
		uint32_t rank = world->members[i];
		int64_t end = r->w->ranks[rank].end - r->earlier[rank];

		last = end > last ? end : last;
	}
	most = length - waits_busiest(r->w, r->world);
	return world->end - last < (int64_t)most ? (uint64_t)(world->end - last) : most;
}

uint64_t waits_busiest(const struct waits *w, uint32_t world)
{
	const struct waits_world *x = &w->worlds[world];
	uint64_t most = 0;

	for (uint32_t i = 0; i < x->ranks; i++) {
		uint64_t ns = waits_useful(w, x->members[i], x->begin, x->end);

		most = ns > most ? ns : most;
	}
	return most;
}

bool waits_replay(const struct waits *w, uint32_t world, const struct waits_left_out *out,
		  uint64_t *gain)
{
	struct replay r = {.w = w, .out = out, .world = world};
	const struct timeline *tl = w->tl;
	size_t messages = (size_t)tl->messages_count + 1, waits = w->count;
	bool ok;

	r.events = calloc(2 * messages + 3 * waits, sizeof(*r.events));
	r.earlier = calloc((size_t)w->ranks_count + 1, sizeof(*r.earlier));
	r.then = calloc(messages + waits, sizeof(*r.then));
	r.lead = calloc(messages, sizeof(*r.lead));
	r.rank_of = calloc((size_t)tl->trace->processes_count + 1, sizeof(*r.rank_of));
	ok = r.events && r.earlier && r.then && r.lead && r.rank_of;
	for (uint32_t i = 0; ok && i < w->ranks_count; i++)
		r.rank_of[w->ranks[i].process] = i + 1;
	if (ok) {
		list_waits(&r);
		list_messages(&r);
		qsort(r.events, r.count, sizeof(*r.events), by_time);
		for (uint32_t i = 0; i < r.count; i++) {
			if (r.events[i].what == SENT || r.events[i].what == RECEIVED)
				on_message(&r, &r.events[i]);
			else
				on_wait(&r, &r.events[i]);
		}
		*gain = won(&r);
	}
	free(r.events);
	free(r.earlier);
	free(r.then);
	free(r.lead);
	free(r.rank_of);
	return ok;
}
