/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies, which mode "summary" keeps instead of records: read with the definitions, because there is
 * no more of them than of ops and threads. What a process has given to the table of its job is taken
 * out again where that table is in the trace.
 */
#include "wire/tally.h"

#include <string.h>

#include "formats/raw/internal.h"
#include "record/tallies.h"

/* An entry as it lies in the file. */
struct entry {
	struct wire_tally y;
	struct wire_work w; /* where y.flags say so */
};

/* Calls `fn` for every entry of the process that is in order, with the thread of its chunk. */
static void each(struct raw_process *p, bool count_damage,
		 void (*fn)(struct raw_process *p, const struct entry *e, uint32_t thread))
{
	struct raw_buffer buffer = {0};

	for (uint32_t i = 0; i < p->file.block_count; i++) {
		struct raw_block b;
		struct wire_chunk h;
		struct entry e;
		const uint8_t *data;
		size_t bytes;

		raw_file_block(&p->file, i, &b);
		if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_TALLY ||
		    !raw_file_payload(&p->file, i, &buffer, count_damage, &data, &bytes) ||
		    bytes < sizeof(h))
			continue;
		memcpy(&h, data, sizeof(h));
		for (size_t at = h.header_size; at + sizeof(e.y) <= bytes;) {
			memcpy(&e.y, data + at, sizeof(e.y));
			if (wire_tally_size(&e.y) > bytes - at)
				break;
			memset(&e.w, 0, sizeof(e.w));
			memcpy(&e.w, data + at + sizeof(e.y), wire_tally_size(&e.y) - sizeof(e.y));
			fn(p, &e, map_get(&p->threads, h.thread));
			at += wire_tally_size(&e.y);
		}
	}
	raw_buffer_release(&buffer);
}

/* ---- what an entry is about ---------------------------------------------------------------- */

/* Keys in the order of the rows of tally/tally.h; false: it is damaged. */
static bool take_key(const struct raw_process *p, const struct entry *e, uint32_t thread,
		     struct t_tally *out)
{
	const struct trace *t = p->rt->trace;
	const uint32_t *key = e->w.key;
	uint32_t op, agent, queue;

