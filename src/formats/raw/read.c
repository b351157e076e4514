/* SPDX-License-Identifier: Apache-2.0 */
/* The raw format as a reader of the stream, in the order of the files. See order.c for the other. */
#include "formats/raw/read.h"

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

/*
 * Chunks that hold nothing wanted: of other processes or threads, or over before the window begins
 * (device times are before the end of the chunk that reports them, too).
 */
bool raw_wanted_block(void *data, const struct raw_process *p, const struct raw_block *b)
{
	const struct filter_binding *f = data;
	uint32_t thread = map_get(&p->threads, b->thread);

	if (b->type != RAW_CHUNK || b->chunk_type != WIRE_CHUNK_RECORDS)
		return true;
	if (thread && !filter_thread(f, p->process, thread))
		return false;
	return b->last_tick == UINT64_MAX || f->from == INT64_MIN ||
	       tick_map_ns(&p->ticks, b->last_tick) >= f->from;
}

kymo_status_t raw_deliver_loss(const struct raw_chunk *c, const struct filter_binding *b,
			       struct stream_sink *sink)
{
	struct rec_loss loss = {c->process, c->thread, c->lost, c->lost_after, c->lost_before};

	if ((!c->lost && !c->missing) || !filter_loss(b, &loss))
		return KYMO_OK;
	return sink->loss(sink, &loss);
}

static kymo_status_t read_chunk(struct raw_chunk *c, const struct filter_binding *b,
				struct stream_sink *sink, int64_t *last)
{
	kymo_status_t status = raw_deliver_loss(c, b, sink);
	struct wire_record w;
	union raw_any any;

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

static kymo_status_t read_chunks(struct raw_trace *rt, const struct filter_binding *b,
				 struct stream_sink *sink, const struct format_options *o)
{
	struct trace *t = raw_trace_definitions(rt);
	kymo_status_t status = KYMO_OK;
	struct raw_scan scan;
	struct raw_chunk chunk;

	raw_scan_init(&scan, rt);
	scan.wanted = raw_wanted_block;
	scan.wanted_data = (void *)(uintptr_t)b;
	while (status == KYMO_OK && raw_scan_next(&scan, &chunk)) {
		status = read_chunk(&chunk, b, sink, &t->end);
		if (o->progress)
			o->progress(o->progress_data,
				    (double)scan.bytes_done / (double)scan.bytes_total);
	}
	raw_scan_finish(&scan);
	return status;
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
	status = sink->begin(sink, t);
	if (status == KYMO_OK)
		status = ordered ? raw_read_ordered(rt, &b, sink, o) : read_chunks(rt, &b, sink, o);
	raw_trace_totals(rt);
	if (status == KYMO_OK)
		status = sink->end(sink, t);
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
