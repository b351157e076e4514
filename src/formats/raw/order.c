/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records sorted by start in bounded memory. Records lie in order of their end, so that a long call
 * comes after everything it spans. Of each chunk it is known, mostly from the header of its block,
 * when nothing in it has begun yet; chunks whose time has come are loaded, each sorted, and merged.
 * Chunks with records that fields place elsewhere in time, or of writers that say nothing, are
 * looked through for their first start before anything is handed on.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/raw/read.h"
#include "formats/raw/spans.h"
#include "formats/raw/within.h"

/* More chunks than this, and one for each thread, are not kept ready because of a bound that was
 * wide. */
#define READY 64u

#define NOWHERE UINT64_MAX

/* Enough of the decoder's state to decode one record. */
struct entry {
	int64_t key;
	uint64_t start, end; /* ticks; NOWHERE and 0 where fields say when it was */
	uint64_t id;
	uint64_t last_tick, next_id, external;
	int64_t scope;
	uint32_t offset; /* from the beginning of the payload */
	uint32_t sequence;
};
_Static_assert(sizeof(struct entry) == 72, "as read.h says");

/* A chunk being merged. */
struct loaded {
	struct raw_chunk chunk;
	struct raw_buffer buffer;
	const uint8_t *base;
	struct entry *entries;
	uint32_t count, room, next;
	int64_t key; /* of what comes next of it */
	bool lossy;  /* that is `loss` */
	struct rec_loss loss;
};

struct ordering {
	struct raw_trace *rt;
	const struct filter_binding *b;
	struct under_way *under_way;
	struct stream_sink *sink;
	const struct format_options *o;
	struct spans spans;
	uint32_t *due; /* chunks not loaded, a heap: the one that may begin first is on top */
	uint32_t due_count;
	struct loaded **heap; /* smallest next entry first */
	uint32_t heap_count, heap_room;
	uint64_t bytes_done;
	struct within *within;
};

/* ---- heaps --------------------------------------------------------------------------------- */

static bool due_before(const struct ordering *o, uint32_t a, uint32_t b)
{
	const struct span *x = &o->spans.at[a], *y = &o->spans.at[b];

	if (x->first != y->first)
		return x->first < y->first;
	if (x->process != y->process)
		return x->process < y->process;
	return x->block < y->block;
}

static void due_push(struct ordering *o, uint32_t chunk)
{
	uint32_t i = o->due_count++;

	for (; i && due_before(o, chunk, o->due[(i - 1) / 2]); i = (i - 1) / 2)
		o->due[i] = o->due[(i - 1) / 2];
	o->due[i] = chunk;
}

static uint32_t due_pop(struct ordering *o)
{
	uint32_t top = o->due[0], last = o->due[--o->due_count], i = 0;

	for (;;) {
		uint32_t least = 2 * i + 1;

		if (least + 1 < o->due_count && due_before(o, o->due[least + 1], o->due[least]))
			least++;
		if (least >= o->due_count || !due_before(o, o->due[least], last))
			break;
		o->due[i] = o->due[least];
		i = least;
	}
	o->due[i] = last;
	return top;
}

