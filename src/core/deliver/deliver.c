/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over a private buffer: which chunks are delivered, in what order, and how they get back to
 * the program.
 *
 * Every chunk that is handed over gets a stamp before it becomes FULL. A pass takes what is stamped
 * up to a number read at its beginning, in order of the stamps: a thread's next chunk is stamped
 * after the one before became FULL, so no pass can see the newer and miss the older one.
 *
 * When all is asked for, chunks that are being filled are pinned (SHM_READING) and delivered as far
 * as they are committed. A pinned chunk may become FULL meanwhile, but nobody takes it away.
 */
#include "base/futex.h"
#include "base/assert.h"
#include "core/context/context.h"
#include "base/vec.h"
#include "core/deliver/deliver.h"
#include "core/deliver/pass.h"
#include "core/ring/ring.h"

#include <stdlib.h>

#define TELL_CHUNKS 16u
#define TELL_NS     500000u

struct core_delivery core_deliveries[CAP_BUFFERS];

/* Behind it, and before the next, there is a place for what was lost then. */
static uint64_t order_of(uint32_t stamp, uint32_t last)
{
	return 2 * (uint64_t)((int64_t)(int32_t)(stamp - last) + (1ll << 32));
}

/* ---- losses that no chunk tells; until the pass their `order` is a stamp ---- */

static void loss_add(struct core_delivery *d, uint32_t thread, uint32_t stamp, uint64_t lost)
{
	kymo_assert(d->loss_count < d->loss_room); /* after loss_room() */
	d->losses[d->loss_count++] = (struct item){stamp, SHM_NONE, thread, lost};
}

/* Room for one more, there and among the items of a pass. */
static bool loss_room(struct core_delivery *d)
{
	size_t chunks = atomic_load(&d->shm)->chunk_max;

	if (!vec_reserve(&d->losses, &d->loss_room, d->loss_count, 1))
		return false;
	return vec_reserve(&d->items, &d->item_room, chunks, d->loss_room) &&
	       vec_reserve(&d->groups, &d->group_room, chunks, d->loss_room + 1u);
}

/* What a thread has lost since its last chunk it tells with its next, if it ever has one. */
static void take_loss(struct cap_thread *t, void *data)
{
	struct core_delivery *d = data;
	struct wire_ring *r = &t->rings[d->buffer->index];
	uint64_t lost;

	if (!atomic_load_explicit(&r->lost, memory_order_relaxed) || !loss_room(d))
		return;
	lost = atomic_exchange(&r->lost, 0);
	if (lost)
		loss_add(d, t->index, atomic_load(&atomic_load(&d->shm)->shm->stamps), lost);
}

static void take_losses(struct core_delivery *d, bool all)
{
	d->loss_count = 0;
	for (struct loss *l = atomic_exchange(&d->told_next, NULL), *next; l; l = next) {
		next = l->next;
		if (loss_room(d))
			loss_add(d, l->thread, l->stamp, l->lost);
		else
			atomic_fetch_add(&d->untold, l->lost);
		free(l);
	}
	if (atomic_load(&d->untold) && loss_room(d))
		loss_add(d, 0, atomic_load(&atomic_load(&d->shm)->shm->stamps),
			 atomic_exchange(&d->untold, 0));
	if (all && d->buffer->desc.deliver_batch)
		core_threads_each(take_loss, d);
}

void core_deliver_lost_in(struct core_pool *h, uint32_t thread, uint64_t lost)
{
	struct core_delivery *d = h->reader;
	struct loss *l;

	if (lost == 0 || !atomic_load(&d->pool) || !d->buffer->desc.deliver_batch)
		return;
	l = malloc(sizeof(*l));
	if (!l) {
		atomic_fetch_add(&d->untold, lost);
		return;
	}
	*l = (struct loss){atomic_load(&d->told_next), thread, atomic_load(&h->shm->stamps), lost};
	while (!atomic_compare_exchange_weak(&d->told_next, &l->next, l))
		;
	core_deliver_wake(h);
}

void core_deliver_lost(struct core_buffer *b, uint32_t thread, uint64_t lost)
{
	if (b->pool)
		core_deliver_lost_in(b->pool, thread, lost);
}

/* ---- what a pass takes ---- */

