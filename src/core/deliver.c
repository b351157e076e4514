/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of a private buffer: a thread of Kymo's takes full chunks, expands the wire form
 * into records and hands them to the tool.
 */
#include "core/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PASS_NS 50000000u /* longest time between two passes */

struct progress {
	uint32_t thread;
	uint64_t seq;
	uint32_t done; /* bytes delivered, 0: none */
	struct wire_reader reader;
};

struct delivery {
	struct core_buffer *buffer;
	kymo_buffer_t handle;
	struct tick_sync start; /* ticks to ns: from here with the rate so far */
	double ns_per_tick;     /* by the whole time so far, at each pass */
	struct progress *progress; /* by chunk: what was delivered while it was being filled */
	uint8_t *copy;          /* a chunk, so that the program may reuse it at once */
};

static uint64_t to_ns(const struct delivery *d, uint64_t tick)
{
	int64_t delta = (int64_t)(tick - d->start.before);

	if (tick_source_chosen == TICK_MONOTONIC_RAW)
		return tick;
	return d->start.monotonic_raw + (uint64_t)(int64_t)((double)delta * d->ns_per_tick);
}

static void deliver_record(struct delivery *d, const struct wire_chunk *c,
			   const struct wire_record *w)
{
	const struct cap_domain *domain = core_domain_of(w->op);
	kymo_record_t r;

	if (!domain)
		return;
	r = (kymo_record_t){
		.size = sizeof(r), .domain = domain->info->desc,
		.op = (uint32_t)(w->op - domain->base), .thread = c->thread,
		.correlation = w->id, .parent = w->parent, .external = w->external,
		.scope = w->scope, .start = to_ns(d, w->start), .end = to_ns(d, w->end),
		.call_site = w->site, .internal = w,
	};
	r.status = w->has_status ? w->status : domain->info->desc->ops[r.op].status_ok;
	d->buffer->desc.deliver(d->handle, &r, d->buffer->desc.data);
}

/* Delivers what of the copied chunk has not been delivered before. */
static void deliver_chunk(struct delivery *d, struct progress *p, size_t bytes)
{
	const struct wire_chunk *c = (const struct wire_chunk *)d->copy;
	struct wire_reader r;
	struct wire_record w;

	if (!wire_reader_init(&r, d->copy, bytes))
		return;
	if (p->done && p->thread == c->thread && p->seq == c->seq) {
		const uint8_t *end = r.end;

		r = p->reader;
		r.p = d->copy + p->done;
		r.end = end;
	}
	while (wire_next(&r, &w) == 1)
		deliver_record(d, c, &w);
	*p = (struct progress){c->thread, c->seq, (uint32_t)(r.p - d->copy), r};
}

/* A copy, so that a full chunk can be used again at once. */
static void take(struct delivery *d, uint32_t i, bool full)
{
	struct shm_header *p = d->buffer->pool;
	struct wire_chunk *c = shm_chunk(p, i);
	size_t bytes = atomic_load_explicit(&c->committed, memory_order_acquire);
	struct shm_chunk_ctl *ctl = shm_ctl(p);
	struct progress before;

	if (bytes < sizeof(*c) || bytes > p->chunk_size)
		return; /* about to be begun */
	memcpy(d->copy, c, bytes);
	atomic_store_explicit(&((struct wire_chunk *)d->copy)->committed, (uint32_t)bytes,
			      memory_order_relaxed);
	if (!full) {
		deliver_chunk(d, &d->progress[i], bytes);
		return;
	}
	before = d->progress[i];
	d->progress[i].done = 0;
	atomic_store(&c->committed, 0); /* its next owner must not show these records again */
	atomic_store(&ctl[i].state, SHM_FREE);
	shm_push(p, ctl, i, ctl[i].list);
	atomic_fetch_add(&p->freed, 1);
	if (atomic_load(&p->waiters))
		core_futex_wake(&p->freed, INT32_MAX);
	deliver_chunk(d, &before, bytes);
}

