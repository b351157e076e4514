/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: a pool of chunks, and either a consumer beside the process or a delivery thread in it. */
#include "base/futex.h"
#include "base/locks.h"
#include "core/context/context.h"
#include "core/define/define.h"
#include "core/deliver/deliver.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "wire/bell.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS   50000000u /* at the end of the process nobody serves a flush any more */
#define MIN(a, b) ((a) < (b) ? (a) : (b))

struct core_buffer core_buffers[CAP_BUFFERS];
uint8_t cap_args_of[CAP_BUFFERS];

/*
 * By index: shared, and nothing recorded yet. Not in the buffer, whose size calls compute with. Changed with
 * `configure` held; threads that register a domain look whether there is one without it.
 */
static struct core_pool *_Atomic early[CAP_BUFFERS];
static _Atomic pid_t early_of; /* the process that has shared them, and not its parent */

static void drop_early(struct core_buffer *b) REQUIRES(core_live->configure)
{
	if (!early[b->index])
		return;
	core_steer_drops(b);
	core_pool_destroy(early[b->index]);
	early[b->index] = NULL;
}

struct core_pool *core_buffer_early(const struct core_buffer *b)
{
	return early_of == getpid() ? early[b - core_buffers] : NULL;
}

/* False: we were not the first, or somebody has been before in vain. */
static bool settle(struct core_pool *p, uint32_t what)
{
	uint32_t begun = SHM_NOT_BEGUN;

	return atomic_compare_exchange_strong(&p->shm->begun, &begun, what);
}

/* An answer that came too late counts, if the memory says that it was taken. */
static bool share(struct core_buffer *b, int memfd)
{
	kymo_status_t status = b->desc.share(memfd, b->pool->total, b->desc.data);
	int error = errno;

	close(memfd);
	settle(b->pool, status == KYMO_OK ? SHM_BEGUN : SHM_TOO_LATE);
	if (atomic_load(&b->pool->shm->begun) == SHM_BEGUN)
		return true;
	core_pool_destroy(b->pool);
	b->pool = NULL;
	b->refused = true;
	errno = error;
	return false;
}

static void set_up(const struct core_buffer *b, struct core_pool *p)
{
	uint32_t watermark = (uint32_t)(b->desc.watermark / p->chunk_size);

	p->overwrite = b->desc.policy == KYMO_POLICY_OVERWRITE;
	core_usage_before(p->shm);
	p->shm->overwrite = p->overwrite; /* the drain looks at it once it has the memory */
	if (b->desc.watermark)
		p->wake_threshold = watermark ? watermark : 1;
	if (b->desc.steer)
		core_steer_made(b, p);
}

void core_buffer_share_early(struct core_buffer *b)
{
	struct core_pool *p = NULL;
	int saved = errno, memfd;

	if (b->desc.share_early)
		p = core_pool_prepare(b->desc.bytes, &memfd);
	if (p) {
		set_up(b, p);
		if (b->desc.share_early(memfd, p->total, b->desc.data) != KYMO_OK) {
			core_pool_destroy(p);
			p = NULL;
		}
		close(memfd);
	}
	early[b->index] = p;
	early_of = getpid();
	errno = saved;
}

void core_buffers_share_in_child(void) UNCHECKED_LOCKS
{
	core_steer_fork_child();
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		if (!b->used || b->retired)
			continue;
		drop_early(b);
		core_buffer_share_early(b);
	}
	early_of = getpid();
}

/*
 * From now on the other side takes what is shared early for a recording. False: it went away, which
 * has nothing to do with this process.
 */
static bool begin_early(struct core_buffer *b) REQUIRES(core_live->configure)
{
	if (!settle(early[b->index], SHM_BEGUN)) {
		drop_early(b);
		return false;
	}
	b->pool = early[b->index];
	early[b->index] = NULL;
	core_pool_begin(b->pool);
	shm_ring(b->pool->shm);
	return true;
}

static bool make_anew(struct core_buffer *b) REQUIRES(core_live->configure)
{
	bool shared = !core_buffer_private(b);
	int memfd = -1;

	b->pool = core_pool_create(b->desc.bytes, shared ? &memfd : NULL);
	if (!b->pool) {
		b->refused = true;
		return false;
	}
	set_up(b, b->pool);
	if (shared)
		return share(b, memfd);
	if (core_deliver_start(b))
		return true;
	core_pool_destroy(b->pool);
	b->pool = NULL;
	b->refused = true;
	return false;
}

/* Where nobody empties what is shared and nobody else can be found, losses are counted there. */
static bool make(struct core_buffer *b) REQUIRES(core_live->configure)
{
	kymo_assert_held(&core_live->configure);
	kymo_assert(b->used && !b->ready && !b->pool);
	if (early[b->index] && core_pool_reader_there(early[b->index]) && begin_early(b))
		return true;
	if (make_anew(b)) {
		drop_early(b);
		return true;
	}
	if (!early[b->index] || !begin_early(b))
		return false;
	b->refused = false;
	return true;
}

