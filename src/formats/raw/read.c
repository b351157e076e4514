/* SPDX-License-Identifier: Apache-2.0 */
/* The raw format as a reader of the stream, in the order of the files. See order.c for the other. */
#include "formats/raw/read.h"
#include "formats/raw/match.h"
#include "formats/raw/spans.h"

#include <stdlib.h>
#include <string.h>

#include "formats/format.h"

bool raw_wanted(const struct filter_binding *b, enum raw_kind kind, const union raw_any *any)
{
	switch (kind) {
	case RAW_KIND_DISPATCH:
		return filter_dispatch(b, &any->dispatch);
	case RAW_KIND_COPY:
		return filter_copy(b, &any->copy);
	case RAW_KIND_ALLOCATION:
		return filter_allocation(b, &any->allocation);
	case RAW_KIND_SYNC:
		return filter_sync(b, &any->sync);
	case RAW_KIND_MARKER:
		return filter_marker(b, &any->marker);
	case RAW_KIND_COMM:
		return filter_comm(b, &any->comm);
	case RAW_KIND_COUNTER:
		return filter_counter(b, &any->counter);
	case RAW_KIND_SAMPLE:
		return filter_sample(b, &any->sample);
	case RAW_KIND_HEAP:
		return filter_heap(b, &any->heap);
	case RAW_KIND_DEVICE_SAMPLE:
		return filter_device_sample(b, &any->device_sample);
	case RAW_KIND_KERNEL_LINE:
		return filter_kernel_line(b, &any->kernel_line);
	default:
		return filter_call(b, &any->rec);
	}
}

static kymo_status_t deliver_loss(const struct raw_chunk *c, const struct filter_binding *b,
				  struct stream_sink *sink)
{
	struct rec_loss loss = {c->process, c->thread, c->lost, c->lost_after, c->lost_before};

	if ((!c->lost && !c->missing) || !filter_loss(b, &loss))
		return KYMO_OK;
	return sink->loss(sink, &loss);
}

/* Of calls their numbers alone, chosen by nothing but their ops: most records of most traces are calls. */
static kymo_status_t read_calls(struct raw_chunk *c, const struct filter_binding *b,
				struct stream_sink *sink, int64_t *last)
{
	const struct t_op *ops = c->source->rt->trace->ops;
	kymo_status_t status = KYMO_OK;
	struct wire_record w;
	union raw_any any;
	struct rec call;

	raw_call_init(c, &call);
	while (status == KYMO_OK && raw_chunk_next(c, &w)) {
		const struct raw_op *op = raw_chunk_op(c, w.op);

		if (!filter_op(b, op->op))
			continue;
		if (__builtin_expect(op->kind == RAW_KIND_CALL, 1)) {
			raw_call(c, &w, op, ops[op->op].status_ok, &call);
			if (sink->fields) {
				call.site = (uint32_t)map_get(&c->source->sites, w.site);
				call.wire = &w;
			}
			status = sink->call(sink, &call);
			*last = call.end > *last ? call.end : *last;
		} else {
			status = raw_deliver(sink, raw_record(c, &w, &any), &any);
			*last = any.rec.end > *last ? any.rec.end : *last;
		}
	}
	return status;
}

/*
 * Of a chunk behind the window, which is read as devices may have worked before: a record that starts after it, of which
 * no more is decoded.
 */
static bool is_after(struct raw_chunk *c, const struct filter_binding *b,
		     const struct wire_record *w, const struct raw_op *op, int64_t *last)
{
	int64_t end;

	if ((op->placed && op->kind != RAW_KIND_DISPATCH && op->kind != RAW_KIND_COPY) ||
	    raw_start(c, w, op) <= b->to)
		return false;
	end = raw_chunk_ns(c, w->end);
	*last = end > *last ? end : *last;
	return true;
}

static kymo_status_t read_chunk(struct raw_chunk *c, const struct filter_binding *b,
				struct stream_sink *sink, int64_t *last)
{
	kymo_status_t status = deliver_loss(c, b, sink);
	bool behind = c->lost_before > b->to;
	struct wire_record w;
	union raw_any any;

