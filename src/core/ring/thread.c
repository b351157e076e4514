/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-thread state: attaching, ids, call sites, stacks, chunk changes. Everything here is off the ordinary path of a
 * traced call.
 */
#include "core/context/context.h"
#include "core/counter/counter.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/assert.h"
#include "core/define/define.h"
#include "core/deliver/deliver.h"
#include "core/marker/marker.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tally/tally.h"
#include "core/tool/tool.h"
#include "core/unwind/unwind.h"
#include "core/activity/submission.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <kymo/sample.h>

#define SLAB_THREADS 16u
#define ID_BLOCK     65536u

_Thread_local struct cap_thread *cap_thread_current __attribute__((tls_model("initial-exec")));

struct slot {
	struct cap_thread *thread;
	struct slot *next; /* free list */
	bool live;
};

struct cap_thread *core_forked;

static pthread_key_t exit_key;
static struct slot *free_slots;
static uint32_t slab_count;
static struct slot *slabs[4096];
static _Atomic uint64_t next_block = 1;
static _Atomic uint32_t next_index;
static struct core_pool *_Atomic shared_pool; /* where open calls are shown; NULL: nowhere */

/* ---- slots ---- */

static bool add_slab(void)
{
	size_t bytes = (sizeof(struct cap_thread) * SLAB_THREADS + 4095) & ~(size_t)4095;
	size_t all = bytes + sizeof(struct slot) * SLAB_THREADS;
	struct cap_thread *t =
		mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct slot *s;

	if (t == MAP_FAILED)
		return false;
	if (madvise(t, bytes, MADV_WIPEONFORK) != 0 || slab_count == 4096) {
		munmap(t, all);
		return false;
	}
	s = (struct slot *)((uint8_t *)t + bytes); /* children find these as they are */
	slabs[slab_count++] = s;
	for (uint32_t i = SLAB_THREADS; i-- > 0;) {
		s[i].thread = &t[i];
		s[i].next = free_slots;
		free_slots = &s[i];
	}
	return true;
}

static struct slot *slot_get(void)
{
	struct slot *s = NULL;

	pthread_mutex_lock(&core_live->threads);
	if (free_slots || add_slab()) {
		s = free_slots;
		kymo_assert(!s->live);
		free_slots = s->next;
	}
	pthread_mutex_unlock(&core_live->threads);
	return s;
}

void core_threads_wipe(void)
{
	for (uint32_t i = 0; i < slab_count; i++)
		for (uint32_t j = 0; j < SLAB_THREADS; j++)
			memset(slabs[i][j].thread, 0, sizeof(*slabs[i][j].thread));
}

void core_threads_each(void (*fn)(struct cap_thread *t, void *data), void *data)
{
	pthread_mutex_lock(&core_live->threads);
	for (uint32_t i = 0; i < slab_count; i++)
		for (uint32_t j = 0; j < SLAB_THREADS; j++)
			if (slabs[i][j].live)
				fn(slabs[i][j].thread, data);
	pthread_mutex_unlock(&core_live->threads);
}

struct listing {
	struct cap_thread **threads;
	size_t count, room; /* `count` is of all, also of those that there is no room for */
};

static void list_one(struct cap_thread *t, void *data)
{
	struct listing *l = data;

	if (l->count < l->room)
		l->threads[l->count] = t;
	l->count++;
}

/* Memory is not allocated under the lock: more threads may have come by the time there is some. */
bool core_threads_list(struct cap_thread ***list, size_t *count)
{
	struct listing l = {0};

	for (;;) {
		l.count = 0;
		core_threads_each(list_one, &l);
		if (l.threads && l.count <= l.room)
			break;
		free(l.threads);
		l.room = l.count + l.count / 4 + 16;
		l.threads = malloc(l.room * sizeof(struct cap_thread *));
		if (!l.threads)
			return false;
	}
	*list = l.threads;
	*count = l.count;
	return true;
}

