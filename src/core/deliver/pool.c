/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of delivery threads. A buffer without a pool gets one of its own with one thread. Workers
 * sleep until a producer says that there is something to do: an idle pool costs nothing.
 */
#include "base/futex.h"
#include "core/context/context.h"
#include "core/deliver/deliver.h"
#include "core/deliver/pass.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define POOLS     (2 * CAP_BUFFERS)
#define SECOND_NS 1000000000u

/* In one place for ever: a producer may look at one that is just going away. */
static struct delivery_pool pools[POOLS];
static _Thread_local struct delivery_pool *current;
static _Thread_local uint32_t process; /* for which it was made */
static _Atomic uint32_t start_requests;

struct delivery_pool *core_pool_current(void)
{
	return current;
}

/*
 * The thread's state is wiped by fork and by raw clone; if the child has used Kymo since, the
 * process has another number.
 */
bool core_delivery_left_behind(void)
{
	const struct cap_thread *t = cap_thread_current;

	return !t || t->magic != CAP_THREAD_MAGIC || process != core_generation;
}

static kymo_pool_t handle_of(const struct delivery_pool *p)
{
	return (kymo_pool_t){(uint64_t)p->generation << 8 | (uint64_t)(p - pools + 1)};
}

struct delivery_pool *core_pool_find(kymo_pool_t h)
{
	uint32_t i = (uint32_t)(h.handle & 0xff) - 1;

	if (i >= POOLS || !pools[i].used || pools[i].generation != (uint32_t)(h.handle >> 8))
		return NULL;
	return &pools[i];
}

struct delivery_pool *core_pool_new(uint32_t threads)
{
	static uint32_t generations;

	for (uint32_t i = 0; i < POOLS; i++) {
		struct delivery_pool *p = &pools[i];

		if (p->used)
			continue;
		p->used = true;
		atomic_store(&p->failed, false);
		p->shared = p->starting = p->ended = false;
		p->generation = ++generations;
		p->wanted = threads;
		atomic_store(&p->running, 0);
		atomic_store(&p->stop, false);
		return p;
	}
	return NULL;
}

/* ---- workers ---- */

static bool serve_all(struct delivery_pool *p, bool *left_behind)
{
	bool did = false;

	for (uint32_t i = 0; i < CAP_BUFFERS && !*left_behind; i++) {
		struct core_delivery *d = &core_deliveries[i];

		if (atomic_load(&d->pool) != p)
			continue;
		did |= core_delivery_serve(d);
		*left_behind = core_delivery_left_behind();
	}
	return did;
}

static void worker(void *arg)
{
	struct delivery_pool *p = arg;
	bool left_behind = false;

	current = p;
	process = core_generation;
	while (!left_behind) {
		uint32_t seen = atomic_load(&p->work);

		if (serve_all(p, &left_behind) || left_behind)
			continue;
		if (atomic_load(&p->stop))
			break;
		atomic_fetch_add(&p->sleepers, 1);
		if (!core_life_sleep(&p->work, seen))
			futex_wait(&p->work, seen, SECOND_NS);
		atomic_fetch_sub(&p->sleepers, 1);
	}
	current = NULL;
	if (left_behind) /* the only thread of this process, with no program behind it */
		_exit(0);
}

void core_pool_notify(struct delivery_pool *p, bool many)
{
	atomic_fetch_add(&p->work, 1);
	if (atomic_load(&p->sleepers))
		futex_wake(&p->work, many ? INT32_MAX : 1);
}

static bool attached(const struct delivery_pool *p)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (atomic_load(&core_deliveries[i].pool) == p)
			return true;
	return false;
}

/* Producers must not wait for nobody. */
static void give_up(const struct delivery_pool *p)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (atomic_load(&core_deliveries[i].pool) == p)
			atomic_store(&atomic_load(&core_deliveries[i].shm)->shm->drain_failed, 1);
}

/* A pool that lacks threads; it cannot go away until start_end(). */
static struct delivery_pool *start_begin(void)
{
	struct delivery_pool *found = NULL;

	pthread_mutex_lock(&core_live->configure);
	for (uint32_t i = 0; i < POOLS && !found; i++) {
		struct delivery_pool *p = &pools[i];

		if (p->used && !p->failed && !p->starting && p->running < p->wanted && attached(p))
			found = p;
	}
	if (found) {
		found->starting = true;
		found->starter = pthread_self();
	}
	pthread_mutex_unlock(&core_live->configure);
	return found;
}