	if (sink->brief && filter_only_ops(b))
		return status == KYMO_OK ? read_calls(c, b, sink, last) : status;
	while (status == KYMO_OK && raw_chunk_next(c, &w)) {
		const struct raw_op *op = raw_chunk_op(c, w.op);
		enum raw_kind kind;

		if (!filter_op(b, op->op) || (behind && is_after(c, b, &w, op, last)))
			continue;
		kind = raw_record(c, &w, &any);
		if (any.rec.end > *last)
			*last = any.rec.end;
		if (raw_wanted(b, kind, &any))
			status = raw_deliver(sink, kind, &any);
	}
	return status;
}

/* In a pass before the one that counts: of what cannot be read. */
static kymo_status_t tell_of_loss(const struct spans *s, uint32_t i, struct stream_sink *sink)
{
	const struct rec_loss loss = {.process = s->rt->processes[s->at[i].process].process,
				      .thread = s->at[i].thread};

	return sink->loss(sink, &loss);
}

/* What was read of a file, as far as it is not given back. */
struct read_part {
	struct raw_file *file;
	uint32_t first, end; /* blocks */
};

/* A file stays in memory by the part: it may be larger than that. */
static void give_back(struct read_part *p, struct raw_file *file, uint32_t block)
{
	enum { PART = 16 << 20 };

	if (p->file && (p->file != file || file->blocks[block] - file->blocks[p->first] > PART)) {
		raw_file_forget(p->file, p->first, p->end);
		p->file = NULL;
	}
	if (!p->file)
		*p = (struct read_part){.file = file, .first = block};
	p->end = block;
}

static kymo_status_t read_chunks(struct spans *s, const struct filter_binding *b,
				 struct stream_sink *sink, const struct format_options *o)
{
	kymo_status_t status = KYMO_OK;
	struct raw_buffer buffer = {0};
	struct read_part part = {0};
	struct raw_chunk chunk;
	uint64_t done = 0;

	for (uint32_t i = 0; status == KYMO_OK && i < s->count; i++) {
		int64_t last = INT64_MIN;
		bool opened = s->at[i].wanted && spans_open(s, i, &buffer, &chunk);

		if (s->at[i].wanted && !opened && s->ahead)
			status = tell_of_loss(s, i, sink);
		if (!opened)
			continue;
		status = read_chunk(&chunk, b, sink, &last);
		raw_note_end(chunk.source, last);
		if (status == KYMO_OK && s->ahead && chunk.broken)
			status = tell_of_loss(s, i, sink);
		done += chunk.stored;
		give_back(&part, &chunk.source->file, s->at[i].block);
		if (o->progress)
			o->progress(o->progress_data, (double)done / (double)(s->bytes + 1));
	}
	raw_buffer_release(&buffer);
	return status;
}

static kymo_status_t read_recorded(struct raw_trace *rt, const struct filter_binding *b,
				   struct under_way *under_way, struct stream_sink *sink,
				   const struct format_options *o)
{
	struct spans spans;
	kymo_status_t status = spans_find(&spans, rt, b);

	if (status == KYMO_OK && !under_way_losses(under_way, &spans, b))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK)
		status = read_chunks(&spans, b, sink, o);
	if (status == KYMO_OK)
		status = under_way_until(under_way, INT64_MAX, sink);
	spans_release(&spans);
	return status;
}

/* Chunks in which nothing can be of use are not opened. */
static kymo_status_t look_at(struct raw_trace *rt, const struct filter_binding *b,
			     raw_look_where *where, const void *data, struct stream_sink *sink)
{
	const struct format_options none = {0};
	struct spans spans;
	kymo_status_t status = spans_find(&spans, rt, b);

	spans.ahead = true;
	for (uint32_t i = 0; status == KYMO_OK && where && i < spans.count; i++)
		spans.at[i].wanted =
			spans.at[i].wanted &&
			(!spans.at[i].thread || where(data, spans.at[i].thread, spans.at[i].end));
	if (status == KYMO_OK)
		status = read_chunks(&spans, b, sink, &none);
	spans_release(&spans);
	return status;
}

/* Of the processes that are wanted; NULL: all. */
static kymo_status_t look(struct raw_trace *rt, const bool *processes,
			  bool (*wants)(const struct trace *t, const struct t_op *op),
			  raw_look_where *where, const void *data, struct stream_sink *sink)
{
	const struct trace *t = rt->trace;
	struct filter_binding b;
	kymo_status_t status = filter_bind(NULL, t, &b);

	stream_sink_complete(sink);
	b.processes = (bool *)(uintptr_t)processes;
	b.ops = calloc(t->ops_count, sizeof(*b.ops));
	if (!b.ops)
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; b.ops && i < t->ops_count; i++)
		b.ops[i] = wants(t, &t->ops[i]);
	if (status == KYMO_OK)
		status = look_at(rt, &b, where, data, sink);
	b.processes = NULL; /* it is the caller's */
	filter_unbind(&b);
	return status;
}

