/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process kept up to date (wire/live.h), as it was when the process ended or was flushed last:
 * work that was never seen to finish, calls that were left out and counted, what recording cost.
 */
#include "wire/live.h"

#include <stdlib.h>
#include <string.h>

#include "formats/raw/internal.h"

static uint32_t op_of(const struct raw_process *p, uint16_t wire)
{
	return wire < p->op_count && p->ops[wire].kind != RAW_KIND_NONE ? p->ops[wire].op : 0;
}

static void take_flight(struct raw_process *p, const struct wire_line *l)
{
	struct trace *t = p->rt->trace;
	const struct wire_flight *f = &l->flight;
	struct t_unfinished *u;
	uint32_t queue, agent;

	if (l->state != wire_flight_check(l->op, f))
		return;
	queue = map_get(&p->queues, f->queue);
	agent = map_get(&p->agents, f->agent);
	u = trace_add(t, unfinished);
	*u = (struct t_unfinished){.process = p->process,
				   .thread = map_get(&p->threads, f->thread),
				   .op = op_of(p, l->op),
				   .agent = agent ? agent : t->queues[queue].agent,
				   .queue = queue,
				   .kernel = map_get(&p->kernels, f->kernel),
				   .id = f->call,
				   .bytes = f->bytes,
				   .submit = tick_map_ns(&p->ticks, f->submit)};
}

static void take_count(struct raw_process *p, const struct wire_line *l)
{
	struct trace *t = p->rt->trace;
	uint32_t op = op_of(p, l->op);

	if (op && l->count.calls)
		*trace_add(t, left_out) =
			(struct t_left_out){.process = p->process,
					    .op = op,
					    .calls = raw_count(p, l->count.calls, raw_most_of(p)),
					    .thread = map_get(&p->threads, l->count.thread)};
}

static void take_cost(struct raw_process *p, const struct wire_line *l)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];
	double ns = (double)p->ticks.segments[0].rate / (double)(1ull << 40);
	struct wire_cost_sum sum = {0};

	wire_cost_add(&l->cost, &sum);
	tp->calls_cost_ns += sum.ticks * ns;
	tp->calls_cost_variance += sum.variance * ns * ns;
	tp->cost_samples += sum.samples;
}

static void take_beyond(struct raw_process *p, const struct wire_line *l)
{
	p->rt->trace->processes[p->process].unlisted = raw_count(p, l->count.calls, raw_most_of(p));
}

static void take_lines(struct raw_process *p, const uint8_t *data, size_t bytes)
{
	struct wire_chunk h;
	struct wire_line l;

	if (bytes < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	for (size_t at = h.header_size; at + sizeof(l) <= bytes; at += sizeof(l)) {
		memcpy(&l, data + at, sizeof(l));
		if (!l.state)
			continue;
		if (l.kind == WIRE_LINE_FLIGHT)
			take_flight(p, &l);
		else if (l.kind == WIRE_LINE_COUNT)
			take_count(p, &l);
		else if (l.kind == WIRE_LINE_COST)
			take_cost(p, &l);
		else if (l.kind == WIRE_LINE_BEYOND)
			take_beyond(p, &l);
	}
}

static int by_submission(const void *a, const void *b)
{
	const struct t_unfinished *x = a, *y = b;

	if (x->submit != y->submit)
		return x->submit < y->submit ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Of each chunk the last block: earlier ones were flushed. */
void raw_read_live(struct raw_process *p)
{
	struct trace *t = p->rt->trace;
	uint32_t first = t->unfinished_count;
	struct raw_buffer buffer = {0};
	struct map seen = {0};

	for (uint32_t i = p->file.block_count; i-- > 0;) {
		struct raw_block b;
		const uint8_t *data;
		size_t bytes;

		raw_file_block(&p->file, i, &b);
		if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_LIVE ||
		    map_get(&seen, b.seq + 1) ||
		    !raw_file_payload(&p->file, i, &buffer, true, &data, &bytes))
			continue;
		map_set(&seen, b.seq + 1, 1);
		take_lines(p, data, bytes);
	}
	map_release(&seen);
	raw_buffer_release(&buffer);
	if (t->unfinished_count > first)
		qsort(&t->unfinished[first], t->unfinished_count - first, sizeof(*t->unfinished),
		      by_submission);
}
