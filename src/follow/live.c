/* SPDX-License-Identifier: Apache-2.0 */
/* What a process keeps up to date in place: work under way, what recording costs, tallies of mode summary. */
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "follow/process.h"
#include "record/fields.h"
#include "wire/live.h"
#include "wire/tally.h"

/* ---- lines ------------------------------------------------------------------------------------- */

static void add_flight(struct follow *f, struct follow_process *p, const struct wire_line *l)
{
	const struct wire_flight *w = &l->flight;
	uint64_t agent = w->agent;

	if (l->state != wire_flight_check(l->op, w))
		return; /* it is just being changed */
	if (!agent) {
		uint64_t queue = map_get(&p->queues, w->queue);

		agent = queue ? queue - 1 : 0;
	}
	agent = map_get(&p->agents, agent);
	f->devices[agent ? agent - 1 : 0].under_way++;
	p->under_way++;
}

void follow_lines(struct follow *f, struct follow_process *p, const uint8_t *chunk, size_t bytes)
{
	struct wire_cost_sum sum = {0};
	struct wire_chunk h;
	struct wire_line l;

	memcpy(&h, chunk, sizeof(h));
	for (size_t at = h.header_size; at + sizeof(l) <= bytes; at += sizeof(l)) {
		memcpy(&l, chunk + at, sizeof(l));
		if (!l.state)
			continue;
		if (l.kind == WIRE_LINE_FLIGHT)
			add_flight(f, p, &l);
		else if (l.kind == WIRE_LINE_COST)
			wire_cost_add(&l.cost, &sum);
		else if (l.kind == WIRE_LINE_COUNT)
			p->unrecorded_calls += (double)l.count.calls;
		else if (l.kind == WIRE_LINE_BEYOND)
			p->under_way += l.count.calls;
	}
	p->cost_ns += sum.ticks * p->ns_per_tick;
}

/* ---- tallies ----------------------------------------------------------------------------------- */

/* What was added to the entry at that place since the last look; NULL: no memory. */
static struct follow_sum *before(struct follow *f, struct follow_process *p, uint64_t place)
{
	uint64_t i = map_get(&p->tally_places, place);

	if (i)
		return &p->tallies[i - 1];
	if (!vec_reserve_zero(&p->tallies, &p->tally_room, p->tally_count, 1) ||
	    !map_set(&p->tally_places, place, p->tally_count + 1u)) {
		f->failed = true;
		return NULL;
	}
	return &p->tallies[p->tally_count++];
}

static void add_work(struct follow *f, struct follow_process *p, const struct wire_work *w,
		     const struct follow_sum *more)
{
	uint64_t agent, row;

	if (w->kind == WIRE_TALLY_DISPATCH) {
		agent = map_get(&p->agents, w->key[WIRE_KEY_DISPATCH_AGENT]);
		row = map_get(&p->kernels, w->key[WIRE_KEY_DISPATCH_KERNEL]);
		follow_sum_add(&p->kernels_sum, more);
		follow_add_to(f, p, TABLE_DEVICES, agent ? (uint32_t)agent - 1 : 0, more);
		if (row)
			follow_add_to(f, p, TABLE_KERNELS, (uint32_t)row - 1, more);
	}
}

static void add_entry(struct follow *f, struct follow_process *p, uint64_t place,
		      const struct wire_tally *y, const struct wire_work *w)
{
	bool on_device = w && (w->kind == WIRE_TALLY_DISPATCH || w->kind == WIRE_TALLY_COPY);
	struct follow_op *op = y->op < p->op_room ? &p->ops[y->op] : NULL;
	struct follow_sum now = {(double)y->count,
				 on_device ? (double)y->total : follow_ns(p, y->total),
				 w ? (double)w->bytes : 0},
			  more, *then;

	if (y->flags & WIRE_TALLY_GIVEN || !op)
		return;
	if (!op->resolved)
		follow_resolve(f, p, op);
	then = before(f, p, place);
	if (!then)
		return;
	more = (struct follow_sum){now.count - then->count, now.ns - then->ns,
				   now.bytes - then->bytes};
	*then = now;
	if (op->kind == FOLLOW_CALL) {
		follow_add_to(f, p, TABLE_CALLS, op->row - 1, &more);
		follow_sum_add(&p->calls, &more);
		if (op->flags & KYMO_OP_WAITS)
			p->waited += more.ns;
	} else if (op->kind == FOLLOW_COPY) {
		follow_add_to(f, p, TABLE_COPIES, op->row - 1, &more);
		follow_sum_add(&p->copies, &more);
	} else if (w) {
		add_work(f, p, w, &more);
	}
}

void follow_tallies(struct follow *f, struct follow_process *p, const uint8_t *chunk, size_t bytes)
{
	struct wire_chunk h;
	struct wire_tally y;
	struct wire_work w;

	memcpy(&h, chunk, sizeof(h));
	for (size_t at = h.header_size; at + sizeof(y) <= bytes;) {
		bool work;

		memcpy(&y, chunk + at, sizeof(y));
		if (wire_tally_size(&y) > bytes - at)
			break;
		work = y.flags & WIRE_TALLY_WORK;
		if (work)
			memcpy(&w, chunk + at + sizeof(y), sizeof(w));
		add_entry(f, p, hash_mix(hash_u64((uint64_t)h.thread << 32 | (uint32_t)at), h.seq),
			  &y, work ? &w : NULL);
		at += wire_tally_size(&y);
	}
}