static void slot_live(struct slot *s, bool live)
{
	pthread_mutex_lock(&core_live->threads);
	s->live = live;
	pthread_mutex_unlock(&core_live->threads);
}

/* ---- definitions of threads ---- */

/* Again at its end: it may have been named meanwhile. */
static void define_thread(const struct cap_thread *t, bool start)
{
	struct wire_def d;
	char name[32] = "";

	prctl(PR_GET_NAME, name, 0, 0, 0);
	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, t->index);
	wire_def_u64(&d, t->tid);
	wire_def_string(&d, name);
	wire_def_u64(&d, t->start);
	wire_def_u64(&d, t->tid == (uint32_t)getpid());
	wire_def_u64(&d, core_life_own(t->tid));
	cap_define(&d);
	core_objects_thread(&d, start);
}

static uint64_t ring_lost(const struct cap_thread *t)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		lost += atomic_load_explicit(&t->rings[i].lost, memory_order_relaxed);
	return lost;
}

/* Of any thread of the process that is there; 0: unknown. */
static uint64_t processor_ns(uint32_t tid)
{
	/* As the kernel makes the clock of a thread (CPUCLOCK_PERTHREAD, CPUCLOCK_SCHED). */
	clockid_t clock = (clockid_t)(~tid << 3 | 6);
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void define_thread_end(const struct cap_thread *t)
{
	struct wire_def d;

	wire_def_init(&d, DEF_THREAD_END);
	wire_def_u64(&d, t->index);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, atomic_load(&t->records));
	wire_def_u64(&d, ring_lost(t));
	wire_def_u64(&d, processor_ns(t->tid));
	cap_define(&d);
}

/* ---- attach and detach ---- */

static void share_open_calls(struct cap_thread *t)
{
	struct core_pool *pool = atomic_load(&shared_pool);
	struct shm_thread *s;

	atomic_store(&t->shared, NULL);
	if (!pool || t->index >= SHM_THREADS)
		return;
	s = core_pool_thread(pool, t->index);
	if (!s)
		return;
	s->tid = t->tid;
	s->index = t->index;
	atomic_store(&s->depth, 0);
	atomic_store(&t->shared, s);
}

static void share_one(struct cap_thread *t, void *data)
{
	share_open_calls(t);
}

/* Level of arguments that goes into the shared buffer of the first context that has one. */
uint32_t core_shared_arguments(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && !core_buffer_private(&core_buffers[i]))
			return cap_args_of[i];
	return 0;
}

struct core_pool *core_shared_pool(void)
{
	return shared_pool;
}

void core_threads_share(struct core_pool *pool)
{
	shared_pool = pool;
	core_threads_each(share_one, NULL);
}

static void leave(struct slot *s)
{
	struct cap_thread *t = s->thread;
	struct shm_thread *shared;

	kymo_assert(t == cap_thread_current);
	core_unwind_all(t);
	counter_thread_end();
	core_life_thread_ends();
	core_marker_thread_end(t);
	define_thread(t, false);
	pthread_mutex_lock(&core_live->tallies);
	cap_read_lock(t);
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		/* Who frees a retired one has looked for threads that are busy before it goes. */
		if (!b->used || !b->ready || b->retired)
			continue;
		core_ring_close(b, &t->rings[i]);
		if (core_buffer_private(b))
			core_deliver_lost(b, t->index, atomic_exchange(&t->rings[i].lost, 0));
		if (b->desc.tally)
			core_tally_fold(t);
		if (t->tally_buffer == i + 1)
			core_tally_close(t, b);
	}
	cap_read_unlock(t);
	core_tally_release(t);
	core_left_out_release(t);
	pthread_mutex_unlock(&core_live->tallies);
	define_thread_end(t);
	cap_thread_current = NULL;
	slot_live(s, false);
	core_externals_release(t);
	core_words_release(t);
	free(t->scratch);
	shared = atomic_load(&t->shared);
	if (shared) {
		atomic_store(&shared->depth, 0);
		shared->tid = 0;
	}
	pthread_mutex_lock(&core_live->threads);
	memset(t, 0, sizeof(*t));
	s->next = free_slots;
	free_slots = s;
	pthread_mutex_unlock(&core_live->threads);
}

