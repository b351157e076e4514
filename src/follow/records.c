/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records added up. Of a call nothing is decoded but its operation, its length and its times: that is what a core can
 * do some hundred million times a second.
 */
#include <stdlib.h>
#include <string.h>

#include <kymo/schema.h>

#include "base/vec.h"
#include "follow/process.h"
#include "wire/wire.h"

/* ---- waiting ----------------------------------------------------------------------------------- */

/* Calls end before those around them: what was counted of the inner ones gives way to the outer one. */
static void add_wait(struct follow_process *p, struct follow_thread *t, uint64_t start,
		     uint64_t end, double weight)
{
	while (t->wait_count && t->waits[t->wait_count - 1].start >= start) {
		const struct follow_wait *w = &t->waits[--t->wait_count];

		p->waited -= weight * follow_ns(p, w->end - w->start);
	}
	if (t->wait_count == WAITS_KEPT)
		memmove(t->waits, t->waits + 1, --t->wait_count * sizeof(*t->waits));
	t->waits[t->wait_count++] = (struct follow_wait){start, end};
	p->waited += weight * follow_ns(p, end - start);
}

/* ---- work of devices --------------------------------------------------------------------------- */

static uint32_t device_of(const struct follow_process *p, const uint64_t value[FIELDS])
{
	uint64_t agent = value[FIELD_AGENT];

	if (!agent) {
		uint64_t queue = map_get(&p->queues, value[FIELD_QUEUE]);

		agent = queue ? queue - 1 : 0;
	}
	agent = map_get(&p->agents, agent);
	return agent ? (uint32_t)agent - 1 : 0;
}

static void add_kernel(struct follow *f, struct follow_process *p, const uint64_t value[FIELDS],
		       double weight)
{
	uint64_t row = map_get(&p->kernels, value[FIELD_KERNEL]), start = value[FIELD_START];
	double ns = start ? (double)value[FIELD_DURATION] : 0;
	const struct follow_sum more = {weight, weight * ns, 0};
	uint32_t device = device_of(p, value);

	follow_sum_add(&p->kernels_sum, &more);
	follow_add_to(f, p, TABLE_DEVICES, device, &more);
	if (start &&
	    !busy_union_add(&f->devices[device].busy, start, start + value[FIELD_DURATION]))
		f->failed = true;
	if (!row)
		row = follow_row(f, &f->kernels, "", "(unknown)", strlen("(unknown)"));
	if (row)
		follow_add_to(f, p, TABLE_KERNELS, (uint32_t)row - 1, &more);
}

static void add_copy(struct follow *f, struct follow_process *p, const struct follow_op *op,
		     const uint64_t value[FIELDS], double weight)
{
	double ns = value[FIELD_START] ? (double)value[FIELD_DURATION] : 0;
	const struct follow_sum more = {weight, weight * ns, weight * (double)value[FIELD_BYTES]};

	follow_sum_add(&p->copies, &more);
	follow_add_to(f, p, TABLE_COPIES, op->row - 1, &more);
}

/* Parts of other allocations are not counted again. What is freed says how much it was, or its allocation has. */
static void add_memory(struct follow *f, struct follow_process *p, const uint64_t value[FIELDS],
		       bool freed)
{
	uint32_t place = value[FIELD_PARENT] ? 0
					     : follow_memory(f, device_of(p, value),
							     (uint32_t)value[FIELD_KIND]);
	uint64_t bytes = value[FIELD_BYTES], known;

	if (!place)
		return;
	if (!freed) {
		if (bytes != UINT64_MAX && !map_set(&p->allocations, value[FIELD_ID], bytes + 1))
			f->failed = true;
	} else {
		known = map_remove(&p->allocations, value[FIELD_ID]);
		bytes = known ? known - 1 : bytes;
	}
	follow_add_to(f, p, TABLE_MEMORY, place - 1,
		      &(struct follow_sum){.bytes = freed ? -(double)bytes : (double)bytes});
}

static bool take_values(const struct follow_op *op, const struct wire_record *r,
			uint64_t value[FIELDS])
{
	struct wire_cursor c;
	struct wire_value v;

	memset(value, 0, FIELDS * sizeof(*value));
	wire_cursor_init(&c, r);
	for (unsigned i = 0; i < op->field_count; i++) {
		uint64_t u;

		if (!wire_number(&c, op->fields[i].kind, op->fields[i].size, &u)) {
			if (!wire_field(&c, op->fields[i].kind, op->fields[i].element,
					op->fields[i].size, &v))
				return false;
			u = v.u;
		}
		if (op->fields[i].what)
			value[op->fields[i].what - 1] = u;
	}
	return true;
}

