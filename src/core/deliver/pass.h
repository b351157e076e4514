/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of private buffers, as its parts see it: deliver.c makes passes over a buffer,
 * expand.c turns chunks into records and calls the tool, pool.c has the threads.
 *
 * A pass belongs to the one worker that has claimed the buffer (`busy`). There is one delivery for
 * each buffer slot, for ever, so that a worker may look at one that is just going away.
 */
#ifndef CORE_DELIVER_PASS_H
#define CORE_DELIVER_PASS_H

#include <pthread.h>

#include "base/locks.h"
#include "core/capture.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

#define POOL_THREADS 16u

struct delivery_pool { /* what is not atomic: under `configure` */
	bool used;
	bool shared;          /* made by kymo_pool_create() */
	_Atomic bool failed;  /* not one thread could be made */
	bool starting, ended; /* threads are being made, by `starter`; it is to end after that */
	pthread_t starter;
	uint32_t generation;
	uint32_t wanted; /* threads */
	_Atomic uint32_t running;
	pthread_t threads[POOL_THREADS];
	_Atomic uint32_t work; /* raised when there may be something to do; futex word */
	_Atomic uint32_t sleepers;
	_Atomic uint64_t returned; /* callbacks that have come back */
	_Atomic bool stop;
};

/* What of a chunk that is still being filled was delivered, and how to go on. */
struct progress {
	struct wire_reader reader;
	_Atomic uint64_t handed; /* records, of those that are being delivered just now */
};

struct item {           /* a chunk of a pass, or a loss that no chunk tells */
	uint64_t order; /* of being handed over */
	uint32_t chunk; /* SHM_NONE: a loss */
	uint32_t thread;
	uint64_t lost;
};

/* Losses that are to be told at the next pass; allocated one by one. */
struct loss {
	struct loss *next;
	uint32_t thread;
	uint32_t stamp; /* chunks of the thread up to this one come before it */
	uint64_t lost;
};

struct core_delivery {
	struct delivery_pool *_Atomic pool; /* NULL: not attached */
	struct core_pool *_Atomic shm;
	struct core_buffer *buffer;
	const void *tool; /* whose it is, or NULL */
	kymo_buffer_t handle;
	struct delivery_pool *own; /* its pool if it has a thread of its own */
	struct progress *progress; /* by chunk */
	struct item *items;        /* room for all chunks and `loss_room` losses, in groups, too */
	struct item *losses;       /* of a pass */
	uint32_t loss_count, loss_room, item_room, group_room;
	struct loss *_Atomic told_next; /* what was lost by threads that have ended */
	_Atomic uint64_t untold;        /* and what there was no memory for */

	_Atomic uint32_t busy;      /* a worker makes a pass */
	_Atomic uint32_t seen_full; /* shm->full before the last pass */
	_Atomic uint32_t starved;   /* a producer has found no room since */
	_Atomic bool stop;
	_Atomic uint32_t done; /* the last pass was made; futex word */
	/*
	 * Nobody waits for it any more: workers call the tool no more, and leave without a trace of
	 * themselves. What is not delivered is lost.
	 */
	_Atomic bool given_up;
	_Atomic uint32_t workers; /* are at it, in a callback perhaps */

	struct tick_sync start; /* ticks to ns: from here with the rate so far */
	double ns_per_tick;     /* by the whole time so far, at each pass */

	/* A pass that several workers share: groups of items, one thread's records in each. */
	_Atomic uint64_t open; /* groups << 32 | next to be taken */
	_Atomic uint32_t left; /* groups not yet delivered; futex word */
	uint32_t *groups;      /* first item of each, and one past the last */

	_Atomic uint32_t returned;    /* chunks, since producers were last told */
	_Atomic uint64_t told;        /* when, CLOCK_MONOTONIC ns */
	_Atomic uint64_t delivered;   /* records */
	_Atomic uint64_t overwritten; /* records, not yet told in a batch */
	uint64_t overwritten_seen;
};

extern struct core_delivery core_deliveries[CAP_BUFFERS];

/* ---- deliver.c ---- */
/* Does what there is to do for a buffer; false: nothing. */
bool core_delivery_serve(struct core_delivery *d);
/* Ends it: what is still there is counted as lost. Nobody else is at it. */
void core_delivery_leave(struct core_delivery *d);
/* The delivery that the calling thread is at, or NULL. */
const struct core_delivery *core_delivery_mine(void);
/* ---- expand.c ---- */
/*
 * Delivers the records of chunk `c` that lie in [done, bytes). `p` is where to go on if done is not
 * 0, and says afterwards how to. Returns the bytes delivered so far, 0: left behind.
 */
uint32_t core_expand(struct core_delivery *d, const struct wire_chunk *c, struct progress *p,
		     uint32_t done, uint32_t bytes);
/* Tells of a loss of a thread, and of what gave way; false: left behind. */
bool core_expand_lost(struct core_delivery *d, uint32_t thread, uint64_t lost);

/* ---- pool.c ---- */
/* The pool of a handle, or NULL. Caller holds `configure`. */
struct delivery_pool *core_pool_find(kymo_pool_t handle) REQUIRES(core_live->configure);
/* Caller holds `configure`; NULL: too many. */
struct delivery_pool *core_pool_new(uint32_t threads) REQUIRES(core_live->configure);
/* Ends and joins the threads. No lock held. */
void core_pool_end(struct delivery_pool *p);
/* The pool that the calling thread works for, or NULL. */
struct delivery_pool *core_pool_current(void);
/* The worker finds itself in a child that was forked in the callback: it must end. */
bool core_delivery_left_behind(void);
/* That, or nobody waits for the delivery any more: its worker must not go on with it. */
static inline bool core_delivery_over(const struct core_delivery *d)
{
	return atomic_load(&d->given_up) || core_delivery_left_behind();
}
/* Something may be there to do. `many`: for more than one worker. */
void core_pool_notify(struct delivery_pool *p, bool many);

#endif
