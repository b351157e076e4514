/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of private buffers: of one, which waits for its tool as long as it takes, and of all when
 * the process ends. Then callbacks are waited for as long as they come back. One that does not, for
 * IDLE_NS, is given up: what is not delivered is counted as lost, and a tool whose callback may
 * still be running is not told of the end.
 */
#include "base/futex.h"
#include "core/deliver/deliver.h"
#include "core/deliver/pass.h"
#include "core/ring/ring.h"

#define IDLE_NS  2000000000u /* no callback of the pool has come back */
#define LEAVE_NS 2000000000u /* one that was given up may still do so */
#define LOOK_NS  20000000u

/* Its pool was ended, or has not one thread. */
static bool nobody_serves(const struct core_delivery *d)
{
	const struct delivery_pool *p = atomic_load(&d->pool);

	return p && atomic_load(&p->failed);
}

static void give_up_delivery(struct core_buffer *b)
{
	struct delivery_pool *own = b->delivery->own;

	atomic_store(&b->pool->shm->drain_failed, 1); /* nobody waits for room any more */
	b->delivery = NULL;
	if (own && own != core_pool_current()) /* else it does not end before the process */
		core_pool_end(own);
}

static void request_end(struct core_buffer *b)
{
	atomic_store(&b->delivery->stop, true);
	core_deliver_wake(b->pool);
}

bool core_deliver_stop(struct core_buffer *b)
{
	struct core_delivery *d = b->delivery;

	if (!d || core_deliver_inside(b))
		return !d;
	request_end(b);
	while (!atomic_load(&d->done)) {
		if (nobody_serves(d))
			core_delivery_leave(d); /* there is nobody to do it */
		futex_wait(&d->done, 0, 1000000000u);
	}
	give_up_delivery(b);
	return true;
}

bool core_deliver_over(const struct core_buffer *b)
{
	return !b->delivery || atomic_load(&b->delivery->done);
}

/* ---- all of them, at the end of the process ---- */

struct ending {
	struct core_buffer *buffer; /* NULL: it is over */
	const struct delivery_pool *pool;
	uint64_t returned, since; /* of the pool; when that last changed */
};

static void note_rest(const struct core_delivery *d, uint64_t lost)
{
	if (lost)
		cap_note(2, "core",
			 "the delivery of %llu records to a tool did not come to its end with the "
			 "process: they are lost",
			 (unsigned long long)lost);
	if (core_delivery_mine() != d && atomic_load(&d->workers))
		cap_note(2, "core",
			 "a delivery callback of a tool did not come back at the end of the "
			 "process; the tool was not notified of the end");
}

/* Nobody is at it any more, but for the calling thread, which does not come back. */
static void give_up(struct core_buffer *b)
{
	struct core_delivery *d = b->delivery;
	uint32_t own = core_delivery_mine() == d;
	uint64_t lost = atomic_load(&b->pool->shm->lost_records);

	if (atomic_load(&d->workers) <= own) {
		core_delivery_leave(d);
		if (!own)
			give_up_delivery(b);
	}
	note_rest(d, atomic_load(&b->pool->shm->lost_records) - lost);
}

/* Whether it is worth to go on waiting for it. */
static bool still_ending(struct ending *e, uint64_t now)
{
	struct core_delivery *d = e->buffer->delivery;
	uint64_t returned = atomic_load(&e->pool->returned);
	bool served_here = core_pool_current() == e->pool;

	/* The process may end on a thread that delivers, when the program has none left. */
	if (served_here && !core_delivery_mine())
		core_delivery_serve(d);
	if (atomic_load(&d->done)) {
		give_up_delivery(e->buffer);
		return false;
	}
	if (nobody_serves(d) || core_delivery_mine() == d ||
	    (served_here && core_delivery_mine() && atomic_load(&e->pool->running) == 1)) {
		atomic_store(&d->given_up, true);
		give_up(e->buffer);
		return false;
	}
	if (!atomic_load(&d->given_up)) {
		if (returned != e->returned)
			e->since = now;
		e->returned = returned;
		if (now - e->since >= IDLE_NS)
			atomic_store(&d->given_up, true);
		return true;
	}
	if (atomic_load(&d->workers) && now - e->since < IDLE_NS + LEAVE_NS)
		return true;
	give_up(e->buffer);
	return false;
}

static uint32_t list_buffers(struct ending *all)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint32_t n = 0;

	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];
		const struct delivery_pool *pool;

		if (!b->used || !b->ready || !core_buffer_private(b) || !b->delivery)
			continue;
		pool = atomic_load(&b->delivery->pool);
		if (pool)
			all[n++] = (struct ending){b, pool, atomic_load(&pool->returned), now};
	}
	return n;
}

void core_deliver_end(void)
{
	static struct ending all[CAP_BUFFERS]; /* once a process */
	uint32_t count = list_buffers(all), left = count;

	for (uint32_t i = 0; i < count; i++)
		request_end(all[i].buffer);
	while (left) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		struct core_delivery *next = NULL;

		left = 0;
		for (uint32_t i = 0; i < count; i++) {
			struct ending *e = &all[i];

			if (e->buffer && !still_ending(e, now))
				e->buffer = NULL;
			if (!e->buffer)
				continue;
			left++;
			next = e->buffer->delivery;
		}
		if (next)
			futex_wait(&next->done, 0, LOOK_NS);
	}
}

bool core_deliver_runs(const void *tool)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		const struct core_delivery *d = &core_deliveries[i];

		if (atomic_load(&d->given_up) && !atomic_load(&d->done) && d->tool == tool &&
		    d != core_delivery_mine() && atomic_load(&d->workers))
			return true;
	}
	return false;
}