static uint32_t pin_filling(struct core_delivery *d, struct core_pool *p)
{
	struct shm_chunk_ctl *ctl = p->ctl;
	uint32_t count = atomic_load(&p->chunk_count), n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct wire_chunk *c = core_chunk(p, i);
		uint32_t state = SHM_FILLING;

		if (atomic_load_explicit(&ctl[i].state, memory_order_relaxed) != SHM_FILLING ||
		    !atomic_compare_exchange_strong(&ctl[i].state, &state,
						    SHM_FILLING | SHM_READING))
			continue;
		if (atomic_load_explicit(&c->committed, memory_order_acquire) >= sizeof(*c))
			d->items[n++] = (struct item){0, i, c->thread, 0};
		else /* not begun */
			atomic_fetch_and(&ctl[i].state, ~(uint32_t)SHM_READING);
	}
	return n;
}

static uint32_t take_full(struct core_delivery *d, struct core_pool *p, uint32_t last, uint32_t n)
{
	struct shm_chunk_ctl *ctl = p->ctl;
	uint32_t count = atomic_load(&p->chunk_count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t state = SHM_FULL;

		if (atomic_load_explicit(&ctl[i].state, memory_order_acquire) != SHM_FULL ||
		    (int32_t)(atomic_load(&ctl[i].stamp) - last) > 0 ||
		    !atomic_compare_exchange_strong(&ctl[i].state, &state, SHM_FULL | SHM_READING))
			continue;
		d->items[n++] = (struct item){order_of(atomic_load(&ctl[i].stamp), last), i,
					      core_chunk(p, i)->thread, 0};
	}
	return n;
}

/* Pinned chunks that have become FULL have their place among the others; the rest is newer. */
static void order_pinned(struct core_delivery *d, struct core_pool *p, uint32_t last, uint32_t n)
{
	struct shm_chunk_ctl *ctl = p->ctl;

	for (uint32_t i = 0; i < n; i++) {
		struct shm_chunk_ctl *c = &ctl[d->items[i].chunk];
		bool full = atomic_load(&c->state) == (SHM_FULL | SHM_READING);

		d->items[i].order = full ? order_of(atomic_load(&c->stamp), last) : UINT64_MAX;
	}
}

static int by_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_thread(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return by_order(a, b);
}

static uint32_t collect(struct core_delivery *d, struct core_pool *p, bool all)
{
	uint32_t pinned, last, n;

	take_losses(d, all); /* first: chunks handed over before a loss are found, too */
	pinned = all ? pin_filling(d, p) : 0;
	last = atomic_load(&p->shm->stamps);
	n = take_full(d, p, last, pinned);
	order_pinned(d, p, last, pinned);
	for (uint32_t i = 0; i < d->loss_count; i++) {
		d->items[n] = d->losses[i];
		d->items[n++].order = order_of((uint32_t)d->losses[i].order, last) + 1;
	}
	return n;
}

/* ---- what happens to a chunk ---- */

/*
 * A producer that is woken may take the processor from the thread that makes room for it, so
 * waiting ones are not woken for every chunk; but soon, because they wait for a bounded time only.
 */
static void tell_waiting(struct core_delivery *d, struct core_pool *p, bool now)
{
	uint32_t few = p->chunk_max / 8 < TELL_CHUNKS ? p->chunk_max / 8 : TELL_CHUNKS, n;

	if (atomic_load(&p->shm->waiters) == 0)
		return;
	n = atomic_load(&d->returned);
	if (!now && n < few && clock_ns(CLOCK_MONOTONIC) - atomic_load(&d->told) < TELL_NS)
		return;
	n = atomic_exchange(&d->returned, 0);
	atomic_store(&d->told, clock_ns(CLOCK_MONOTONIC));
	futex_wake(&p->shm->freed, n ? (int)n : 1);
}

static void give_back(struct core_delivery *d, struct core_pool *p, uint32_t i)
{
	struct shm_chunk_ctl *ctl = p->ctl;

	/* Its next owner must not show these records again. */
	atomic_store_explicit(&core_chunk(p, i)->committed, 0, memory_order_relaxed);
	atomic_store(&ctl[i].state, SHM_FREE);
	shm_push(p->shm, ctl, i, ctl[i].list);
	atomic_fetch_add(&p->shm->freed, 1);
	atomic_fetch_add(&d->returned, 1);
	tell_waiting(d, p, false);
}