/* A handler comes before or after: what it records would wait for its own thread. */
static void detach(void *arg)
{
	struct slot *s = arg;
	uint64_t before;

	if (!core_usable() || s->thread->magic != CAP_THREAD_MAGIC)
		return;
	core_signals_block(&before);
	leave(s);
	core_signals_restore(&before);
}

void core_threads_init(void)
{
	pthread_key_create(&exit_key, detach);
	add_slab(); /* the program may give up what that takes before its first call */
}

static struct cap_thread *attach(void)
{
	struct slot *s = slot_get();
	struct cap_thread *t;

	if (!s)
		return NULL;
	t = s->thread;
	memset(t, 0, sizeof(*t));
	t->index = atomic_fetch_add(&next_index, 1) + 1;
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->start = tick_now();
	t->scope = 0;
	t->next_id = t->id_end = t->id_limit = 0;
	atomic_init(&t->paused, atomic_load(&core_paused_first));
	share_open_calls(t);
	t->magic = CAP_THREAD_MAGIC;
	slot_live(s, true);
	cap_thread_current = t;
	pthread_setspecific(exit_key, s);
	t->guard++;
	define_thread(t, true);
	if (cap_unlikely(t->magic != CAP_THREAD_MAGIC)) /* a tool has forked */
		return cap_thread_attach();
	t->guard--;
	return t;
}

struct cap_thread *cap_thread_attach(void)
{
	struct cap_thread *t;
	int saved = errno;
	uint64_t before;

	if (!core_usable()) /* which may be what attaches it, in a child */
		return NULL;
	t = cap_thread_current;
	if (t && t->magic == CAP_THREAD_MAGIC)
		return t;
	core_signals_block(&before);
	t = attach();
	core_signals_restore(&before);
	errno = saved;
	return t;
}

void core_lost_without_thread(void)
{
	struct core_pool *pool = core_usable() ? shared_pool : NULL;

	if (pool)
		core_pool_lose(pool, 1, true);
}

struct cap_thread *core_thread_for_call(uint64_t buffers)
{
	struct cap_timed spent;
	struct cap_thread *t;

	core_spent_begin(&spent);
	t = cap_thread_attach();
	if (t)
		core_spent_end(&spent);
	else if (buffers)
		core_lost_without_thread();
	return t;
}

uint64_t core_tick_span(uint64_t ticks)
{
	if (tick_source_chosen == TICK_MONOTONIC_RAW)
		return ticks;
	return (uint64_t)((double)ticks * (1e9 / (double)tick_rate()));
}

/* Defining takes a lock that comes before that of the threads, so they are listed first. */
void core_threads_end_all(void)
{
	struct cap_thread **list;
	size_t count;

	if (!core_threads_list(&list, &count))
		return;
	for (size_t i = 0; i < count; i++)
		define_thread_end(list[i]);
	free(list);
}

/* ---- ids ---- */

/* The next id at which a call's cost is measured, or a new block is needed. */
static void ids_limit(struct cap_thread *t)
{
	uint32_t step = core_overhead_step(t);

	cap_read_lock(t); /* a signal's handler takes none meanwhile */
	if (t->next_id >= t->id_end) {
		t->next_id = atomic_fetch_add(&next_block, ID_BLOCK);
		t->id_end = t->next_id + ID_BLOCK;
	}
	t->id_limit = t->id_end - t->next_id > step ? t->next_id + step : t->id_end;
	cap_read_unlock(t);
}

void cap_ids_refill(struct cap_thread *t)
{
	ids_limit(t);
}

void cap_ids_sample(struct cap_thread *t, struct cap_frame *f)
{
	core_overhead_sample(t, f);
	ids_limit(t);
	t->cost.id = t->next_id;
	t->cost.tick = tick_now();
}

