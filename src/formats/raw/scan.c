/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks one after the other, and records in full; see scan.h. */
#include "formats/raw/scan.h"

#include <inttypes.h>
#include <string.h>

#include "formats/raw/internal.h"

const struct raw_op raw_op_none = {.kind = RAW_KIND_NONE};

void raw_scan_init(struct raw_scan *s, struct raw_trace *rt)
{
	memset(s, 0, sizeof(*s));
	s->rt = rt;
	s->bytes_total = rt->bytes;
	for (uint32_t i = 0; i < rt->count; i++) {
		struct raw_process *p = &rt->processes[i];

		memset(p->next_seq, 0, p->thread_count * sizeof(*p->next_seq));
		memset(p->lost_seen, 0, p->thread_count * sizeof(*p->lost_seen));
		for (uint32_t k = 0; k < p->thread_count; k++)
			p->last_seen[k] = rt->trace->threads[p->first_thread + k].start;
	}
}

void raw_scan_finish(struct raw_scan *s)
{
	raw_buffer_release(&s->buffer);
}

/* Records lost before this chunk: what the program counted, or chunks that are not there. */
static void note_loss(struct raw_process *p, const struct wire_chunk *h, struct raw_chunk *out)
{
	uint32_t k = out->thread - p->first_thread;

	out->missing = h->seq != p->next_seq[k];
	out->lost_after = p->last_seen[k];
	out->lost_before = raw_chunk_ns(out, h->base_tick);
	out->lost = raw_count(
		p, h->lost,
		raw_most_in((int64_t)((uint64_t)out->lost_before - (uint64_t)out->lost_after)));
	p->next_seq[k] = h->seq + 1;
	p->last_seen[k] = out->lost_before;
	p->lost_seen[k] = raw_count(p, p->lost_seen[k] + out->lost, COUNT_MAX);
}

/* A chunk that nobody wants is not missing. */
static void pass_over(struct raw_process *p, const struct raw_block *b)
{
	uint32_t thread = map_get(&p->threads, b->thread);

	if (b->type == RAW_CHUNK && b->chunk_type == WIRE_CHUNK_RECORDS && thread)
		p->next_seq[thread - p->first_thread] = b->seq + 1;
}

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
	if (!raw_file_payload(&p->file, block, buffer, count, &data, &out->bytes))
		return false;
	if (!wire_reader_init(&out->reader, data, out->bytes)) {
		if (count) {
			p->file.damaged++;
			stream_warn(p->rt->log,
				    "%s: chunk at offset %" PRIu64 " skipped: its header is damaged",
				    p->file.path, p->file.blocks[block]);
		}
		return false;
	}
	memcpy(&h, data, sizeof(h));
	out->source = p;
	out->process = p->process;
	out->thread = map_get(&p->threads, h.thread);
	out->number = block;
	out->ops = p->ops;
	out->op_count = p->op_count;
	out->ticks = &p->ticks;
	if (count && out->thread)
		note_loss(p, &h, out);
	return true;
}

bool raw_scan_next(struct raw_scan *s, struct raw_chunk *out)
{
	while (s->file < s->rt->count) {
		struct raw_process *p = &s->rt->processes[s->file];
		struct raw_block b;
		uint32_t i = s->block;

		if (i == p->file.block_count) {
			s->file++;
			s->block = 0;
			continue;
		}
		s->block++;
		raw_file_block(&p->file, i, &b);
		s->bytes_done += sizeof(b) + b.stored;
		if (s->wanted && !s->wanted(s->wanted_data, p, &b)) {
			pass_over(p, &b);
			continue;
		}
		if (!raw_chunk_init(p, i, &s->buffer, !s->ahead, out))
			continue;
		out->damaged = s->ahead; /* said already, as far as raw_chunk_damaged() goes */
		return true;
	}
	return false;
}

bool raw_chunk_damaged(struct raw_chunk *c)
{
	struct raw_process *p = c->source;

	if (c->damaged)
		return false;
	c->damaged = true;
	p->file.damaged++;
	stream_warn(p->rt->log,
		    "%s: chunk at offset %" PRIu64 " (thread %u) ends in the middle of a record",
		    p->file.path, p->file.blocks[c->number],
		    p->rt->trace->threads[c->thread].tid);
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
		raw_decode_activity(c, w, op, out);
	}
	return (enum raw_kind)op->kind;
}