bool core_buffer_ensure(struct core_buffer *b)
{
	int saved = errno;

	if (b->ready || b->refused)
		return b->ready;
	errno = 0;
	if (!make(b)) {
		if (b->desc.unshared)
			b->desc.unshared(errno, b->desc.data);
	} else {
		b->ready = true;
		if (!core_buffer_private(b)) {
			core_threads_share(b->pool);
			core_lines_share(b);
		}
		core_define_replay(b);
		if (!core_buffer_private(b)) {
			core_overhead_define();
			core_define_modules();
		}
	}
	errno = saved;
	return b->ready;
}

/*
 * Calls that were entered before the context stopped may still write into the pool: its memory goes,
 * and its slot is used again, when a later sweep finds that none is left.
 */
void core_buffer_release(struct core_buffer *b)
{
	atomic_fetch_and(&core_buffers_open, ~(1ull << b->index));
	if (b->ready && core_buffer_private(b))
		core_deliver_stop(b);
	pthread_mutex_lock(&core_live->configure);
	kymo_assert(b->used && !b->retired);
	b->retired = true;
	core_steer_end(b);
	pthread_mutex_unlock(&core_live->configure);
}

/* The shared buffer beside `b` that shows calls and work under way, else one that could. */
static struct core_buffer *other_shared(const struct core_buffer *b)
{
	struct core_buffer *other = NULL;

	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *o = &core_buffers[i];

		if (o == b || !o->used || !o->ready || o->retired || core_buffer_private(o))
			continue;
		if (o->pool == core_shared_pool())
			return o;
		other = o;
	}
	return other;
}

void core_buffer_leave(struct core_buffer *b)
{
	atomic_store(&b->pool->shm->state, SHM_LEFT);
	shm_ring(b->pool->shm);
}

/* What is shown of calls and work under way goes to another shared buffer, if there is one. */
static void unshare_pool(struct core_buffer *b) REQUIRES(core_live->configure)
{
	struct core_buffer *other = other_shared(b);

	if (core_shared_pool() == b->pool)
		core_threads_share(other ? other->pool : NULL);
	core_lines_unshare(b->pool, other);
	core_buffer_leave(b);
	core_pool_abandon(b->pool);
}

static void buffer_free(struct core_buffer *b) REQUIRES(core_live->configure)
{
	kymo_assert_held(&core_live->configure);
	kymo_assert(b->used && b->retired);
	pthread_mutex_lock(&core_live->tallies); /* a thread that ends releases its own */
	core_rings_forget(b->index);
	pthread_mutex_unlock(&core_live->tallies);
	pthread_mutex_lock(&core_live->define);
	b->defines = false;
	pthread_mutex_unlock(&core_live->define);
	if (b->pool && core_buffer_private(b))
		core_pool_destroy(b->pool);
	else if (b->pool)
		unshare_pool(b);
	drop_early(b);
	b->pool = NULL;
	b->ready = false;
	b->used = false;
}

void core_buffers_sweep(void)
{
	uint64_t retired = 0;

	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].retired &&
		    !atomic_load(&core_buffers[i].users))
			retired |= 1ull << i;
	for (uint64_t left = retired; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (core_grace_period_over(NULL, 1ull << i))
			buffer_free(&core_buffers[i]);
	}
}

void core_buffers_fork_child(void) UNCHECKED_LOCKS
{
	core_steer_fork_child();
	core_deliver_fork_child();
	core_pools_fork_child();
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		if (!b->used)
			continue;
		if (b->pool && !core_buffer_private(b))
			core_pool_destroy(b->pool); /* the parent's, shared */
		if (early_of != getpid())
			drop_early(b);
		b->pool = NULL;
		b->definitions = NULL;
		b->definitions_seq = 0;
		b->definitions_waits = 0;
		b->ready = false;
		b->refused = false;
		b->delivery = NULL;
	}
}

void core_buffer_hand_over(struct core_buffer *b)
{
	struct cap_thread *t = cap_thread_current;

	if (t && t->magic == CAP_THREAD_MAGIC)
		core_ring_close(b, &t->rings[b->index]);
}

/* Asks the reading side for a pass over everything, chunks being filled included. */
uint32_t core_buffer_flush(struct core_buffer *b)
{
	uint32_t ticket = atomic_fetch_add(&b->pool->shm->flush, 1) + 1;

	if (b->pool->reader)
		core_deliver_wake(b->pool);
	else
		shm_ring(b->pool->shm);
	return ticket;
}

kymo_status_t core_buffer_drain(struct core_buffer *b, uint64_t timeout_ns)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	struct shm_header *p = b->pool->shm;
	uint32_t ticket;

	if (core_deliver_inside(b))
		return KYMO_ERROR_BUSY;
	core_buffer_hand_over(b);
	ticket = core_buffer_flush(b);
	for (;;) {
		uint32_t served = atomic_load(&p->flushed);
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if ((int32_t)(served - ticket) >= 0)
			return KYMO_OK;
		if (core_buffer_private(b) && core_deliver_over(b))
			return KYMO_OK; /* the process ends */
		if (now >= deadline || !core_pool_reader_alive(b->pool))
			return KYMO_ERROR_TIMEOUT;
		/* Nobody wakes those who wait for a drain that has been killed. */
		futex_wait(&p->flushed, served, MIN(deadline - now, LOOK_NS));
	}
}

void core_buffers_finalize(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		if (!b->used || !b->ready || core_buffer_private(b))
			continue;
		atomic_store(&b->pool->shm->state, SHM_FINALIZED);
		shm_ring(b->pool->shm);
	}
}