uint64_t cap_current_id(void)
{
	struct cap_thread *t = cap_thread_current;

	return t && t->magic == CAP_THREAD_MAGIC ? t->current : 0;
}

void cap_guard_enter(void)
{
	struct cap_thread *t = cap_thread_current;

	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC))
		t = cap_thread_attach();
	if (t)
		t->guard++;
}

void cap_guard_leave(void)
{
	struct cap_thread *t = cap_thread_current;

	if (t && t->guard)
		t->guard--;
}

/* ---- call sites and stacks: interned, defined once ---- */

/* By hash of what they are of (a site's is its address): 2 x id, plus 1 once it is defined. */
static struct map sites, stacks;

/*
 * Id of the key; *fresh: the caller must define it, and then say so. Until it is defined that is true of
 * everybody: no record may refer to what another thread was killed over. 0: no memory.
 */
static uint32_t intern(struct map *m, uint64_t hash, bool *fresh)
{
	uint64_t known;

	pthread_mutex_lock(&core_live->threads);
	known = map_get(m, hash);
	if (!known) {
		known = 2 * ((uint64_t)m->count + 1);
		if (!map_set(m, hash, known))
			known = 0;
	}
	pthread_mutex_unlock(&core_live->threads);
	*fresh = !(known & 1);
	return (uint32_t)(known / 2);
}

/* False: somebody else was quicker. */
static bool intern_defined(struct map *m, uint64_t hash)
{
	uint64_t known;

	pthread_mutex_lock(&core_live->threads);
	known = map_get(m, hash);
	kymo_assert(known); /* intern() gave it */
	map_set(m, hash, known | 1);
	pthread_mutex_unlock(&core_live->threads);
	return !(known & 1);
}

/*
 * Sites that are defined, to be found without the lock: from the place on that an address hashes to. Where there is no room
 * the lock is taken. Written under it.
 */
#define SITES_KNOWN  32768u
#define SITES_PROBES 16u

static struct known_site {
	_Atomic uintptr_t address;
	uint32_t id;
} * _Atomic known_sites; /* SITES_KNOWN */

static struct known_site *known_site(struct known_site *known, uintptr_t address, unsigned probe)
{
	return &known[(hash_u64(address) + probe) % SITES_KNOWN];
}

static uint32_t find_site(uintptr_t address)
{
	struct known_site *known = atomic_load_explicit(&known_sites, memory_order_acquire);

	for (unsigned i = 0; known && i < SITES_PROBES; i++) {
		struct known_site *k = known_site(known, address, i);
		uintptr_t there = atomic_load_explicit(&k->address, memory_order_acquire);

		if (there == address)
			return k->id;
		if (!there)
			break;
	}
	return 0;
}

static struct known_site *sites_to_know(void) REQUIRES(core_live->threads)
{
	struct known_site *known = atomic_load_explicit(&known_sites, memory_order_relaxed);