/* Chunks of a thread must be delivered in order of their sequence numbers. */
struct full {
	uint32_t chunk, thread;
	uint64_t seq;
	bool full;
};

static int by_sequence(const void *a, const void *b)
{
	const struct full *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* With `all` also what lies in chunks that are still being filled. */
static void pass(struct delivery *d, bool all)
{
	struct shm_header *p = d->buffer->pool;
	struct shm_chunk_ctl *ctl = shm_ctl(p);
	uint32_t count = atomic_load(&p->chunk_count), n = 0;
	struct full *list = malloc(count * sizeof(*list));

	if (!list)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t state = atomic_load_explicit(&ctl[i].state, memory_order_acquire);
		const struct wire_chunk *c = shm_chunk(p, i);

		if (state != SHM_FULL && !(all && state == SHM_FILLING))
			continue;
		if (atomic_load_explicit(&c->committed, memory_order_acquire) == 0)
			continue;
		list[n++] = (struct full){i, c->thread, c->seq, state == SHM_FULL};
	}
	qsort(list, n, sizeof(*list), by_sequence);
	for (uint32_t i = 0; i < n; i++)
		take(d, list[i].chunk, list[i].full);
	free(list);
}

/* The longer the process runs the better its rate is known. */
static void calibrate(struct delivery *d)
{
	struct tick_sync now;

	tick_sync_take(&now);
	if (now.monotonic_raw - d->start.monotonic_raw < 1000000)
		d->ns_per_tick = 1e9 / (double)tick_rate();
	else
		d->ns_per_tick = (double)(now.monotonic_raw - d->start.monotonic_raw) /
				 (double)(now.before - d->start.before);
}

static void delivery_free(struct delivery *d)
{
	if (!d)
		return;
	free(d->progress);
	free(d->copy);
	free(d);
}

static void *run(void *arg)
{
	struct delivery *d = arg;
	struct core_buffer *b = d->buffer;
	struct shm_header *p = b->pool;

	cap_guard_enter(); /* traced calls of the tool's callback run untraced */
	for (;;) {
		uint32_t full = atomic_load(&p->full), flush = atomic_load(&p->flush);
		bool stop = atomic_load(&b->stop);

		atomic_store(&p->drain_beat, clock_ns(CLOCK_MONOTONIC) / 1000000000u);
		calibrate(d);
		pass(d, stop || atomic_load(&p->flushed) != flush);
		if (atomic_load(&p->flushed) != flush) {
			atomic_store(&p->flushed, flush);
			core_futex_wake(&p->flushed, INT32_MAX);
		}
		if (stop)
			break;
		core_futex_wait(&p->full, full, PASS_NS);
	}
	cap_guard_leave();
	delivery_free(d);
	return NULL;
}

/* Signals are the program's: the thread takes none. */
static bool start_thread(struct core_buffer *b, struct delivery *d)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&b->deliverer, NULL, run, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error == 0;
}

bool core_deliver_start(struct core_buffer *b)
{
	struct delivery *d = calloc(1, sizeof(*d));

	if (d) {
		d->copy = malloc(b->pool->chunk_size + WIRE_SLACK);
		d->progress = calloc(b->pool->chunk_max, sizeof(*d->progress));
	}
	if (!d || !d->copy || !d->progress) {
		delivery_free(d);
		return false;
	}
	d->buffer = b;
	d->handle.handle = (uint64_t)b->generation << 8 | (uint64_t)(b->index + 1u);
	tick_sync_take(&d->start);
	atomic_store(&b->stop, false);
	atomic_store(&b->pool->drain_beat, clock_ns(CLOCK_MONOTONIC) / 1000000000u);
	b->delivering = start_thread(b, d);
	if (!b->delivering)
		delivery_free(d);
	return b->delivering;
}

void core_deliver_stop(struct core_buffer *b)
{
	if (!b->delivering)
		return;
	atomic_store(&b->stop, true);
	atomic_fetch_add(&b->pool->full, 1);
	core_futex_wake(&b->pool->full, 1);
	pthread_join(b->deliverer, NULL);
	b->delivering = false;
}
