/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records sorted by start in bounded memory. Records lie in order of their end, so that a long call
 * comes after everything it spans. A first pass finds for each chunk the span of starts in it; the
 * second merges the chunks whose span has begun, each sorted when it is loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/raw/read.h"
#include "formats/raw/within.h"

/* A chunk found by the first pass. */
struct span {
	int64_t first; /* earliest start in it */
	uint32_t process; /* in raw_trace.processes */
	uint32_t block;
	bool lossy;
	struct rec_loss loss;
};

/* Enough of the decoder's state to decode one record again. */
struct entry {
	int64_t key;
	uint64_t id;
	uint64_t last_tick, next_id, external;
	int64_t scope;
	uint32_t offset; /* from the beginning of the payload */
	uint32_t sequence;
};
_Static_assert(sizeof(struct entry) == 56, "as read.h says");

/* A chunk being merged. */
struct loaded {
	struct raw_chunk chunk;
	struct raw_buffer buffer;
	const uint8_t *base;
	struct entry *entries;
	uint32_t count, room, next;
};

struct ordering {
	struct raw_trace *rt;
	const struct filter_binding *b;
	struct stream_sink *sink;
	const struct format_options *o;
	struct span *spans;
	uint32_t span_count, span_room, next_span;
	struct loaded **heap; /* smallest next entry first */
	uint32_t heap_count, heap_room;
	uint64_t bytes_done;
	struct within *within;
};

/* ---- first pass ---------------------------------------------------------------------------- */

static bool add_span(struct ordering *o, const struct span *s)
{
	if (!vec_reserve(&o->spans, &o->span_room, o->span_count, 1))
		return false;
	o->spans[o->span_count++] = *s;
	return true;
}

/* Start of a record without decoding more than that needs. */
static int64_t key_of(struct raw_chunk *c, const struct wire_record *w)
{
	const struct raw_op *op = raw_chunk_op(c, w->op);
	union raw_any any;

	if (op->kind != RAW_KIND_DISPATCH && op->kind != RAW_KIND_COPY &&
	    op->kind != RAW_KIND_SAMPLE && op->kind != RAW_KIND_PUBLISHED &&
	    op->kind != RAW_KIND_COUNTER &&
	    (op->kind != RAW_KIND_MARKER || !raw_op_is_published(&c->source->rt->trace->ops[op->op])))
		return raw_chunk_ns(c, w->start);
	return raw_key(raw_record(c, w, &any), &any);
}