	if (known)
		return known;
	known = mmap(NULL, SITES_KNOWN * sizeof(*known), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (known == MAP_FAILED)
		return NULL;
	atomic_store_explicit(&known_sites, known, memory_order_release);
	return known;
}

static void know_site(uintptr_t address, uint32_t id)
{
	struct known_site *known;

	pthread_mutex_lock(&core_live->threads);
	known = sites_to_know();
	for (unsigned i = 0; known && i < SITES_PROBES; i++) {
		struct known_site *k = known_site(known, address, i);
		uintptr_t there = atomic_load_explicit(&k->address, memory_order_relaxed);

		if (there && there != address)
			continue;
		k->id = id;
		atomic_store_explicit(&k->address, address, memory_order_release);
		break;
	}
	pthread_mutex_unlock(&core_live->threads);
}

static uint32_t define_site(uintptr_t address)
{
	uint64_t before;
	bool fresh;
	uint32_t id;

	core_define_modules();
	core_signals_block(&before);
	id = intern(&sites, address, &fresh);
	if (id && fresh) {
		struct wire_def d;

		wire_def_init(&d, DEF_SITE);
		wire_def_u64(&d, id);
		wire_def_u64(&d, address);
		cap_define(&d);
		intern_defined(&sites, address);
	}
	if (id)
		know_site(address, id);
	core_signals_restore(&before);
	return id;
}

uint32_t cap_site_slow(struct cap_thread *t, uintptr_t address)
{
	unsigned h = cap_site_slot(address);
	int saved = errno;
	uint32_t id;

	if (!address)
		return 0;
	id = find_site(address);
	if (!id)
		id = define_site(address);
	/* A handler that leaves here must not leave one's number with another's address. */
	t->sites[h].address = 0;
	atomic_signal_fence(memory_order_seq_cst);
	t->sites[h].id = id;
	atomic_signal_fence(memory_order_seq_cst);
	t->sites[h].address = address;
	errno = saved;
	return id;
}

#define STACK_MAX  KYMO_SAMPLE_DEPTH
#define STACK_SKIP 2  /* where the call's address is not known: two of Kymo's own */
#define STACK_OWN  16 /* no more frames are Kymo's own */
#define STACK_ROOM (STACK_MAX + STACK_OWN)

struct found_stack {
	uint64_t addresses[STACK_ROOM];
	uint32_t begin, count; /* of the program's frames */
	enum stack_end end;
};

/* Where the program's frames begin, which is where the call returns to. */
static uint32_t stack_begin(const uint64_t *addresses, uint32_t n, const void *caller)
{
	for (uint32_t i = 0; caller && i < n && i < STACK_OWN; i++)
		if (addresses[i] == (uint64_t)(uintptr_t)caller)
			return i;
	return n < STACK_SKIP ? n : STACK_SKIP;
}

#if defined(__x86_64__)
/* The first address is in core_stack_here(). */
static inline __attribute__((always_inline)) uint32_t addresses_here(struct found_stack *s)
{
	struct unwind_registers r;
	const void *known;

	unwind_look();
	UNWIND_HERE(r);
	known = core_stack_end((const void *)(uintptr_t)r.sp);
	return unwind_stack(&r, (uint64_t)(uintptr_t)known, s->addresses, STACK_ROOM, &s->end);
}
#else
static inline __attribute__((always_inline)) uint32_t addresses_here(struct found_stack *s)
{
	_Static_assert(sizeof(void *) == sizeof(*s->addresses), "addresses are of 64 bits");
	s->end = STACK_UNKNOWN;
	return (uint32_t)backtrace((void **)(void *)s->addresses, STACK_ROOM);
}
#endif

static inline __attribute__((always_inline)) void find_stack(struct found_stack *s,
							     const void *caller)
{
	uint32_t n = addresses_here(s);

	s->begin = stack_begin(s->addresses, n, caller);
	s->count = n - s->begin;
	if (s->count > STACK_MAX) {
		s->count = STACK_MAX;
		s->end = STACK_DEPTH;
	}
}

static uint64_t hash_of(const struct found_stack *s)
{
	uint64_t hash = hash_mix(HASH_START, s->end);

	for (uint32_t i = 0; i < s->count; i++)
		hash = hash_mix(hash, s->addresses[s->begin + i]);
	return hash;
}

static void define_stack(uint32_t id, const struct found_stack *s)
{
	struct wire_def d;

	wire_def_init(&d, DEF_STACK);
	wire_def_u64(&d, id);
	wire_def_bytes(&d, &s->addresses[s->begin], s->count * sizeof(*s->addresses));
	wire_def_u64(&d, s->end);
	cap_define(&d);
}

uint32_t core_stack_here(struct cap_thread *t, const void *caller)
{
	struct found_stack s;
	int saved = errno;
	uint64_t before;
	bool fresh;
	uint64_t hash;
	uint32_t id;

	core_signals_block(&before);
	t->guard++;
	find_stack(&s, caller);
	hash = hash_of(&s);
	id = s.count ? intern(&stacks, hash, &fresh) : 0;
	if (id && fresh) {
		core_define_modules();
		define_stack(id, &s);
		if (intern_defined(&stacks, hash))
			core_stack_defined(id, &s.addresses[s.begin], s.count);
	}
	t->guard--;
	core_signals_restore(&before);
	errno = saved;
	return id;
}

_Atomic uint32_t cap_slow_features;

void core_sites_fork_child(void)
{
	/* Slots of the parent's threads read zero; ids and definitions start anew. */
	for (uint32_t i = 0; i < slab_count; i++) {
		for (uint32_t j = 0; j < SLAB_THREADS; j++) {
			struct slot *s = &slabs[i][j];

			if (!s->live)
				continue;
			s->live = false;
			/* Wrappers on this thread's stack may still look at their frames. */
			if (s->thread == core_forked || s->thread == cap_thread_current)
				continue;
			s->next = free_slots;
			free_slots = s;
		}
	}
	/* After a raw clone no handler has run: the pointer still names the parent's slot. */
	cap_thread_current = NULL;
	shared_pool = NULL;
	sites = stacks = (struct map){0}; /* the parent's memory stays: it may be changing */
	if (known_sites)
		munmap(known_sites, SITES_KNOWN * sizeof(*known_sites));
	known_sites = NULL;
	atomic_store(&next_index, 0);
	atomic_store(&next_block, 1);
}

/* ---- rings ---- */

/* The first thread's answer serves all. */
static uint64_t process_pointer_base(void)
{
	static _Atomic uint64_t base;
	uint64_t known = atomic_load_explicit(&base, memory_order_relaxed), found;
	void *p;

	if (known)
		return known;
	p = malloc(16);
	found = (uint64_t)(uintptr_t)p & ~0xffffffffull;
	free(p);
	return atomic_compare_exchange_strong(&base, &known, found) ? found : known;
}

_Atomic uint64_t core_paused_first;

static uint8_t *limit_of(const struct core_buffer *b, struct wire_chunk *c)
{
	return (uint8_t *)c + b->pool->chunk_size - WIRE_RECORD_MAX - WIRE_SLACK;
}

void core_ring_hide(struct wire_ring *r)
{
	r->limit = NULL;
}

/* False: there was no room in it. */
static bool ring_show(const struct core_buffer *b, struct wire_ring *r)
{
	if (!r->chunk || r->limit)
		return false;
	r->limit = limit_of(b, r->chunk);
	return cap_room(r);
}

void core_ring_close(struct core_buffer *b, struct wire_ring *r)
{
	size_t offset;

	if (!r->chunk || !b->pool)
		return;
	offset = (size_t)((uint8_t *)r->chunk - b->pool->chunks);
	kymo_assert(offset % b->pool->chunk_size == 0 &&
		    offset / b->pool->chunk_size < b->pool->chunk_max);
	r->cur = r->limit = NULL;
	r->chunk = NULL;
	core_pool_put(b->pool, (uint32_t)(offset / b->pool->chunk_size));
}

static void forget_ring(struct cap_thread *t, void *data)
{
	uint32_t slot = *(uint32_t *)data;

	if (t->tally_buffer == slot + 1)
		core_tally_release(t);
	memset(&t->rings[slot], 0, sizeof(t->rings[slot]));
	atomic_fetch_and(&t->paused, ~(1ull << slot));
}

void core_rings_forget(uint32_t slot)
{
	atomic_fetch_and(&core_paused_first, ~(1ull << slot));
	core_threads_each(forget_ring, &slot);
}

static void pause_ring(struct cap_thread *t, void *data)
{
	atomic_fetch_or(&t->paused, 1ull << *(uint32_t *)data);
}

void core_rings_pause(uint32_t slot)
{
	atomic_fetch_or(&core_paused_first, 1ull << slot);
	core_threads_each(pause_ring, &slot);
}

/* Calls that have returned and are being recorded are not open. */
static void fill_open_calls(const struct cap_thread *t, struct wire_chunk *c)
{
	uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed), n = 0;