/*
 * Processors count in steps of up to 10 ns: a range and the first call in it may begin at once. What ends last
 * is around the others; of records that are placed elsewhere and of equal ones the smaller id is first. Transfers
 * are around nothing: one that the call which started it does not wait for ends later than that call.
 */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static bool before(const struct loaded *a, const struct loaded *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (a->lossy != b->lossy)
		return a->lossy;
	if (a->chunk.process != b->chunk.process)
		return a->chunk.process < b->chunk.process;
	return a->lossy ? a->chunk.number < b->chunk.number
			: compare_entries(&a->entries[a->next], &b->entries[b->next]) < 0;
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

/* ---- which chunks -------------------------------------------------------------------------- */

static void report(struct ordering *o, double base, double share)
{
	if (o->o->progress)
		o->o->progress(o->o->progress_data,
			       base + share * (double)o->bytes_done / (double)(o->spans.bytes + 1));
}

/* What the trace's end is known to be after a chunk whose last wanted record ended at `tick`. */
static void note_end(struct raw_chunk *c, uint64_t tick)
{
	raw_note_end(c->source, raw_chunk_ns(c, tick));
}

/* Losses that are wanted, and when they come in order. */
static bool is_lossy(const struct ordering *o, const struct raw_chunk *c, struct rec_loss *loss)
{
	*loss = (struct rec_loss){c->process, c->thread, c->lost, c->lost_after, c->lost_before};
	return (c->lost || c->missing) && filter_loss(o->b, loss);
}

/* Looks through the chunk for its first start. False: there is nothing wanted in it. */
static bool look_through(struct ordering *o, uint32_t i, struct raw_buffer *buffer)
{
	struct span *x = &o->spans.at[i];
	struct wire_record w;
	struct raw_chunk c;
	struct rec_loss loss;
	bool some = false;

	if (!spans_open(&o->spans, i, buffer, &c))
		return false;
	x->first = INT64_MAX;
	x->exact = true;
	while (raw_chunk_next(&c, &w)) {
		const struct raw_op *op = raw_chunk_op(&c, w.op);
		int64_t key;

		if (!filter_op(o->b, op->op))
			continue;
		key = raw_start(&c, &w, op);
		x->first = key < x->first ? key : x->first;
		note_end(&c, w.end);
		some = true;
	}
	if (is_lossy(o, &c, &loss)) {
		x->first = c.lost_before < x->first ? c.lost_before : x->first;
		some = true;
	}
	return some;
}

static kymo_status_t find_due(struct ordering *o)
{
	struct raw_buffer buffer = {0};
	kymo_status_t status = spans_find(&o->spans, o->rt, o->b);

	if (status != KYMO_OK)
		return status;
	o->due = malloc((o->spans.count + 1u) * sizeof(*o->due));
	for (uint32_t i = 0; o->due && i < o->spans.count; i++) {
		struct span *x = &o->spans.at[i];

		if (x->wanted && (x->first != INT64_MIN || look_through(o, i, &buffer)))
			due_push(o, i);
		report(o, 0, 0.1);
	}
	raw_buffer_release(&buffer);
	return o->due ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- loading a chunk ----------------------------------------------------------------------- */

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
	struct wire_reader at = c->reader;
	struct wire_record w;
	bool sorted = true, fits = true;

	while (fits && raw_chunk_next(c, &w)) {
		const struct raw_op *op = raw_chunk_op(c, w.op);
		struct entry e = {0,
				  op->placed ? NOWHERE : w.start,
				  op->placed || op->kind == RAW_KIND_COMM ? 0 : w.end,
				  w.id,
				  at.last_tick,
				  at.next_id,
				  at.external,
				  at.scope,
				  (uint32_t)(at.p - l->base),
				  l->count};

		at = c->reader;
		if (!filter_op(o->b, op->op))
			continue;
		e.key = raw_start(c, &w, op);
		note_end(c, w.end);
		fits = add_entry(l, &e);
		sorted = sorted &&
			 (l->count < 2 || compare_entries(&l->entries[l->count - 2], &e) < 0);
	}
	if (fits && !sorted)
		qsort(l->entries, l->count, sizeof(*l->entries), compare_entries);
	return fits;
}

/* Sets *out, to NULL where the chunk is damaged or nothing in it is wanted. */
static kymo_status_t load(struct ordering *o, uint32_t i, struct loaded **out)
{
	struct loaded *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return KYMO_ERROR_NO_MEMORY;
	if (!spans_open(&o->spans, i, &l->buffer, &l->chunk)) {
		unload(l);
		return KYMO_OK;
	}
	l->base = l->chunk.reader.p;
	if (!index_chunk(o, l)) {
		unload(l);
		return KYMO_ERROR_NO_MEMORY;
	}
	l->lossy = is_lossy(o, &l->chunk, &l->loss);
	if (!l->count && !l->lossy) {
		unload(l);
		return KYMO_OK;
	}
	l->key = l->count ? l->entries[0].key : l->loss.before;
	if (l->lossy && l->loss.before < l->key)
		l->key = l->loss.before;
	*out = l;
	return KYMO_OK;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* Its bound was far from its first record, and too many are loaded: it is loaded again when it is
 * due. */
static bool is_early(const struct ordering *o, const struct span *x, const struct loaded *l)
{
	return !x->exact && o->heap_count >= READY + o->rt->trace->threads_count &&
	       l->key > o->heap[0]->key;
}

static kymo_status_t load_next(struct ordering *o)
{
	uint32_t i = due_pop(o);
	struct span *x = &o->spans.at[i];
	struct loaded *l;
	kymo_status_t status = load(o, i, &l);

	if (status != KYMO_OK || !l)
		return status;
	if (is_early(o, x, l)) {
		x->first = l->key;
		x->exact = true;
		unload(l);
		due_push(o, i);
		return KYMO_OK;
	}
	o->bytes_done += l->chunk.bytes;
	report(o, 0.1, 0.9);
	if (push(o, l))
		return KYMO_OK;
	unload(l);
	return KYMO_ERROR_NO_MEMORY;
}

/* Loads every chunk that may begin at or before the next record to deliver. */
static kymo_status_t load_due(struct ordering *o)
{
	kymo_status_t status = KYMO_OK;

	while (status == KYMO_OK && o->due_count &&
	       !(o->heap_count && o->heap[0]->key < o->spans.at[o->due[0]].first))
		status = load_next(o);
	return status;
}

static kymo_status_t deliver_entry(struct ordering *o, struct loaded *l)
{
	const struct entry *e = &l->entries[l->next++];
	struct wire_reader *r = &l->chunk.reader;
	struct wire_record w;
	union raw_any any;
	enum raw_kind kind;

	r->p = l->base + e->offset;
	r->last_tick = e->last_tick;
	r->next_id = e->next_id;
	r->external = e->external;
	r->scope = e->scope;
	if (wire_next(r, &w) <= 0)
		return KYMO_OK;
	kind = raw_record(&l->chunk, &w, &any);
	enclosing_scope_update(o->within, kind, &any);
	return raw_wanted(o->b, kind, &any) ? raw_deliver(o->sink, kind, &any) : KYMO_OK;
}

static kymo_status_t deliver_next(struct ordering *o)
{
	struct loaded *l = o->heap[0];
	kymo_status_t status = under_way_until(o->under_way, l->key, o->sink);

	if (status != KYMO_OK)
		return status;
	status = l->lossy ? o->sink->loss(o->sink, &l->loss) : deliver_entry(o, l);
	l->lossy = false;
	if (l->next == l->count) {
		o->heap[0] = o->heap[--o->heap_count];
		unload(l);
	} else {
		l->key = l->entries[l->next].key;
	}
	sift_down(o);
	return status;
}

kymo_status_t raw_read_ordered(struct raw_trace *rt, const struct filter_binding *b,
			       struct under_way *under_way, struct stream_sink *sink,
			       const struct format_options *options)
{
	struct ordering o = {.rt = rt, .b = b, .under_way = under_way, .sink = sink, .o = options};
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	o.within = within_new(raw_trace_definitions(rt));
	if (o.within)
		status = find_due(&o);
	if (status == KYMO_OK && !under_way_losses(under_way, &o.spans, b))
		status = KYMO_ERROR_NO_MEMORY;
	while (status == KYMO_OK) {
		status = load_due(&o);
		if (status != KYMO_OK || o.heap_count == 0)
			break;
		status = deliver_next(&o);
	}
	if (status == KYMO_OK)
		status = under_way_until(under_way, INT64_MAX, sink);
	while (o.heap_count)
		unload(o.heap[--o.heap_count]);
	within_free(o.within);
	free(o.heap);
	free(o.due);
	spans_release(&o.spans);
	return status;
}
