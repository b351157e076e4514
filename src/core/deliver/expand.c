/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the wire form in a chunk to the records that tools see. Chunks are read where they lie: what
 * is committed does not change until the chunk is given back.
 */
#include "core/context/context.h"
#include "core/deliver/pass.h"
#include "core/marker/marker.h"
#include "core/publish/publish.h"
#include "core/tool/tool.h"

#define BATCH 64u

struct expander {
	struct core_delivery *d;
	uint32_t thread;
	struct progress *progress;       /* of the chunk, or NULL */
	const struct cap_domain *domain; /* of the record before */
	uint64_t lost;                   /* to be told with the next batch */
	uint64_t delivered;
	uint32_t count;
	kymo_record_t records[BATCH];
	struct wire_record wires[BATCH];
};

static uint64_t to_ns(const struct core_delivery *d, uint64_t tick)
{
	int64_t delta = (int64_t)(tick - d->start.before);

	if (tick_source_chosen == TICK_MONOTONIC_RAW)
		return tick;
	return d->start.monotonic_raw + (uint64_t)(int64_t)((double)delta * d->ns_per_tick);
}

static bool find_domain(struct expander *x, uint16_t op)
{
	const struct cap_domain *d = x->domain;

	if (d && (uint32_t)(op - d->base) < d->desc->op_count)
		return true;
	d = core_domain_of(op);
	if (d)
		x->domain = d;
	return d != NULL;
}

/* Published records say themselves when and where they were. */
static void expand_timed(const struct wire_record *w, kymo_record_t *r)
{
	struct core_timed timed;

	r->correlation = w->id;
	if (!core_timed_read(&r->domain->ops[r->op], w, &timed))
		return;
	r->parent = timed.parent;
	r->start = timed.start;
	r->end = timed.end;
	r->status = timed.status;
	if (timed.track)
		r->thread = timed.track;
}

static void expand(const struct expander *x, const struct wire_record *w, kymo_record_t *r)
{
	const struct core_delivery *d = x->d;
	const kymo_domain_desc_t *desc = x->domain->desc;

	r->size = sizeof(*r);
	r->domain = desc;
	r->op = (uint32_t)(w->op - x->domain->base);
	r->thread = x->thread;
	r->correlation = w->id;
	if ((desc->ops[r->op].flags & KYMO_OP_ACTIVITY) && x->domain->info->ops != marker_ops)
		r->correlation = core_activity_correlation(&desc->ops[r->op], w);
	r->parent = w->parent;
	r->external = w->external;
	r->scope = w->scope;
	r->start = to_ns(d, w->start);
	r->end = to_ns(d, w->end);
	r->call_site = w->site;
	r->status = w->has_status ? w->status : desc->ops[r->op].status_ok;
	r->internal = w;
	if (desc->ops[r->op].flags & KYMO_OP_TIMED)
		expand_timed(w, r);
}

/* Somebody may have to count what is left while a callback does not come back. */
static void handing_over(struct expander *x, uint32_t records)
{
	x->delivered += records;
	if (x->progress)
		atomic_store_explicit(&x->progress->handed, x->delivered, memory_order_relaxed);
}

static void come_back(void)
{
	struct delivery_pool *pool = core_pool_current();

	if (pool) /* else a child that was forked meanwhile */
		atomic_fetch_add_explicit(&pool->returned, 1, memory_order_relaxed);
}

static void hand_over_batch(struct expander *x)
{
	struct core_delivery *d = x->d;
	kymo_batch_t b = {
		.size = sizeof(b),
		.records = x->records,
		.count = x->count,
		.record_size = sizeof(x->records[0]),
		.thread = x->thread,
		.lost = x->lost,
		.overwritten = atomic_exchange(&d->overwritten, 0),
	};

	handing_over(x, x->count);
	core_contained(CORE_FUNCTION(d->buffer->desc.deliver_batch), d->handle.handle,
		       CORE_ARGUMENT(&b), CORE_ARGUMENT(d->buffer->desc.data));
	come_back();
	x->lost = 0;
	x->count = 0;
}

/* False: left behind. */
static bool deliver_batches(struct expander *x, struct wire_reader *r)
{
	while (wire_next(r, &x->wires[x->count]) == 1) {
		if (!find_domain(x, x->wires[x->count].op))
			continue;
		expand(x, &x->wires[x->count], &x->records[x->count]);
		if (++x->count < BATCH)
			continue;
		hand_over_batch(x);
		if (core_delivery_over(x->d))
			return false;
	}
	if (x->count || x->lost)
		hand_over_batch(x);
	return !core_delivery_over(x->d);
}

static bool deliver_singly(struct expander *x, struct wire_reader *r)
{
	const kymo_buffer_desc_t *desc = &x->d->buffer->desc;

	while (wire_next(r, &x->wires[0]) == 1) {
		if (!find_domain(x, x->wires[0].op))
			continue;
		expand(x, &x->wires[0], &x->records[0]);
		handing_over(x, 1);
		core_contained(CORE_FUNCTION(desc->deliver), x->d->handle.handle,
			       CORE_ARGUMENT(&x->records[0]), CORE_ARGUMENT(desc->data));
		come_back();
		if (core_delivery_over(x->d))
			return false;
	}
	return true;
}

/*
 * A reader of a chunk that its thread may still be writing to: the header is copied but for
 * `committed`, which changes.
 */
static bool begin(struct wire_reader *r, const struct wire_chunk *c)
{
	const size_t after = offsetof(struct wire_chunk, seq);
	struct wire_chunk h;

	memcpy(&h, c, offsetof(struct wire_chunk, committed));
	memcpy((uint8_t *)&h + after, (const uint8_t *)c + after, sizeof(h) - after);
	atomic_init(&h.committed, sizeof(h));
	if (!wire_reader_init(r, &h, sizeof(h)))
		return false;
	r->p = (const uint8_t *)c + sizeof(h);
	return true;
}

uint32_t core_expand(struct core_delivery *d, const struct wire_chunk *c, struct progress *p,
		     uint32_t done, uint32_t bytes)
{
	struct expander x; /* its arrays need no beginning */
	struct wire_reader r;
	const void *outer;
	bool ok;

	x.d = d;
	x.thread = c->thread;
	x.progress = p;
	x.domain = NULL;
	x.lost = x.delivered = x.count = 0;
	if (done) {
		r = p->reader;
	} else {
		if (!begin(&r, c))
			return bytes;
		x.lost = c->lost;
	}
	r.end = (const uint8_t *)c + bytes;
	outer = core_tool_enter(d->tool);
	ok = d->buffer->desc.deliver_batch ? deliver_batches(&x, &r) : deliver_singly(&x, &r);
	core_tool_enter(outer);
	if (!ok)
		return 0;
	atomic_fetch_add_explicit(&d->delivered, x.delivered, memory_order_relaxed);
	atomic_store_explicit(&p->handed, 0, memory_order_relaxed);
	p->reader = r;
	return bytes;
}

bool core_expand_lost(struct core_delivery *d, uint32_t thread, uint64_t lost)
{
	struct expander x;
	const void *outer;

	if (!d->buffer->desc.deliver_batch)
		return true;
	x.d = d;
	x.thread = thread;
	x.progress = NULL;
	x.lost = lost;
	x.delivered = x.count = 0;
	outer = core_tool_enter(d->tool);
	hand_over_batch(&x);
	core_tool_enter(outer);
	return !core_delivery_over(d);
}