	for (uint32_t i = 0; i < depth; i++) {
		const struct cap_frame *f = &t->frames[i];

		if (f->end)
			continue;
		if (n < WIRE_OPEN_MAX)
			c->open[n] = (struct wire_open){f->id, f->start, f->op->wire, f->site};
		n++;
	}
	c->open_depth = n;
}

/* Whatever call of the thread is not yet recorded can be the chunk's; others begin later. */
static void fill_early(const struct cap_thread *t, struct wire_chunk *c)
{
	uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

	atomic_store_explicit(&c->early, WIRE_EARLY_SAID, memory_order_relaxed);
	for (uint32_t i = 0; i < depth; i++)
		wire_chunk_early(c, t->frames[i].start);
}

static void ring_begin(const struct cap_thread *t, struct core_buffer *b, struct wire_ring *r,
		       uint32_t chunk, enum wire_chunk_type type)
{
	struct wire_chunk *c = core_chunk(b->pool, chunk);

	if (!r->last_tick) {
		r->last_tick = t->start;
		r->next_id = t->next_id ? t->next_id - 1 : 0;
	}
	/* `committed` is zero already, and the reading side may look at it. */
	memset(c, 0, offsetof(struct wire_chunk, committed));
	memset(&c->seq, 0, sizeof(*c) - offsetof(struct wire_chunk, seq));
	c->magic = WIRE_CHUNK_MAGIC;
	c->version = WIRE_VERSION;
	c->header_size = sizeof(*c);
	c->type = type;
	c->thread = t->index;
	c->tid = t->tid;
	c->seq = r->seq++;
	c->base_tick = r->last_tick;
	c->next_id = r->next_id;
	c->scope = r->scope;
	c->external = r->external;
	c->pointer_base = r->pointer_base = process_pointer_base();
	c->lost = atomic_exchange_explicit(&r->lost, 0, memory_order_relaxed);
	fill_open_calls(t, c);
	fill_early(t, c);
	atomic_store_explicit(&c->committed, sizeof(*c), memory_order_release);
	r->chunk = c;
	r->cur = (uint8_t *)(c + 1);
	r->limit = limit_of(b, c);
}

