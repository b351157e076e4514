/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of delivery threads. A buffer without a pool gets one of its own with one thread. Workers
 * sleep until a producer says that there is something to do: an idle pool costs nothing.
 */
#include "core/deliver.h"

#include <unistd.h>

#define POOLS (2 * CAP_BUFFERS)

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
		p->failed = p->shared = false;
		p->generation = ++generations;
		p->wanted = threads;
		p->running = 0;
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
		core_futex_wait(&p->work, seen, 3600000000000u);
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
		core_futex_wake(&p->work, many ? INT32_MAX : 1);
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
			atomic_store(&atomic_load(&core_deliveries[i].shm)->drain_failed, 1);
}

static void start_threads(struct delivery_pool *p)
{
	while (p->running < p->wanted &&
	       core_thread_start("deliver", worker, p, &p->threads[p->running]))
		p->running++;
	if (p->running == 0) {
		p->failed = true;
		give_up(p);
		cap_note(3, "core", "no thread could be made to deliver records");
	}
}

/*
 * Tools are told of threads, so no lock is held. Who comes while another thread (or the same one,
 * out of such a notice) is at it leaves the work to that.
 */
void core_deliver_threads_start(void)
{
	uint32_t seen;

	if (atomic_fetch_add(&start_requests, 1) != 0)
		return;
	do {
		seen = atomic_load(&start_requests);
		for (uint32_t i = 0; i < POOLS; i++) {
			struct delivery_pool *p = &pools[i];

			if (p->used && !p->failed && p->running < p->wanted && attached(p))
				start_threads(p);
		}
	} while (atomic_fetch_sub(&start_requests, seen) != seen);
}

void core_pool_end(struct delivery_pool *p)
{
	atomic_store(&p->stop, true);
	core_pool_notify(p, true);
	for (uint32_t i = 0; i < p->running; i++)
		pthread_join(p->threads[i], NULL);
	p->running = 0;
	p->used = false;
}

void core_pools_fork_child(void)
{
	current = NULL;
	atomic_store(&start_requests, 0);
	for (uint32_t i = 0; i < POOLS; i++) {
		struct delivery_pool *p = &pools[i];

		p->running = 0;
		p->failed = false;
		atomic_store(&p->sleepers, 0);
		if (p->used && !p->shared)
			p->used = false; /* its buffer gets another */
	}
}

/* ---- public ---- */

kymo_status_t kymo_pool_create(uint32_t threads, kymo_pool_t *out)
{
	struct delivery_pool *p;

	if (!out || threads == 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (threads > POOL_THREADS)
		return KYMO_ERROR_LIMIT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
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
	kymo_status_t status = KYMO_OK;
	struct delivery_pool *p;

	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
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