static bool scan_chunk(struct ordering *o, struct raw_chunk *c)
{
	struct trace *t = o->rt->trace;
	struct span s = {.first = INT64_MAX, .process = (uint32_t)(c->source - o->rt->processes),
			 .block = c->number};
	struct wire_record w;

	while (raw_chunk_next(c, &w)) {
		int64_t key, end;

		if (!filter_op(o->b, raw_chunk_op(c, w.op)->op))
			continue;
		key = key_of(c, &w);
		end = raw_chunk_ns(c, w.end);
		s.first = key < s.first ? key : s.first;
		t->end = end > t->end ? end : t->end;
	}
	s.loss = (struct rec_loss){c->process, c->thread, c->lost, c->lost_after, c->lost_before};
	s.lossy = (c->lost || c->missing) && filter_loss(o->b, &s.loss);
	if (s.lossy && c->lost_before < s.first)
		s.first = c->lost_before;
	return s.first == INT64_MAX || add_span(o, &s);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static void report(struct ordering *o, double base, double share)
{
	if (o->o->progress)
		o->o->progress(o->o->progress_data,
			       base + share * (double)o->bytes_done / (double)(o->rt->bytes + 1));
}

static kymo_status_t find_spans(struct ordering *o)
{
	struct raw_scan scan;
	struct raw_chunk chunk;
	bool fits = true;

	raw_scan_init(&scan, o->rt);
	scan.wanted = raw_wanted_block;
	scan.wanted_data = (void *)(uintptr_t)o->b;
	while (fits && raw_scan_next(&scan, &chunk)) {
		fits = scan_chunk(o, &chunk);
		o->bytes_done = scan.bytes_done;
		report(o, 0, 0.1);
	}
	raw_scan_finish(&scan);
	if (o->span_count)
		qsort(o->spans, o->span_count, sizeof(*o->spans), compare_spans);
	o->bytes_done = 0;
	return fits ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- loading a chunk ----------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void unload(struct loaded *l)
{
	raw_buffer_release(&l->buffer);
	free(l->entries);
	free(l);
}

static bool add_entry(struct loaded *l, const struct entry *e)
{
	if (!vec_reserve(&l->entries, &l->room, l->count, 1))
		return false;
	l->entries[l->count++] = *e;
	return true;
}

/* Notes where each wanted record begins and when it starts, then sorts. */
static bool index_chunk(struct ordering *o, struct loaded *l)
{
	struct raw_chunk *c = &l->chunk;
	struct wire_reader before = c->reader;
	struct wire_record w;
	bool sorted = true, fits = true;

	while (fits && wire_next(&c->reader, &w) > 0) {
		const struct raw_op *op = raw_chunk_op(c, w.op);
		struct entry e = {0, w.id, before.last_tick,
				  before.next_id, before.external, before.scope,
				  (uint32_t)(before.p - l->base), l->count};

		before = c->reader;
		if (!filter_op(o->b, op->op))
			continue;
		e.key = key_of(c, &w);
		fits = add_entry(l, &e);
		sorted = sorted && (l->count < 2 ||
				    compare_entries(&l->entries[l->count - 2], &e) < 0);
	}
	if (fits && !sorted)
		qsort(l->entries, l->count, sizeof(*l->entries), compare_entries);
	return fits;
}

static struct loaded *load(struct ordering *o, const struct span *s)
{
	struct loaded *l = calloc(1, sizeof(*l));
	struct raw_process *p = &o->rt->processes[s->process];

	if (!l || !raw_chunk_init(p, s->block, &l->buffer, false, &l->chunk)) {
		free(l);
		return NULL;
	}
	l->base = l->chunk.reader.p;
	if (!index_chunk(o, l)) {
		unload(l);
		return NULL;
	}
	o->bytes_done += l->chunk.bytes;
	return l;
}

/* ---- merging ------------------------------------------------------------------------------- */

static bool before(const struct loaded *a, const struct loaded *b)
{
	const struct entry *x = &a->entries[a->next], *y = &b->entries[b->next];

	if (x->key != y->key)
		return x->key < y->key;
	if (a->chunk.process != b->chunk.process)
		return a->chunk.process < b->chunk.process;
	return x->id < y->id;
}

static void sift_down(struct ordering *o)
{
	uint32_t i = 0;

	for (;;) {
		uint32_t least = i, left = 2 * i + 1, right = left + 1;
		struct loaded *l;

		if (left < o->heap_count && before(o->heap[left], o->heap[least]))
			least = left;
		if (right < o->heap_count && before(o->heap[right], o->heap[least]))
			least = right;
		if (least == i)
			return;
		l = o->heap[i];
		o->heap[i] = o->heap[least];
		o->heap[least] = l;
		i = least;
	}
}

static bool push(struct ordering *o, struct loaded *l)
{
	uint32_t i = o->heap_count;

	if (!vec_reserve(&o->heap, &o->heap_room, o->heap_count, 1))
		return false;
	o->heap[o->heap_count++] = l;
	for (; i && before(l, o->heap[(i - 1) / 2]); i = (i - 1) / 2) {
		o->heap[i] = o->heap[(i - 1) / 2];
		o->heap[(i - 1) / 2] = l;
	}
	return true;
}

/* Loads every chunk whose span begins at or before the next record to deliver. */
static kymo_status_t load_due(struct ordering *o)
{
	while (o->next_span < o->span_count) {
		const struct span *s = &o->spans[o->next_span];
		struct loaded *top = o->heap_count ? o->heap[0] : NULL;
		struct loaded *l;
		kymo_status_t status;

		if (top && top->entries[top->next].key < s->first)
			break;
		o->next_span++;
		status = s->lossy ? o->sink->loss(o->sink, &s->loss) : KYMO_OK;
		if (status != KYMO_OK)
			return status;
		l = load(o, s);
		if (!l)
			return KYMO_ERROR_NO_MEMORY;
		if (l->count == 0) {
			unload(l);
		} else if (!push(o, l)) {
			unload(l);
			return KYMO_ERROR_NO_MEMORY;
		}
		report(o, 0.1, 0.9);
	}
	return KYMO_OK;
}

static kymo_status_t deliver_next(struct ordering *o)
{
	struct loaded *l = o->heap[0];
	const struct entry *e = &l->entries[l->next];
	struct wire_reader *r = &l->chunk.reader;
	struct wire_record w;
	union raw_any any;
	kymo_status_t status = KYMO_OK;
	enum raw_kind kind;

	r->p = l->base + e->offset;
	r->last_tick = e->last_tick;
	r->next_id = e->next_id;
	r->external = e->external;
	r->scope = e->scope;
	if (wire_next(r, &w) > 0) {
		kind = raw_record(&l->chunk, &w, &any);
		within_pass(o->within, kind, &any);
		if (raw_wanted(o->b, kind, &any))
			status = raw_deliver(o->sink, kind, &any);
	}
	if (++l->next == l->count) {
		o->heap[0] = o->heap[--o->heap_count];
		unload(l);
	}
	sift_down(o);
	return status;
}

kymo_status_t raw_read_ordered(struct raw_trace *rt, const struct filter_binding *b,
			       struct stream_sink *sink, const struct format_options *options)
{
	struct ordering o = {.rt = rt, .b = b, .sink = sink, .o = options};
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	o.within = within_new(raw_trace_definitions(rt));
	if (o.within)
		status = find_spans(&o);

	while (status == KYMO_OK) {
		status = load_due(&o);
		if (status != KYMO_OK || o.heap_count == 0)
			break;
		status = deliver_next(&o);
	}
	while (o.heap_count)
		unload(o.heap[--o.heap_count]);
	within_free(o.within);
	free(o.heap);
	free(o.spans);
	return status;
}