bool core_ring_open(struct cap_thread *t, struct core_buffer *b, struct wire_ring *r,
		    enum wire_chunk_type type)
{
	uint64_t wait = b->desc.policy == KYMO_POLICY_BLOCK ? b->desc.block_ns : 0;
	uint32_t chunk;

	/* A reader that does not keep up is waited for once a chunk, not once a record. */
	if (atomic_load_explicit(&r->lost, memory_order_relaxed) % 1024)
		wait = 0;
	chunk = core_pool_get(b->pool, SHM_LIST_RECORDS, wait);
	if (chunk == SHM_NONE)
		return false;
	ring_begin(t, b, r, chunk, type);
	return true;
}

struct wire_ring *cap_ring_slow(struct cap_thread *t, uint64_t buffers)
{
	struct core_buffer *b = &core_buffers[__builtin_ctzll(buffers)];
	struct wire_ring *r = &t->rings[b->index];
	int saved = errno;
	struct cap_timed timed;
	uint64_t before;
	bool ok;

	if (!b->ready || atomic_load_explicit(&t->paused, memory_order_relaxed) >> b->index & 1)
		return NULL;
	if (ring_show(b, r))
		return r;
	core_signals_block(&before);
	cap_timed_begin(&timed);
	core_ring_close(b, r);
	ok = core_ring_open(t, b, r, WIRE_CHUNK_RECORDS);
	cap_timed_end(&timed, UINT64_MAX);
	core_signals_restore(&before);
	if (!ok) {
		atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
		core_pool_lose(b->pool, 1,
			       atomic_load_explicit(&b->pool->no_memory, memory_order_relaxed));
	}
	errno = saved;
	return ok ? r : NULL;
}
