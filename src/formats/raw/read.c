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
	if (kind == RAW_KIND_DISPATCH)
		return filter_dispatch(b, &any->dispatch);
	if (kind == RAW_KIND_COPY)
		return filter_copy(b, &any->copy);
	return filter_rec(b, &any->rec);
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
			status = sink->call(sink, &call);
			*last = call.end > *last ? call.end : *last;
		} else {
			status = raw_deliver(sink, raw_record(c, &w, &any), &any);
			*last = any.rec.end > *last ? any.rec.end : *last;
		}
	}
	return status;
}

static kymo_status_t read_chunk(struct raw_chunk *c, const struct filter_binding *b,
				struct stream_sink *sink, int64_t *last)
{
	kymo_status_t status = deliver_loss(c, b, sink);
	struct wire_record w;
	union raw_any any;

	if (sink->brief && filter_only_ops(b))
		return status == KYMO_OK ? read_calls(c, b, sink, last) : status;
	while (status == KYMO_OK && raw_chunk_next(c, &w)) {
		enum raw_kind kind;

		if (!filter_op(b, raw_chunk_op(c, w.op)->op))
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

static kymo_status_t read_chunks(struct spans *s, const struct filter_binding *b,
				 struct stream_sink *sink, const struct format_options *o)
{
	struct trace *t = raw_trace_definitions(s->rt);
	kymo_status_t status = KYMO_OK;
	struct raw_buffer buffer = {0};
	struct raw_chunk chunk;
	uint64_t done = 0;

	for (uint32_t i = 0; status == KYMO_OK && i < s->count; i++) {
		bool opened = s->at[i].wanted && spans_open(s, i, &buffer, &chunk);

		if (s->at[i].wanted && !opened && s->ahead)
			status = tell_of_loss(s, i, sink);
		if (!opened)
			continue;
		status = read_chunk(&chunk, b, sink, &t->end);
		if (status == KYMO_OK && s->ahead && chunk.broken)
			status = tell_of_loss(s, i, sink);
		done += chunk.stored;
		if (o->progress)
			o->progress(o->progress_data, (double)done / (double)(s->bytes + 1));
	}
	raw_buffer_release(&buffer);
	return status;
}

static kymo_status_t read_recorded(struct raw_trace *rt, const struct filter_binding *b, bool ahead,
				   struct stream_sink *sink, const struct format_options *o)
{
	struct spans spans;
	kymo_status_t status = spans_find(&spans, rt, b);

	spans.ahead = ahead;
	if (status == KYMO_OK)
		status = read_chunks(&spans, b, sink, o);
	spans_release(&spans);
	return status;
}

kymo_status_t raw_trace_look(struct raw_trace *rt,
			     bool (*wants)(const struct trace *t, const struct t_op *op),
			     struct stream_sink *sink)
{
	const struct format_options none = {0};
	const struct trace *t = rt->trace;
	struct filter_binding b;
	kymo_status_t status = filter_bind(NULL, t, &b);

	stream_sink_complete(sink);
	b.ops = calloc(t->ops_count, sizeof(*b.ops));
	if (!b.ops)
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; b.ops && i < t->ops_count; i++)
		b.ops[i] = wants(t, &t->ops[i]);
	if (status == KYMO_OK)
		status = read_recorded(rt, &b, true, sink, &none);
	filter_unbind(&b);
	return status;
}

static kymo_status_t read_wanted(struct raw_trace *rt, const struct filter_binding *b, bool ordered,
				 struct stream_sink *sink, const struct format_options *o)
{
	struct under_way under_way;
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (under_way_find(&under_way, rt->trace, b))
		status = ordered ? raw_read_ordered(rt, b, &under_way, sink, o)
				 : read_recorded(rt, b, false, sink, o);
	if (status == KYMO_OK)
		status = under_way_until(&under_way, INT64_MAX, sink);
	under_way_release(&under_way);
	return status;
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
	if (sink->matches)
		status = match_messages(rt);
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
};
