/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which send a receive belongs to; see waits.h. Messages of one communicator, source, destination and tag do not
 * overtake each other: the first sent is the first received. Where it is not that simple (threads, losses,
 * cancelled messages, unequal numbers) nothing is paired. The pass that gives records their `match` knows more
 * cases, and would cost as much as all the rest of a summary.
 */
#include <stdlib.h>

#include "analysis/waits.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

struct channel {
	uint64_t key;
	uint32_t world, source, destination;
	int32_t tag;
	uint32_t count[2];   /* receives, sends */
	uint32_t first[2];   /* place of the first of them in `order` */
	uint32_t threads[2]; /* that made them */
	bool broken;
};

struct pairing {
	struct waits *w;
	const struct timeline *tl;
	struct channel *channels;
	uint32_t *channel_of; /* by message: index + 1 */
	uint32_t *order;      /* messages by channel, receives then sends, as they came */
	uint32_t channels_count, channels_room;
};

/* Nothing is known for certain of messages of a process that is not recorded throughout. */
static bool *find_gaps(const struct trace *t)
{
	bool *gaps = calloc((size_t)t->processes_count + 1, sizeof(*gaps));

	for (uint32_t i = 1; gaps && i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		gaps[i] = p->lost_records || p->overwritten_records || p->damaged_blocks ||
			  p->rank == UINT32_MAX || (p->filters && p->filters[0]);
	}
	for (uint32_t i = 0; gaps && i < t->pauses_count; i++)
		gaps[t->pauses[i].process] = true;
	return gaps;
}

static bool same(const struct channel *a, const struct channel *b)
{
	return a->key == b->key && a->world == b->world && a->source == b->source &&
	       a->destination == b->destination && a->tag == b->tag;
}

static uint64_t hash_of(const struct channel *c)
{
	const uint64_t words[] = {c->key, (uint64_t)c->world << 32 | c->source,
				  (uint64_t)c->destination << 32 | (uint32_t)c->tag};

	return hash_bytes(words, sizeof(words));
}

/* ---- channels ---------------------------------------------------------------------------------- */

/* The channel of a message; false: it has none. */
static bool describe(const struct pairing *p, const bool *gaps, const struct tl_message *m,
		     struct channel *c)
{
	const struct trace *t = p->tl->trace;
	const struct t_communicator *comm = &t->communicators[m->communicator];
	const struct t_process *process = &t->processes[m->process];
	bool send = m->kind == COMM_OP_SEND;

	if ((!send && m->kind != COMM_OP_RECEIVE) || !m->communicator || !comm->key ||
	    comm->remote_size || m->peer < 0 || gaps[m->process])
		return false;
	*c = (struct channel){.key = comm->key,
			      .world = process->world,
			      .source = send ? process->rank : (uint32_t)m->peer,
			      .destination = send ? (uint32_t)m->peer : process->rank,
			      .tag = m->tag};
	return true;
}

static uint32_t find_channel(struct pairing *p, struct map *places, const struct channel *c)
{
	uint64_t i, hash = hash_of(c);

	map_each(places, hash, i)
		if (same(&p->channels[i - 1], c))
			return (uint32_t)i;
	if (!vec_reserve(&p->channels, &p->channels_room, p->channels_count, 1) ||
	    !map_add(places, hash, (uint64_t)p->channels_count + 1))
		return 0;
	p->channels[p->channels_count++] = *c;
	return p->channels_count;
}

static bool list_channels(struct pairing *p, const bool *gaps)
{
	struct map places = {0};
	uint32_t last[2] = {0}; /* most messages are of the same channels as those before */
	bool ok = true;

	for (uint32_t i = 0; ok && i < p->tl->messages_count; i++) {
		const struct tl_message *m = &p->tl->messages[i];
		struct channel c, *x;
		unsigned send = m->kind == COMM_OP_SEND;

		if (!describe(p, gaps, m, &c))
			continue;
		if (!last[send] || !same(&p->channels[last[send] - 1], &c))
			last[send] = find_channel(p, &places, &c);
		p->channel_of[i] = last[send];
		ok = p->channel_of[i];
		if (!ok)
			break;
		x = &p->channels[p->channel_of[i] - 1];
		if (!x->count[send]++)
			x->threads[send] = m->thread;
		if (x->threads[send] != m->thread || m->state)
			x->broken = true;
	}
	map_release(&places);
	return ok;
}

/* ---- pairs ------------------------------------------------------------------------------------- */

struct begin {
	int64_t start;
	uint32_t message;
};

static int by_start(const void *a, const void *b)
{
	const struct begin *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->message < y->message ? -1 : x->message > y->message;
}

/* Records come by the end of messages; what counts is when they began. */
static bool order_side(const struct pairing *p, uint32_t *list, uint32_t count)
{
	const struct tl_message *m = p->tl->messages;
	struct begin *b;
	uint32_t i = 1;

	while (i < count && m[list[i - 1]].start <= m[list[i]].start)
		i++;
	if (i >= count)
		return true;
	b = calloc(count, sizeof(*b));
	for (i = 0; b && i < count; i++)
		b[i] = (struct begin){m[list[i]].start, list[i]};
	if (b)
		qsort(b, count, sizeof(*b), by_start);
	for (i = 0; b && i < count; i++)
		list[i] = b[i].message;
	free(b);
	return b;
}

static bool pair_channel(struct pairing *p, const struct channel *c)
{
	uint32_t *receives = &p->order[c->first[0]], *sends = &p->order[c->first[1]];

	if (c->broken || c->count[0] != c->count[1])
		return true;
	if (!order_side(p, receives, c->count[0]) || !order_side(p, sends, c->count[1]))
		return false;
	for (uint32_t i = 0; i < c->count[0]; i++) {
		p->w->other[receives[i]] = sends[i] + 1;
		p->w->other[sends[i]] = receives[i] + 1;
	}
	return true;
}

static bool pair_all(struct pairing *p)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < p->channels_count; i++)
		for (unsigned side = 0; side < 2; side++) {
			p->channels[i].first[side] = place;
			place += p->channels[i].count[side];
			p->channels[i].count[side] = 0;
		}
	for (uint32_t i = 0; i < p->tl->messages_count; i++) {
		unsigned send = p->tl->messages[i].kind == COMM_OP_SEND;
		struct channel *c;

		if (!p->channel_of[i])
			continue;
		c = &p->channels[p->channel_of[i] - 1];
		p->order[c->first[send] + c->count[send]++] = i;
	}
	for (uint32_t i = 0; i < p->channels_count; i++)
		if (!pair_channel(p, &p->channels[i]))
			return false;
	return true;
}

bool waits_pair(struct waits *w)
{
	struct pairing p = {.w = w, .tl = w->tl};
	size_t n = (size_t)w->tl->messages_count + 1;
	bool *gaps = find_gaps(w->tl->trace), ok;

	w->other = calloc(n, sizeof(*w->other));
	p.channel_of = calloc(n, sizeof(*p.channel_of));
	p.order = calloc(n, sizeof(*p.order));
	ok = gaps && w->other && p.channel_of && p.order && list_channels(&p, gaps) && pair_all(&p);
	free(gaps);
	free(p.channels);
	free(p.channel_of);
	free(p.order);
	return ok;
}
