/* SPDX-License-Identifier: Apache-2.0 */
/* See lock_use.h. */
#include "analysis/lock_use.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call_use.h"
#include "base/hash.h"
#include "base/vec.h"

static const struct {
	const char *op, *kind;
	bool waits;
} known[] = {
	{"pthread_mutex_lock", "mutex", true},
	{"pthread_mutex_unlock", "mutex", false},
	{"pthread_rwlock_rdlock", "readers/writer", true},
	{"pthread_rwlock_wrlock", "readers/writer", true},
	{"pthread_cond_wait", "condition", true},
	{"pthread_barrier_wait", "barrier", true},
	{"pthread_spin_lock", "spin lock", true},
	{"sem_wait", "semaphore", true},
};
#define KNOWN (sizeof(known) / sizeof(*known))

static uint8_t what_is(const char *op)
{
	for (unsigned i = 0; i < KNOWN; i++)
		if (strcmp(op, known[i].op) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

bool lock_use_op(const struct trace *t, const struct t_op *op)
{
	return call_use_of(t, op, "lock", what_is) != 0;
}

struct lock_use *lock_use_new(const struct trace *t)
{
	struct lock_use *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->trace = t;
	u->op_is = call_use_ops(t, "lock", what_is);
	u->for_work = calloc(t->threads_count + 1u, sizeof(*u->for_work));
	if (!u->op_is || !u->for_work) {
		lock_use_free(u);
		return NULL;
	}
	return u;
}

void lock_use_free(struct lock_use *u)
{
	if (!u)
		return;
	map_release(&u->places);
	map_release(&u->pair_places);
	map_release(&u->waiter_places);
	free(u->waiters);
	free(u->for_work);
	free(u->pairs);
	free(u->rows);
	free(u->op_is);
	free(u);
}

static struct lock_use_row *row_of(struct lock_use *u, uint32_t process, uint64_t object,
				   const char *kind)
{
	const uint64_t hash = hash_add(hash_string(kind), (const uint64_t[]){process, object},
				       2 * sizeof(uint64_t));
	uint64_t i;

	map_each(&u->places, hash, i) {
		struct lock_use_row *row = &u->rows[i - 1];

		if (row->process == process && row->object == object && row->kind == kind)
			return row;
	}
	if (!vec_reserve(&u->rows, &u->rows_room, u->rows_count, 1) ||
	    !map_add(&u->places, hash, u->rows_count + 1u)) {
		u->failed = true;
		return NULL;
	}
	u->rows[u->rows_count] =
		(struct lock_use_row){.process = process, .object = object, .kind = kind};
	return &u->rows[u->rows_count++];
}

static void add_pair(struct lock_use *u, struct lock_use_row *row, uint32_t tid, uint64_t ns)
{
	const uint32_t place = (uint32_t)(row - u->rows);
	const uint64_t hash = hash_u64((uint64_t)place << 32 | tid);
	struct lock_use_pair *pair = NULL;
	uint64_t i;

	map_each(&u->pair_places, hash, i) {
		if (u->pairs[i - 1].row == place && u->pairs[i - 1].tid == tid)
			pair = &u->pairs[i - 1];
	}
	if (!pair) {
		if (!vec_reserve(&u->pairs, &u->pairs_room, u->pairs_count, 1) ||
		    !map_add(&u->pair_places, hash, u->pairs_count + 1u)) {
			u->failed = true;
			return;
		}
		pair = &u->pairs[u->pairs_count++];
		*pair = (struct lock_use_pair){.row = place, .tid = tid};
	}
	pair->ns += ns;
	if (pair->ns > row->tid_ns || !row->tid) {
		row->tid_ns = pair->ns;
		row->tid = tid;
	}
}

/* Work is waited for with these. */
static bool is_for_work(const char *kind)
{
	return strcmp(kind, "condition") == 0 || strcmp(kind, "semaphore") == 0;
}

static void add_waiter(struct lock_use *u, uint32_t place, uint32_t thread, uint64_t ns)
{
	const uint64_t hash = hash_u64((uint64_t)place << 32 | thread);
	uint64_t i;

	u->for_work[thread] += ns;
	map_each(&u->waiter_places, hash, i) {
		struct lock_use_waiter *w = &u->waiters[i - 1];

		if (w->row == place && w->thread == thread) {
			w->ns += ns;
			return;
		}
	}
	if (!vec_reserve(&u->waiters, &u->waiters_room, u->waiters_count, 1) ||
	    !map_add(&u->waiter_places, hash, u->waiters_count + 1u)) {
		u->failed = true;
		return;
	}
	u->waiters[u->waiters_count++] = (struct lock_use_waiter){place, thread, ns};
}

void lock_use_find_pools(struct lock_use *u, bool (*pool)(const void *data, uint32_t thread),
			 const void *data)
{
	uint64_t *waited = calloc(u->rows_count + 1u, sizeof(*waited));

	u->failed |= !waited;
	for (uint32_t i = 0; waited && i < u->waiters_count; i++)
		if (pool(data, u->waiters[i].thread))
			waited[u->waiters[i].row] += u->waiters[i].ns;
	for (uint32_t i = 0; waited && i < u->rows_count; i++)
		u->rows[i].pool = u->rows[i].ns && (double)waited[i] >= 0.9 * (double)u->rows[i].ns;
	free(waited);
}

void lock_use_call_wanted(struct lock_use *u, const struct rec *r)
{
	const unsigned is = u->op_is[r->op] - 1u;
	const uint64_t ns = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	enum { OBJECT, HELD, OWNER, WOKEN_BY, WORDS };
	static const char *const names[WORDS] = {"object", "held", "owner", "woken_by"};
	struct lock_use_row *row;
	uint64_t a[WORDS];

	row = call_use_words(u->trace, r, names, WORDS, a) & 1u << OBJECT
		      ? row_of(u, r->process, a[OBJECT], known[is].kind)
		      : NULL;
	if (!row)
		return;
	if (!known[is].waits) {
		row->held_ns += a[HELD];
		row->longest_held_ns =
			a[HELD] > row->longest_held_ns ? a[HELD] : row->longest_held_ns;
		return;
	}
	row->ns += ns;
	if (!row->waits++ || ns > row->longest_ns) {
		row->longest_ns = ns;
		row->longest_site = r->site;
	}
	if (is_for_work(row->kind) && r->thread < u->trace->threads_count)
		add_waiter(u, (uint32_t)(row - u->rows), r->thread, ns);
	if (a[OWNER] | a[WOKEN_BY]) /* an op has one of them */
		add_pair(u, row, (uint32_t)(a[OWNER] | a[WOKEN_BY]), ns);
}