/* `next` of a chunk that is in use: the bytes delivered so far. False: left behind. */
static bool deliver_chunk(struct core_delivery *d, uint32_t i)
{
	struct core_pool *p = atomic_load(&d->shm);
	struct shm_chunk_ctl *ctl = &p->ctl[i];
	const struct wire_chunk *c = core_chunk(p, i);
	uint32_t state = SHM_FILLING | SHM_READING, bytes, done;

	do {
		bytes = atomic_load_explicit(&c->committed, memory_order_acquire);
		done = core_expand(d, c, &d->progress[i], atomic_load(&ctl->next), bytes);
		if (!done)
			return false;
		atomic_store(&ctl->next, done);
		if (atomic_load(&ctl->state) == (SHM_FULL | SHM_READING) &&
		    atomic_load(&c->committed) == done) {
			give_back(d, p, i);
			return true;
		}
	} while (!atomic_compare_exchange_strong(&ctl->state, &state, SHM_FILLING) &&
		 (state = SHM_FILLING | SHM_READING)); /* it has become FULL: the rest, too */
	return true;
}

static bool deliver_item(struct core_delivery *d, const struct item *i)
{
	return i->chunk == SHM_NONE ? core_expand_lost(d, i->thread, i->lost)
				    : deliver_chunk(d, i->chunk);
}

/* ---- passes that several workers share ---- */

static bool take_group(struct core_delivery *d, uint32_t *group)
{
	uint64_t open = atomic_load(&d->open);

	do {
		if ((uint32_t)open >= open >> 32)
			return false;
	} while (!atomic_compare_exchange_weak(&d->open, &open, open + 1));
	*group = (uint32_t)open;
	return true;
}

/* Delivers groups as long as there are any; false: there was none, or left behind. */
static bool help(struct core_delivery *d)
{
	bool did = false;
	uint32_t g;

	while (take_group(d, &g)) {
		for (uint32_t i = d->groups[g]; i < d->groups[g + 1]; i++)
			if (!deliver_item(d, &d->items[i]))
				return false;
		if (atomic_fetch_sub(&d->left, 1) == 1)
			futex_wake(&d->left, 1);
		did = true;
	}
	return did;
}

static void deliver_shared(struct core_delivery *d, uint32_t n)
{
	uint32_t groups = 0, left;

	qsort(d->items, n, sizeof(*d->items), by_thread);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || d->items[i].thread != d->items[i - 1].thread)
			d->groups[groups++] = i;
	d->groups[groups] = n;
	atomic_store(&d->left, groups);
	atomic_store(&d->open, (uint64_t)groups << 32);
	if (groups > 1)
		core_pool_notify(atomic_load(&d->pool), true);
	help(d);
	while (!core_delivery_over(d) && (left = atomic_load(&d->left)) != 0)
		futex_wait(&d->left, left, 100000000u);
}

static void deliver_alone(struct core_delivery *d, uint32_t n)
{
	qsort(d->items, n, sizeof(*d->items), by_order);
	for (uint32_t i = 0; i < n; i++)
		if (!deliver_item(d, &d->items[i]))
			return;
}

/* ---- passes ---- */

/* The longer the process runs the better its rate is known. */
static void calibrate(struct core_delivery *d)
{
	struct tick_sync now;

	tick_sync_take(&now);
	if (now.monotonic_raw - d->start.monotonic_raw < 1000000)
		d->ns_per_tick = 1e9 / (double)tick_rate();
	else
		d->ns_per_tick = (double)(now.monotonic_raw - d->start.monotonic_raw) /
				 (double)(now.before - d->start.before);
}

static void tell_overwritten(struct core_delivery *d, const struct core_pool *p)
{
	uint64_t total = atomic_load(&p->shm->overwritten_records);

	atomic_fetch_add(&d->overwritten, total - d->overwritten_seen);
	d->overwritten_seen = total;
}

