/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process that empties a shared buffer asks of this one: a thread waits for it in the
 * buffer's memory, so that nothing is asked of the program's own threads and no signal is used. It is
 * there once something is recorded, and where nothing is because the context is stopped: nobody else
 * would hear that it is to start. A process that has no runtime yet needs no thread: what was asked of
 * it meanwhile is done before its first runtime is traced.
 */
#include "base/futex.h"
#include "core/context/context.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REST_LOOKS = 10000, REST_LOOK_NS = 100000 }; /* a second */

/* By buffer; under `configure` but for `obeyed`. */
static struct {
	/*
	 * The header of what is shared, in a mapping of our own: the pool's moves when recording begins,
	 * and goes where another takes its place.
	 */
	struct shm_header *header;
	bool stale;              /* there is another */
	_Atomic uint32_t tid;    /* of the thread, while it is there */
	_Atomic uint32_t obeyed; /* the last PAUSE or RESUME, as it was asked */
} watched[CAP_BUFFERS];

static _Atomic bool resting;
static pid_t steered_in; /* the process whose threads these are */

/* Of this process: in a child that has not used Kymo yet, what is ready is the parent's. */
static bool ready(const struct core_buffer *b)
{
	return b->ready && b->pool && core_generation == (uint32_t)getpid();
}

static struct core_pool *pool_of(const struct core_buffer *b)
{
	struct core_pool *early = core_buffer_early(b);

	return early ? early : ready(b) ? b->pool : NULL;
}

/* False: nothing is asked. */
static bool obey(struct core_buffer *b, struct shm_header *p)
{
	uint32_t asked = atomic_load(&p->asked);
	kymo_steer_t what = (kymo_steer_t)SHM_ASKED_WHAT(asked);

	if (asked == atomic_load(&p->answered))
		return false;
	cap_guard_enter();
	b->desc.steer(what, b->desc.data);
	cap_guard_leave();
	if (what == KYMO_STEER_PAUSE || what == KYMO_STEER_RESUME)
		atomic_store(&watched[b->index].obeyed, asked);
	atomic_store(&p->answered, asked);
	return true;
}

/* 0 bytes of what is shared, moved, are a second mapping of it. */
static struct shm_header *map_header(const struct core_pool *p)
{
	void *m = p ? mremap(p->shm, 0, sizeof(*p->shm), MREMAP_MAYMOVE) : MAP_FAILED;

	return m == MAP_FAILED ? NULL : m;
}

static void unmap_header(uint32_t i)
{
	if (watched[i].header)
		munmap(watched[i].header, sizeof(*watched[i].header));
	watched[i].header = NULL;
	watched[i].stale = false;
}

/* What is looked at now; NULL: there is nothing any more. */
static struct shm_header *look(struct core_buffer *b)
{
	struct shm_header *h;

	pthread_mutex_lock(&core_live->configure);
	if (watched[b->index].stale)
		unmap_header(b->index);
	h = watched[b->index].header;
	if (!h) {
		h = watched[b->index].header = map_header(pool_of(b));
		if (h)
			atomic_store(&h->listening, 1);
	}
	pthread_mutex_unlock(&core_live->configure);
	return h;
}

static void let_go(struct core_buffer *b)
{
	pthread_mutex_lock(&core_live->configure);
	if (watched[b->index].header)
		atomic_store(&watched[b->index].header->listening, 0);
	unmap_header(b->index);
	b->steered = false;
	atomic_fetch_sub(&b->users, 1);
	core_buffers_sweep(); /* a buffer that was released may have waited for this */
	pthread_mutex_unlock(&core_live->configure);
}

static void listen_to(void *arg)
{
	struct core_buffer *b = arg;
	struct shm_header *h;

	atomic_store(&watched[b->index].tid, (uint32_t)syscall(SYS_gettid));
	core_usable(); /* in a child: what its tools do in children, where nothing else tells them */
	while (!atomic_load(&b->released) && !atomic_load(&resting) && (h = look(b))) {
		uint32_t asked = atomic_load(&h->asked);

		if (!obey(b, h) && !core_life_sleep(&h->asked, asked))
			break;
	}
	let_go(b);
}

/*
 * The buffer stays while somebody looks at it. False: somebody does, or nobody needs to. `now`: what
 * was asked before the buffer is used is to be done.
 */
static bool claim(struct core_buffer *b, bool now)
{
	bool yes;

	pthread_mutex_lock(&core_live->configure);
	yes = !atomic_load(&resting) && b->used && b->desc.steer && !b->steered && !b->retired &&
	      pool_of(b);
	if (yes && core_buffer_early(b))
		yes = now || (core_runtime_present() && !b->context->active);
	if (yes) { /* from here on somebody will answer, though it may not be there yet */
		atomic_store(&pool_of(b)->shm->listening, 1);
		b->steered = true;
		steered_in = getpid();
		atomic_fetch_add(&b->users, 1);
	}
	pthread_mutex_unlock(&core_live->configure);
	return yes;
}

void core_steer_start(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		if (claim(b, false) && !core_sleeper_start("control", listen_to, b))
			let_go(b); /* who asks gets no answer */
	}
}

void core_steer_start_in_child(void)
{
	if (!core_thread_notices())
		core_steer_start();
}

void core_steer_catch_up(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];
		struct shm_header *h;

		if (!core_buffer_early(b) || !claim(b, true))
			continue;
		h = look(b);
		if (h)
			obey(b, h);
		let_go(b);
	}
}

static void wake(struct shm_header *h)
{
	if (!h)
		return;
	atomic_fetch_add(&h->asked, SHM_ASKED_NEXT);
	futex_wake(&h->asked, 1);
}

void core_steer_drops(struct core_buffer *b)
{
	watched[b->index].stale = true;
	wake(watched[b->index].header);
}

void core_steer_end(struct core_buffer *b)
{
	atomic_store(&b->released, true);
	wake(watched[b->index].header);
}

void core_steer_made(const struct core_buffer *b, struct core_pool *p)
{
	uint32_t obeyed = atomic_load(&watched[b->index].obeyed);

	atomic_store(&p->shm->asked, obeyed);
	atomic_store(&p->shm->answered, obeyed);
}

/* Its thread has not said yet that it ends. */
static bool is_steered(struct core_buffer *b)
{
	bool yes;

	pthread_mutex_lock(&core_live->configure);
	yes = b->steered;
	if (yes)
		wake(watched[b->index].header);
	pthread_mutex_unlock(&core_live->configure);
	return yes;
}

static void end_thread(struct core_buffer *b)
{
	static _Atomic uint32_t never;

	for (int i = 0; i < REST_LOOKS; i++) {
		if (!is_steered(b) && !core_life_own(atomic_load(&watched[b->index].tid)))
			break;
		futex_wait(&never, 0, REST_LOOK_NS);
	}
}

void core_steer_rest(bool rests)
{
	atomic_store(&resting, rests);
	for (uint32_t i = 0; rests && i < CAP_BUFFERS; i++)
		if (is_steered(&core_buffers[i]))
			end_thread(&core_buffers[i]);
	if (!rests)
		core_steer_start();
}

void core_steer_fork_child(void)
{
	atomic_store(&resting, false);
	if (steered_in == getpid())
		return;
	steered_in = getpid();
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		unmap_header(i);
		if (b->used && b->steered)
			atomic_fetch_sub(&b->users, 1); /* the thread is the parent's */
		b->steered = false;
	}
}