	if (e->y.op >= p->op_count || p->ops[e->y.op].kind == RAW_KIND_NONE ||
	    e->w.kind >= WIRE_TALLY_POOL || !thread)
		return false;
	op = p->ops[e->y.op].op;
	out->kind = e->w.kind;
	out->thread = thread;
	out->key[KEY_PROCESS] = p->process;
	switch (out->kind) {
	case WIRE_TALLY_DISPATCH:
		agent = map_get(&p->agents, key[WIRE_KEY_DISPATCH_AGENT]);
		queue = map_get(&p->queues, key[WIRE_KEY_DISPATCH_QUEUE]);
		out->key[KEY_DISPATCH_AGENT] = agent ? agent : t->queues[queue].agent;
		out->key[KEY_DISPATCH_QUEUE] = queue;
		out->key[KEY_DISPATCH_KERNEL] = map_get(&p->kernels, key[WIRE_KEY_DISPATCH_KERNEL]);
		return true;
	case WIRE_TALLY_COPY:
		out->key[KEY_COPY_OP] = op;
		out->key[KEY_COPY_QUEUE] = map_get(&p->queues, key[WIRE_KEY_COPY_QUEUE]);
		out->key[KEY_COPY_SOURCE_AGENT] =
			map_get(&p->agents, key[WIRE_KEY_COPY_SOURCE_AGENT]);
		out->key[KEY_COPY_DESTINATION_AGENT] =
			map_get(&p->agents, key[WIRE_KEY_COPY_DESTINATION_AGENT]);
		out->key[KEY_COPY_KINDS] = key[WIRE_KEY_COPY_KINDS] & 0xffff;
		return true;
	case WIRE_TALLY_ALLOCATION:
		out->key[KEY_ALLOCATION_AGENT] =
			map_get(&p->agents, key[WIRE_KEY_ALLOCATION_AGENT]);
		out->key[KEY_ALLOCATION_KIND] = key[WIRE_KEY_ALLOCATION_KIND];
		out->key[KEY_ALLOCATION_WHAT] = key[WIRE_KEY_ALLOCATION_WHAT];
		out->part = key[WIRE_KEY_ALLOCATION_PART] != 0;
		return true;
	default:
		break;
	}
	out->key[KEY_THREAD] = thread;
	out->key[KEY_OP] = op;
	if (out->kind == WIRE_TALLY_SYNC)
		out->key[KEY_SYNC_QUEUE] = map_get(&p->queues, key[WIRE_KEY_SYNC_QUEUE]);
	if (out->kind == WIRE_TALLY_COMM)
		out->key[KEY_COMM_DATATYPE] = map_get(&p->strings, key[WIRE_KEY_COMM_DATATYPE]);
	for (unsigned i = 0; out->kind == WIRE_TALLY_MARKER && i < 3; i++)
		out->key[KEY_MARKER_NAME + i] = map_get(&p->strings, key[WIRE_KEY_MARKER_NAME + i]);
	return true;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* Durations of an op lie close together: of a job with many ranks the whole would be gigabytes. */
static void add_histogram(struct trace *t, struct t_tally *out, const struct wire_tally *y)
{
	uint32_t first = 0, end = WIRE_TALLY_BUCKETS;

	while (first < end && !y->histogram[first])
		first++;
	while (end > first && !y->histogram[end - 1])
		end--;
	if (first == end)
		return;
	out->histogram = trace_alloc(t, (end - first) * sizeof(*y->histogram));
	if (!out->histogram)
		return;
	memcpy(out->histogram, y->histogram + first, (end - first) * sizeof(*y->histogram));
	out->first = first;
	out->buckets = end - first;
}

static void take_numbers(const struct raw_process *p, const struct entry *e, struct t_tally *out)
{
	bool device = out->kind == WIRE_TALLY_DISPATCH || out->kind == WIRE_TALLY_COPY;
	double ns = device ? 1 : (double)p->ticks.segments[0].rate / (double)(1ull << 40);

	out->count = e->y.count;
	out->errors = e->y.errors;
	out->total = wire_tally_ns(e->y.total, ns);
	out->self = wire_tally_ns(e->y.self, ns);
	out->min = e->y.min == UINT64_MAX ? UINT64_MAX : wire_tally_ns(e->y.min, ns);
	out->max = wire_tally_ns(e->y.max, ns);
	out->ns_per_tick = ns;
}

static void take_work(struct trace *t, const struct wire_work *w, struct t_tally *out)
{
	out->work = trace_alloc(t, sizeof(*out->work));
	if (out->work)
		*out->work = (struct t_work){.bytes = w->bytes,
					     .received = w->received,
					     .wait = w->wait,
					     .untimed = w->untimed,
					     .untimed_bytes = w->untimed_bytes,
					     .frees = w->frees,
					     .freed = w->freed,
					     .in_use = w->bytes - w->freed,
					     .peak = w->peak};
}

static void add_entry(struct raw_process *p, const struct entry *e, uint32_t thread)
{
	struct trace *t = p->rt->trace;
	struct t_tally y = {0}, *out;

	if (e->y.flags & WIRE_TALLY_GIVEN || (!e->y.count && !e->w.frees) ||
	    !take_key(p, e, thread, &y))
		return;
	take_numbers(p, e, &y);
	y.beside = e->y.flags & WIRE_TALLY_BESIDE;
	add_histogram(t, &y, &e->y);
	if (e->y.flags & WIRE_TALLY_WORK)
		take_work(t, &e->w, &y);
	*trace_add(t, tallies) = y;
	if (y.kind != WIRE_TALLY_ALLOCATION || e->w.key[WIRE_KEY_ALLOCATION_PART] || !y.work)
		return;
	out = trace_add(t, tallies); /* the memory in use, whatever it is used for */
	*out = (struct t_tally){.kind = WIRE_TALLY_POOL,
				.thread = thread,
				.count = y.count,
				.work = y.work,
				.key = {[KEY_PROCESS] = y.key[KEY_PROCESS],
					[KEY_POOL_AGENT] = y.key[KEY_ALLOCATION_AGENT],
					[KEY_POOL_KIND] = y.key[KEY_ALLOCATION_KIND]}};
}

void raw_read_tallies(struct raw_process *p)
{
	p->first_tally = p->rt->trace->tallies_count;
	each(p, true, add_entry);
	p->end_tally = p->rt->trace->tallies_count;
}

/* ---- what is in the job's table ------------------------------------------------------------ */

static void subtract(uint64_t *from, uint64_t n)
{
	*from = *from > n ? *from - n : 0;
}

static void subtract_work(struct t_work *from, const struct wire_work *w)
{
	subtract(&from->bytes, w->bytes);
	subtract(&from->received, w->received);
	subtract(&from->wait, w->wait);
	subtract(&from->untimed, w->untimed);
	subtract(&from->untimed_bytes, w->untimed_bytes);
	subtract(&from->frees, w->frees);
	subtract(&from->freed, w->freed);
	from->in_use = from->bytes - from->freed;
}

/* Extremes stay: they are those of more calls than are left. */
static void subtract_entry(struct t_tally *from, const struct t_tally *given, const struct entry *e)
{
	subtract(&from->count, given->count);
	subtract(&from->errors, given->errors);
	subtract(&from->total, given->total);
	subtract(&from->self, given->self);
	for (uint32_t i = 0; i < from->buckets; i++)
		((uint32_t *)from->histogram)[i] -= e->y.histogram[from->first + i];
	if (from->work)
		subtract_work(from->work, &e->w);
}

static void take_out(struct raw_process *p, const struct entry *e, uint32_t thread)
{
	struct trace *t = p->rt->trace;
	struct t_tally given = {0};

	if (!(e->y.flags & WIRE_TALLY_GIVEN) ||
	    !take_key(p, e, map_get(&p->threads, e->w.thread), &given))
		return;
	take_numbers(p, e, &given);
	for (uint32_t i = p->first_tally; i < p->end_tally; i++) {
		struct t_tally *y = &t->tallies[i];

		if (y->kind != given.kind || y->thread != given.thread || y->part != given.part ||
		    memcmp(y->key, given.key, sizeof(y->key)) != 0)
			continue;
		subtract_entry(y, &given, e);
		if (i + 1 < p->end_tally && y[1].kind == WIRE_TALLY_POOL && y[1].work == y->work)
			subtract(&y[1].count, given.count);
		return;
	}
}

void raw_drop_merged_tallies(struct raw_process *p)
{
	struct trace *t = p->rt->trace;

	for (uint32_t i = p->first_tally; i < p->end_tally; i++) {
		struct t_tally *y = &t->tallies[i];

		if (!map_get(&p->merged_threads, t->threads[y->thread].index))
			continue;
		y->count = 0;
		y->work = NULL;
	}
	each(p, false, take_out);
}