/* With `all` also what lies in chunks that are still being filled. */
static void pass(struct core_delivery *d, struct core_pool *p, bool all)
{
	uint32_t n = collect(d, p, all);

	if (all)
		tell_overwritten(d, p);
	if (n == 0 && !(all && atomic_load(&d->overwritten)))
		return;
	calibrate(d);
	tell_overwritten(d, p);
	if (d->buffer->desc.parallel && atomic_load(&d->pool)->running > 1)
		deliver_shared(d, n);
	else
		deliver_alone(d, n);
	if (all && !core_delivery_over(d) && atomic_load(&d->overwritten))
		core_expand_lost(d, 0, 0);
	if (!core_delivery_over(d))
		tell_waiting(d, p, true);
}

/* What no pass has taken, or one has left behind. */
static uint64_t count_rest(struct core_delivery *d, struct core_pool *p)
{
	struct shm_chunk_ctl *ctl = p->ctl;
	uint32_t count = atomic_load(&p->chunk_count);
	uint64_t rest = 0, handed;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t state = atomic_load(&ctl[i].state) & ~(uint32_t)SHM_READING;
		const struct wire_chunk *c = core_chunk(p, i);

		if ((state != SHM_FULL && state != SHM_FILLING) ||
		    atomic_load_explicit(&c->committed, memory_order_acquire) < sizeof(*c))
			continue;
		handed = atomic_load(&d->progress[i].handed);
		atomic_fetch_add(&d->delivered, handed);
		rest += wire_chunk_records(c, atomic_load(&ctl[i].next), CORE_CHUNK_BYTES) - handed;
	}
	return rest;
}

static void release(struct core_delivery *d)
{
	free(d->progress);
	free(d->items);
	free(d->groups);
	d->progress = NULL;
	d->items = NULL;
	d->groups = NULL;
	d->item_room = d->group_room = 0;
}

/* After a last pass, or none; the slot may be used again as soon as `done` is set. */
void core_delivery_leave(struct core_delivery *d)
{
	struct core_pool *p = atomic_load(&d->shm);

	atomic_fetch_add(&p->shm->lost_records, count_rest(d, p));
	release(d);
	free(d->losses);
	d->losses = NULL;
	d->loss_count = d->loss_room = 0;
	atomic_store(&d->pool, NULL);
	atomic_store(&d->busy, 0);
	atomic_store(&d->done, 1);
	futex_wake(&d->done, INT32_MAX);
}

static bool work_to_do(const struct core_delivery *d, const struct core_pool *p)
{
	uint32_t full = atomic_load(&p->shm->full);

	return atomic_load(&d->stop) ||
	       atomic_load(&p->shm->flush) != atomic_load(&p->shm->flushed) ||
	       atomic_load(&d->told_next) || (int32_t)(full - atomic_load(&p->shm->wake_at)) >= 0 ||
	       (atomic_load(&d->starved) && full != atomic_load(&d->seen_full));
}

/* Claims the buffer if there is something to do; only then its memory is sure to be there. */
static struct core_pool *claim(struct core_delivery *d)
{
	struct delivery_pool *pool;
	struct core_pool *p = NULL;
	uint32_t idle = 0;

	if (!atomic_compare_exchange_strong(&d->busy, &idle, 1))
		return NULL;
	if (atomic_load(&d->pool) == core_pool_current())
		p = atomic_load(&d->shm);
	if (p && work_to_do(d, p))
		return p;
	atomic_store(&d->busy, 0);
	pool = atomic_load(&d->pool);
	if (!p && pool) /* the slot has changed hands, and the other pool may have found it busy */
		core_pool_notify(pool, false);
	return NULL;
}

static bool serve(struct core_delivery *d)
{
	struct core_pool *p;
	uint32_t flush, full;
	bool stop;

	if (help(d))
		return true;
	p = claim(d);
	if (!p)
		return false;
	stop = atomic_load(&d->stop);
	flush = atomic_load(&p->shm->flush);
	atomic_store(&d->starved, 0);
	full = atomic_load(&p->shm->full);
	atomic_store(&d->seen_full, full);
	atomic_store(&p->shm->wake_at, full + p->wake_threshold);
	pass(d, p, stop || atomic_load(&p->shm->flushed) != flush);
	if (core_delivery_over(d))
		return false;
	if (atomic_load(&p->shm->flushed) != flush) {
		atomic_store(&p->shm->flushed, flush);
		futex_wake(&p->shm->flushed, INT32_MAX);
	}
	if (stop)
		core_delivery_leave(d);
	else
		atomic_store(&d->busy, 0);
	return true;
}

