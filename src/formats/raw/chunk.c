/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks one after the other, and records in full; see chunk.h. */
#include "formats/raw/chunk.h"

#include <inttypes.h>
#include <string.h>

#include "formats/raw/internal.h"

const struct raw_op raw_op_none = {.kind = RAW_KIND_NONE};

void raw_trace_totals(struct raw_trace *rt)
{
	struct trace *t = rt->trace;

	for (uint32_t i = 0; i < rt->count; i++) {
		struct raw_process *p = &rt->processes[i];
		struct t_process *tp = &t->processes[p->process];
		uint64_t lost = 0;

		for (uint32_t k = 0; k < p->thread_count; k++) {
			struct t_thread *th = &t->threads[p->first_thread + k];

			if (p->lost_seen[k] > th->lost)
				th->lost = p->lost_seen[k];
			lost = lost < COUNT_MAX ? lost + th->lost : lost;
		}
		lost = raw_count(p, lost, raw_most_of(p));
		if (lost > tp->lost_records)
			tp->lost_records = lost;
		/* What was read after the cut may have passed for records. */
		if (!p->file.damaged && raw_mapping_cut(p->file.mapping)) {
			p->file.damaged = 1;
			stream_warn(rt->log, "%s: the file was cut while it was read",
				    p->file.path);
		}
		tp->damaged_blocks = p->file.damaged;
	}
}

void raw_note_end(struct raw_process *p, int64_t end)
{
	struct trace *t = p->rt->trace;
	struct t_process *tp = &t->processes[p->process];

	t->end = end > t->end ? end : t->end;
	if (end > tp->seen)
		tp->seen = end;
}

bool raw_chunk_init(struct raw_process *p, uint32_t block, struct raw_buffer *buffer, bool count,
		    struct raw_chunk *out)
{
	struct raw_block b;
	struct wire_chunk h;
	const uint8_t *data;

	raw_file_block(&p->file, block, &b);
	if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_RECORDS)
		return false;
	memset(out, 0, sizeof(*out));
	p->rt->opened++;
	if (!raw_file_payload(&p->file, block, buffer, count, &data, &out->bytes))
		return false;
	if (!wire_reader_init(&out->reader, data, out->bytes)) {
		if (count) {
			p->file.damaged++;
			stream_warn(p->rt->log,
				    "%s: chunk at offset %" PRIu64
				    " skipped: its header is damaged",
				    p->file.path, p->file.blocks[block]);
		}
		return false;
	}
	memcpy(&h, data, sizeof(h));
	out->source = p;
	out->stored = b.stored;
	out->process = p->process;
	out->thread = map_get(&p->threads, h.thread);
	out->number = block;
	out->ops = p->ops;
	out->op_count = p->op_count;
	out->ticks = &p->ticks;
	out->lost = h.lost;
	out->lost_before = raw_chunk_ns(out, h.base_tick);
	out->damaged = !count; /* said already, as far as raw_chunk_damaged() goes */
	return true;
}

bool raw_chunk_damaged(struct raw_chunk *c)
{
	struct raw_process *p = c->source;

	c->broken = true;
	if (c->damaged)
		return false;
	c->damaged = true;
	p->file.damaged++;
	stream_warn(p->rt->log,
		    "%s: chunk at offset %" PRIu64 " (thread %u) ends in the middle of a record",
		    p->file.path, p->file.blocks[c->number], p->rt->trace->threads[c->thread].tid);
	return false;
}

static void say_undefined(struct raw_process *p, uint16_t op)
{
	if (p->undefined_op_said)
		return;
	p->undefined_op_said = true;
	stream_warn(p->rt->log,
		    "%s: records of operation %u, whose definition is missing, are shown without "
		    "name and arguments",
		    p->file.path, op);
}

enum raw_kind raw_record(struct raw_chunk *c, const struct wire_record *w, union raw_any *out)
{
	const struct raw_op *op = raw_chunk_op(c, w->op);
	const struct t_op *t_op = &c->source->rt->trace->ops[op->op];
	struct rec *r = &out->rec;

	r->process = c->process;
	r->thread = c->thread;
	r->op = op->op;
	r->site = map_get(&c->source->sites, w->site);
	r->stack = w->stack ? map_get(&c->source->stacks, w->stack) : 0;
	r->status = w->has_status ? w->status : t_op->status_ok;
	r->ok = !w->has_status || w->status == t_op->status_ok;
	r->unwound = w->unwound;
	r->id = op->kind == RAW_KIND_CALL || op->kind == RAW_KIND_NONE ||
				op->kind == RAW_KIND_PUBLISHED
			? w->id
			: 0;
	r->parent = w->parent;
	r->external = w->external;
	r->scope = w->scope;
	r->start = raw_chunk_ns(c, w->start);
	r->end = w->start == w->end ? r->start : raw_chunk_ns(c, w->end);
	r->wire = op->kind == RAW_KIND_NONE ? NULL : w;
	if (op->kind != RAW_KIND_CALL) {
		if (op->kind == RAW_KIND_NONE)
			say_undefined(c->source, w->op);
		raw_decode_activity(c, w, op, op->fields, out);
	}
	return (enum raw_kind)op->kind;
}

int64_t raw_start_elsewhere(struct raw_chunk *c, const struct wire_record *w,
			    const struct raw_op *op)
{
	union raw_any any;

	any.rec = (struct rec){.process = c->process,
			       .thread = c->thread,
			       .op = op->op,
			       .start = raw_chunk_ns(c, w->start)};
	raw_decode_activity(c, w, op, op->placed, &any);
	return raw_key((enum raw_kind)op->kind, &any);
}
