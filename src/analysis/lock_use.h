/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads waited for in calls of the domain "lock", by the address of the lock, condition, barrier or semaphore, and for
 * which threads. Memory is proportional to these, and to the pairs of one and a thread that was waited for.
 */
#ifndef ANALYSIS_LOCK_USE_H
#define ANALYSIS_LOCK_USE_H

#include "base/map.h"
#include "stream/stream.h"

/* Addresses are used again: it may have been several, one after the other. */
struct lock_use_row {
	uint32_t process; /* index */
	uint64_t object;
	const char *kind;
	uint64_t waits, ns, longest_ns; /* all threads' together */
	uint32_t longest_site;
	/* Of times that a thread held it and let it go while another may have waited; 0: not known. */
	uint64_t held_ns, longest_held_ns;
	uint32_t
		tid; /* thread that was waited for longest: who had it, or who ended the wait; 0: not known */
	uint64_t tid_ns;
	/* Of a condition or semaphore: nine tenths of its waits are of threads that wait for work; lock_use_find_pools(). */
	bool pool;
};

/* Waits of one thread (index) for one row. */
struct lock_use_waiter {
	uint32_t row, thread;
	uint64_t ns;
};

struct lock_use_pair {
	uint32_t row, tid;
	uint64_t ns;
};

struct lock_use {
	const struct trace *trace;
	uint8_t *op_is; /* by op: what it does, from 1 */
	struct lock_use_row *rows;
	uint32_t rows_count, rows_room;
	struct lock_use_pair *pairs;
	uint32_t pairs_count, pairs_room;
	struct lock_use_waiter *waiters;
	uint32_t waiters_count, waiters_room;
	uint64_t *for_work; /* by thread: ns in conditions and semaphores */
	struct map places, pair_places, waiter_places; /* by hash: number from 1 */
	bool failed;                                   /* no memory */
};

/* Its calls are looked at. */
bool lock_use_op(const struct trace *t, const struct t_op *op);

struct lock_use *lock_use_new(const struct trace *t);
void lock_use_free(struct lock_use *u);
void lock_use_call_wanted(struct lock_use *u, const struct rec *r);

/* All records were there. `pool`: by thread, that it waits for work nearly all the time. */
void lock_use_find_pools(struct lock_use *u, bool (*pool)(const void *data, uint32_t thread),
			 const void *data);

static inline void lock_use_call(struct lock_use *u, const struct rec *r)
{
	if (u->op_is[r->op])
		lock_use_call_wanted(u, r);
}

#endif