static _Thread_local const struct core_delivery *serving;

const struct core_delivery *core_delivery_mine(void)
{
	return serving;
}

/* In `workers` before it looks whether it may, as who gives it up looks the other way round. */
bool core_delivery_serve(struct core_delivery *d)
{
	bool did = false;

	atomic_fetch_add(&d->workers, 1);
	serving = d;
	if (!atomic_load(&d->given_up))
		did = serve(d);
	serving = NULL;
	if (!core_delivery_left_behind())
		atomic_fetch_sub(&d->workers, 1);
	return did;
}

/* ---- beginning and end ---- */

static bool allocate(struct core_delivery *d, uint32_t chunks)
{
	d->items = NULL; /* what a forked child has of its parent's stays behind */
	d->groups = NULL;
	d->item_room = d->group_room = 0;
	d->progress = calloc(chunks, sizeof(*d->progress));
	if (d->progress && vec_reserve(&d->items, &d->item_room, 0, chunks) &&
	    vec_reserve(&d->groups, &d->group_room, 0, chunks + 1u))
		return true;
	release(d);
	return false;
}

/* Nobody looks at a delivery without a pool, so it may be filled in here. */
bool core_deliver_start(struct core_buffer *b)
{
	struct core_delivery *d = &core_deliveries[b->index];
	struct delivery_pool *pool;

	if (atomic_load(&d->pool) || !allocate(d, b->pool->chunk_max))
		return false; /* what was in this slot is still being delivered */
	pool = b->desc.pool.handle ? core_pool_find(b->desc.pool) : core_pool_new(1);
	if (!pool) {
		release(d);
		return false;
	}
	d->buffer = b;
	d->tool = b->context->owner;
	d->handle.handle = (uint64_t)b->generation << 8 | (uint64_t)(b->index + 1u);
	d->own = b->desc.pool.handle ? NULL : pool;
	d->overwritten_seen = 0;
	tick_sync_take(&d->start);
	atomic_store(&d->seen_full, 0);
	atomic_store(&d->starved, 0);
	atomic_store(&b->pool->shm->wake_at, b->pool->wake_threshold);
	atomic_store(&d->stop, false);
	atomic_store(&d->done, 0);
	atomic_store(&d->open, 0);
	atomic_store(&d->delivered, 0);
	atomic_store(&d->overwritten, 0);
	for (struct loss *l = atomic_exchange(&d->told_next, NULL), *next; l; l = next) {
		next = l->next; /* of who had the slot before */
		free(l);
	}
	atomic_store(&d->untold, 0);
	atomic_store(&d->shm, b->pool);
	b->pool->reader = d;
	atomic_store(&b->pool->shm->drain_beat, UINT32_MAX); /* alive until the end */
	atomic_store(&d->pool, pool);
	b->delivery = d;
	return true;
}

void core_deliver_wake(struct core_pool *h)
{
	struct core_delivery *d = h->reader;
	struct delivery_pool *p = atomic_load(&d->pool);

	if (p && atomic_load(&d->shm) == h)
		core_pool_notify(p, false);
}

/* Who drops does so again and again: it wakes the reader only if that sleeps. */
void core_deliver_starved(struct core_pool *h, bool waits)
{
	struct core_delivery *d = h->reader;
	struct delivery_pool *p = atomic_load(&d->pool);

	if (!p || atomic_load(&d->shm) != h)
		return;
	if (!atomic_load(&d->starved))
		atomic_store(&d->starved, 1);
	if (waits || atomic_load(&p->sleepers))
		core_pool_notify(p, false);
}

bool core_deliver_inside(const struct core_buffer *b)
{
	struct delivery_pool *mine = core_pool_current();

	return mine && b && b->delivery && atomic_load(&b->delivery->pool) == mine;
}

void core_deliver_fork_child(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_delivery *d = &core_deliveries[i];

		/* Its memory and a pool of its own stay behind: malloc may be locked for good. */
		atomic_store(&d->pool, NULL);
		atomic_store(&d->busy, 0);
		atomic_store(&d->open, 0);
		atomic_store(&d->workers, 0);
		atomic_store(&d->given_up, false);
		atomic_store(&d->told_next, NULL);
		d->losses = NULL;
		d->loss_count = d->loss_room = 0;
		d->own = NULL;
	}
}