kymo_status_t raw_trace_look(struct raw_trace *rt,
			     bool (*wants)(const struct trace *t, const struct t_op *op),
			     struct stream_sink *sink)
{
	return look(rt, NULL, wants, NULL, NULL, sink);
}

kymo_status_t raw_trace_look_where(struct raw_trace *rt,
				   bool (*wants)(const struct trace *t, const struct t_op *op),
				   raw_look_where *where, const void *data,
				   struct stream_sink *sink)
{
	return look(rt, NULL, wants, where, data, sink);
}

kymo_status_t raw_trace_look_ahead(struct raw_trace *rt, struct filter_binding *b)
{
	bool (*wants)(const struct trace *t, const struct t_op *op);
	struct stream_sink *sink;
	kymo_status_t status = KYMO_OK;

	while (status == KYMO_OK && (sink = filter_look(b, &wants))) {
		status = look(rt, b->processes, wants, NULL, NULL, sink);
		if (status == KYMO_OK)
			status = filter_looked(b);
	}
	return status;
}

static kymo_status_t read_wanted(struct raw_trace *rt, const struct filter_binding *b, bool ordered,
				 struct stream_sink *sink, const struct format_options *o)
{
	struct under_way under_way;
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (under_way_find(&under_way, rt->trace, b))
		status = ordered ? raw_read_ordered(rt, b, &under_way, sink, o)
				 : read_recorded(rt, b, &under_way, sink, o);
	under_way_release(&under_way);
	return status;
}

kymo_status_t raw_trace_read_bound(struct raw_trace *rt, const struct filter_binding *b,
				   struct stream_sink *sink)
{
	const struct format_options none = {0};

	return read_wanted(rt, b, true, sink, &none);
}

/* One that wants no more is ended as well, and the limit is returned as before. */
static kymo_status_t end(struct stream_sink *sink, const struct trace *t, kymo_status_t limit)
{
	kymo_status_t status = sink->end(sink, t);

	return status == KYMO_OK ? limit : status;
}

kymo_status_t raw_trace_read(struct raw_trace *rt, const struct stream_filter *filter, bool ordered,
			     struct stream_sink *sink, const struct format_options *o)
{
	struct trace *t = raw_trace_definitions(rt);
	struct filter_binding b;
	kymo_status_t status = filter_bind(filter, t, &b);

	if (status != KYMO_OK)
		return status;
	stream_sink_complete(sink);
	sink->part = filter && stream_filter_in_part(filter);
	status = raw_trace_look_ahead(rt, &b);
	if (status == KYMO_OK && filter && sink->lists && !filter_lists(&b, t))
		status = KYMO_ERROR_INVALID_ARGUMENT;
	if (status == KYMO_OK && sink->matches)
		status = match_messages(rt);
	sink->whole = !filter || stream_filter_only_when(filter);
	sink->from = b.from;
	sink->to = b.to;
	if (status == KYMO_OK)
		status = sink->begin(sink, t);
	if (status == KYMO_OK) {
		status = read_wanted(rt, &b, ordered, sink, o);
		raw_trace_totals(rt);
		if (status == KYMO_OK || status == KYMO_ERROR_LIMIT)
			status = end(sink, t, status);
	}
	if (o->progress)
		o->progress(o->progress_data, 1.0);
	filter_unbind(&b);
	return status;
}

static kymo_status_t read_path(const char *path, const struct stream_filter *filter, bool ordered,
			       struct stream_sink *sink, const struct format_options *o)
{
	struct raw_trace *rt;
	kymo_status_t status = raw_trace_open(path, o->log, &rt);

	if (status != KYMO_OK)
		return status;
	status = raw_trace_read(rt, filter, ordered, sink, o);
	raw_trace_close(rt);
	return status;
}

const struct format format_raw = {
	.name = "raw",
	.summary = "what a recording leaves: a trace directory, or one .kyr file of it",
	.suffix = "",
	.probe = raw_trace_probe,
	.read = read_path,
	.reads_ordered = true,
};