static void start_end(struct delivery_pool *p)
{
	bool ended;

	pthread_mutex_lock(&core_live->configure);
	p->starting = false;
	ended = p->ended;
	pthread_mutex_unlock(&core_live->configure);
	if (ended)
		core_pool_end(p);
}

static void start_threads(struct delivery_pool *p)
{
	core_life_watched();
	while (p->running < p->wanted &&
	       core_thread_start("deliver", worker, p, &p->threads[p->running]))
		p->running++;
	if (p->running == 0) {
		p->failed = true;
		give_up(p);
		cap_note(3, "core", "no thread could be made to deliver records");
	} else if (p->running < p->wanted) {
		p->wanted = p->running; /* the others would fail again */
	}
}

/*
 * Tools are told of threads, so no lock is held. Who comes while another thread (or the same one,
 * out of such a notice) is at it leaves the work to that.
 */
void core_deliver_threads_start(void)
{
	struct delivery_pool *p;
	uint32_t seen;

	if (atomic_fetch_add(&start_requests, 1) != 0)
		return;
	do {
		seen = atomic_load(&start_requests);
		while ((p = start_begin())) {
			start_threads(p);
			start_end(p);
		}
	} while (atomic_fetch_sub(&start_requests, seen) != seen);
}

/* Whether its threads are all made. If this thread is at it, out of a notice, it ends it later. */
static bool end_begin(struct delivery_pool *p)
{
	bool starting = true, own = false;

	while (starting && !own) {
		pthread_mutex_lock(&core_live->configure);
		starting = p->starting;
		own = starting && pthread_equal(p->starter, pthread_self());
		p->ended |= own;
		pthread_mutex_unlock(&core_live->configure);
		if (starting && !own)
			sched_yield();
	}
	return !own;
}

void core_pool_end(struct delivery_pool *p)
{
	if (!end_begin(p))
		return;
	atomic_store(&p->stop, true);
	core_pool_notify(p, true);
	for (uint32_t i = 0; i < p->running; i++)
		pthread_join(p->threads[i], NULL);
	p->running = 0;
	pthread_mutex_lock(&core_live->configure);
	p->used = false;
	pthread_mutex_unlock(&core_live->configure);
}

void core_pools_fork_child(void)
{
	current = NULL;
	atomic_store(&start_requests, 0);
	for (uint32_t i = 0; i < POOLS; i++) {
		struct delivery_pool *p = &pools[i];

		p->running = 0;
		p->failed = p->starting = p->ended = false;
		atomic_store(&p->sleepers, 0);
		if (p->used && !p->shared)
			p->used = false; /* its buffer gets another */
	}
}

/* ---- public ---- */

kymo_status_t kymo_pool_create(uint32_t threads, kymo_pool_t *out)
{
	kymo_status_t status = core_changeable();
	struct delivery_pool *p;

	if (!out || threads == 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (threads > POOL_THREADS)
		return KYMO_ERROR_LIMIT;
	if (status == KYMO_OK && core_selecting())
		status = KYMO_ERROR_STATE;
	if (status != KYMO_OK)
		return status;
	pthread_mutex_lock(&core_live->configure);
	p = core_pool_new(threads);
	if (p) {
		p->shared = true;
		*out = handle_of(p);
	}
	pthread_mutex_unlock(&core_live->configure);
	return p ? KYMO_OK : KYMO_ERROR_LIMIT;
}

static bool in_use(kymo_pool_t pool)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].desc.pool.handle == pool.handle)
			return true;
	return false;
}

kymo_status_t kymo_pool_destroy(kymo_pool_t pool)
{
	kymo_status_t status = core_changeable();
	struct delivery_pool *p;

	if (status == KYMO_OK && core_selecting())
		status = KYMO_ERROR_STATE;
	if (status != KYMO_OK)
		return status;
	pthread_mutex_lock(&core_live->configure);
	p = core_pool_find(pool);
	if (!p || !p->shared)
		status = pool.handle ? KYMO_ERROR_NOT_FOUND : KYMO_ERROR_INVALID_ARGUMENT;
	else if (in_use(pool) || attached(p))
		status = KYMO_ERROR_BUSY;
	else
		p->generation = 0; /* nobody finds it any more */
	pthread_mutex_unlock(&core_live->configure);
	if (status == KYMO_OK)
		core_pool_end(p);
	return status;
}
