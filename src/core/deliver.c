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
#include "core/deliver.h"

#include <stdlib.h>

#define TELL_CHUNKS 16u
#define TELL_NS     500000u

struct core_delivery core_deliveries[CAP_BUFFERS];

static uint64_t order_of(uint32_t stamp, uint32_t last)
{
	return (uint64_t)((int64_t)(int32_t)(stamp - last) + (1ll << 32));
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
			d->items[n++] = (struct item){0, i, c->thread};
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
		    !atomic_compare_exchange_strong(&ctl[i].state, &state,
						    SHM_FULL | SHM_READING))
			continue;
		d->items[n++] = (struct item){order_of(atomic_load(&ctl[i].stamp), last), i,
					      core_chunk(p, i)->thread};
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
	uint32_t pinned = all ? pin_filling(d, p) : 0;
	uint32_t last = atomic_load(&p->shm->stamps);
	uint32_t n = take_full(d, p, last, pinned);

	order_pinned(d, p, last, pinned);
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
	core_futex_wake(&p->shm->freed, n ? (int)n : 1);
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
			if (!deliver_chunk(d, d->items[i].chunk))
				return false;
		if (atomic_fetch_sub(&d->left, 1) == 1)
			core_futex_wake(&d->left, 1);
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
	while (!core_delivery_left_behind() && (left = atomic_load(&d->left)) != 0)
		core_futex_wait(&d->left, left, 1000000000u);
}

static void deliver_alone(struct core_delivery *d, uint32_t n)
{
	qsort(d->items, n, sizeof(*d->items), by_order);
	for (uint32_t i = 0; i < n; i++)
		if (!deliver_chunk(d, d->items[i].chunk))
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

	if (n == 0)
		return;
	calibrate(d);
	tell_overwritten(d, p);
	if (d->buffer->desc.parallel && atomic_load(&d->pool)->running > 1)
		deliver_shared(d, n);
	else
		deliver_alone(d, n);
	if (!core_delivery_left_behind())
		tell_waiting(d, p, true);
}

/* Leaves the pool after a last pass; the slot may be used again as soon as `done` is set. */
static void leave(struct core_delivery *d)
{
	free(d->progress);
	free(d->items);
	free(d->groups);
	d->progress = NULL;
	d->items = NULL;
	d->groups = NULL;
	atomic_store(&d->pool, NULL);
	atomic_store(&d->busy, 0);
	atomic_store(&d->done, 1);
	core_futex_wake(&d->done, INT32_MAX);
}

static bool work_to_do(const struct core_delivery *d, const struct core_pool *p)
{
	uint32_t full = atomic_load(&p->shm->full);

	return atomic_load(&d->stop) || atomic_load(&p->shm->flush) != atomic_load(&p->shm->flushed) ||
	       (int32_t)(full - atomic_load(&p->shm->wake_at)) >= 0 ||
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

bool core_delivery_serve(struct core_delivery *d)
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
	if (core_delivery_left_behind())
		return false;
	if (atomic_load(&p->shm->flushed) != flush) {
		atomic_store(&p->shm->flushed, flush);
		core_futex_wake(&p->shm->flushed, INT32_MAX);
	}
	if (stop)
		leave(d);
	else
		atomic_store(&d->busy, 0);
	return true;
}

/* ---- beginning and end ---- */

static bool allocate(struct core_delivery *d, uint32_t chunks)
{
	d->progress = calloc(chunks, sizeof(*d->progress));
	d->items = malloc(chunks * sizeof(*d->items));
	d->groups = malloc((chunks + 1) * sizeof(*d->groups));
	if (d->progress && d->items && d->groups)
		return true;
	free(d->progress);
	free(d->items);
	free(d->groups);
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
		free(d->progress);
		free(d->items);
		free(d->groups);
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

bool core_deliver_stop(struct core_buffer *b, uint64_t timeout_ns)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + timeout_ns, now;
	struct core_delivery *d = b->delivery;
	struct delivery_pool *own;

	if (!d || core_deliver_inside(b))
		return !d;
	own = d->own;
	atomic_store(&d->stop, true);
	core_deliver_wake(b->pool);
	while (!atomic_load(&d->done)) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (atomic_load(&d->pool) && atomic_load(&d->pool)->failed)
			leave(d); /* there is nobody to do it */
		else if (timeout_ns && now >= deadline)
			return false;
		core_futex_wait(&d->done, 0, timeout_ns ? timeout_ns : 1000000000u);
	}
	atomic_store(&b->pool->shm->drain_failed, 1); /* nobody waits for room any more */
	b->delivery = NULL;
	if (own)
		core_pool_end(own);
	return true;
}

void core_deliver_fork_child(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_delivery *d = &core_deliveries[i];

		/* Its memory and a pool of its own stay behind: malloc may be locked for good. */
		atomic_store(&d->pool, NULL);
		atomic_store(&d->busy, 0);
		atomic_store(&d->open, 0);
		d->own = NULL;
	}
}