static void add_work(struct follow *f, struct follow_process *p, const struct follow_op *op,
		     const uint8_t *record, const uint8_t *end, double weight)
{
	struct wire_reader reader = {.p = record, .end = end};
	uint64_t value[FIELDS];
	struct wire_record r;

	if (wire_next(&reader, &r) != 1 || !take_values(op, &r, value))
		return;
	if (op->kind == FOLLOW_DISPATCH)
		add_kernel(f, p, value, weight);
	else if (op->kind == FOLLOW_COPY)
		add_copy(f, p, op, value, weight);
	else
		add_memory(f, p, value, op->kind == FOLLOW_FREE);
}

/* ---- all --------------------------------------------------------------------------------------- */

static struct follow_op *op_of(struct follow *f, struct follow_process *p, uint16_t wire)
{
	struct follow_op *op = wire < p->op_room ? &p->ops[wire] : NULL;

	if (op && !op->resolved)
		follow_resolve(f, p, op);
	return op && op->resolved ? op : NULL;
}

/* Times that do not fit into the head follow it, after the call site. */
static void long_times(const struct wire_head *h, const uint8_t *record, uint64_t *gap,
		       uint64_t *duration)
{
	size_t at = sizeof(*h) + (h->flags & WIRE_SITE32 ? 4 : 0);

	if (h->words * 4u < at + 16)
		return;
	memcpy(gap, record + at, 8);
	memcpy(duration, record + at + 8, 8);
}

/* What was counted of calls since the last flush. */
static void flush_calls(struct follow *f, struct follow_process *p, double weight)
{
	for (uint32_t i = 0; i < p->met_count; i++) {
		struct follow_op *op = &p->ops[p->met[i]];
		const struct follow_sum more = {weight * op->count,
						weight * follow_ns(p, op->ticks), 0};

		follow_add_to(f, p, TABLE_CALLS, op->row - 1, &more);
		follow_sum_add(&p->calls, &more);
		op->count = 0;
		op->ticks = 0;
	}
	p->met_count = 0;
}

static void meet(struct follow *f, struct follow_process *p, uint16_t wire)
{
	if (!vec_reserve(&p->met, &p->met_room, p->met_count, 1))
		f->failed = true;
	else
		p->met[p->met_count++] = wire;
}

static void add_other(struct follow *f, struct follow_process *p, struct follow_thread *t,
		      const struct follow_op *op, const uint8_t *at, const uint8_t *end,
		      uint64_t duration, double weight)
{
	if (op->kind == FOLLOW_CALL)
		add_wait(p, t, t->tick - duration, t->tick, weight);
	else if (op->kind != FOLLOW_ASIDE)
		add_work(f, p, op, at, end, weight);
}

bool follow_records(struct follow *f, struct follow_process *p, struct follow_thread *t,
		    const uint8_t *chunk, uint32_t committed, double weight)
{
	const uint8_t *at = chunk + t->done, *end = chunk + committed;
	struct follow_op *op = NULL;
	bool all = true;

	while ((size_t)(end - at) >= sizeof(struct wire_head)) {
		struct wire_head h;
		uint64_t gap, duration;

		memcpy(&h, at, sizeof(h));
		if (h.words < sizeof(h) / 4 || (size_t)(end - at) < h.words * 4u) {
			p->damaged++;
			at = end;
			break;
		}
		op = op_of(f, p, h.op);
		if (!op) {
			all = false;
			break;
		}
		gap = h.gap;
		duration = h.duration;
		if (h.flags & WIRE_LONG)
			long_times(&h, at, &gap, &duration);
		t->tick += gap;
		if (op->kind == FOLLOW_CALL) {
			if (!op->count++)
				meet(f, p, h.op);
			op->ticks += duration;
		}
		if (op->kind != FOLLOW_CALL || op->flags & KYMO_OP_WAITS)
			add_other(f, p, t, op, at, end, duration, weight);
		at += h.words * 4u;
	}
	flush_calls(f, p, weight);
	p->read += (double)(at - chunk - t->done);
	t->done = (uint32_t)(at - chunk);
	return all;
}

void follow_begin_chunk(struct follow_thread *t, const struct wire_chunk *h)
{
	t->seq = h->seq;
	t->tid = h->tid;
	t->done = h->header_size;
	t->tick = h->base_tick;
}
