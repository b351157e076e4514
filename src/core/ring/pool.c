/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of chunks. Memory is reserved and touched before a record is written into it: a sparse
 * mapping would kill the program with SIGBUS when memory runs out, and a first touch costs more
 * than a record. A pool starts small and grows in steps up to its limit. What threads are filling, or
 * left with little in it, is no data on its way to the drain: when it is half of the pool, the pool grows
 * by a chunk for each such chunk more. So neither many threads nor many short ones lose anything.
 */
#include "base/futex.h"
#include "base/assert.h"
#include "core/deliver/deliver.h"
#include "core/ring/ring.h"
#include "wire/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GROW_CHUNKS   64u /* 2 MiB */
#define KEEP_BACK     8u  /* chunks only definitions may use */
#define WAKE_CHUNKS   8u
#define WAKE_SHARED   32u /* a drain is another process: each wake-up costs some 20 us */
#define READER_DEAD_S 5u
#define LOOK_NS       50000000u /* longest sleep without looking whether the drain lives */
#define GROW_LOOK_NS  50000u    /* sleep while another thread makes the pool larger */

static size_t page_up(size_t n)
{
	return (n + 4095) & ~(size_t)4095;
}

/*
 * Lets the kernel write the word at `p` and sets it to zero: the kernel says so when there is no
 * memory, where a store of ours would kill the program.
 */
static bool touch_word(void *p)
{
	if (syscall(SYS_getcpu, p, NULL, NULL) != 0)
		return false;
	*(volatile uint32_t *)p = 0;
	return true;
}

/*
 * Backs whole pages that nobody uses yet with memory that is there to stay. MADV_POPULATE_WRITE
 * (Linux 5.14, and a sandbox may refuse it) reports that there is none instead of killing.
 */
static bool back(void *from, size_t bytes)
{
	bool ok = false;
	int saved = errno;

#ifdef MADV_POPULATE_WRITE
	ok = madvise(from, bytes, MADV_POPULATE_WRITE) == 0;
	if (!ok && errno != EINVAL && errno != EPERM && errno != ENOSYS && errno != EACCES)
		bytes = 0;
#endif
	for (size_t at = 0; !ok && at < bytes; at += 4096) {
		if (!touch_word((uint8_t *)from + at))
			break;
		ok = at + 4096 >= bytes;
	}
	errno = saved;
	return ok;
}

static bool reserve(const struct core_pool *p, uint32_t from, uint32_t to)
{
	return back(core_chunk(p, from), (size_t)(to - from) * p->chunk_size);
}

/* The same by hand, over memory that fallocate() has reserved. */
static void touch(const struct core_pool *p, uint32_t from, uint32_t to)
{
	volatile uint8_t *c = p->chunks;

	for (size_t i = (size_t)from * p->chunk_size; i < (size_t)to * p->chunk_size; i += 4096)
		c[i] = 0;
}

static void add_chunks(struct core_pool *p, uint32_t from, uint32_t to)
{
	atomic_store_explicit(&p->chunk_count, to, memory_order_release);
	atomic_store_explicit(&p->shm->chunk_count, to, memory_order_release);
	for (uint32_t i = to; i-- > from;) {
		enum shm_list list = i < p->kept_back ? SHM_LIST_DEFINITIONS : SHM_LIST_RECORDS;

		p->ctl[i].list = list;
		shm_push(p->shm, p->ctl, i, list);
	}
}

static _Atomic bool growing;

/* The memfd is closed once it is shared, so growth works through the mapping alone. */
static bool grow(struct core_pool *p)
{
	uint32_t from, to, most;
	bool ok = false;

	if (atomic_exchange(&growing, true))
		return true; /* another thread is at it */
	from = atomic_load(&p->chunk_count);
	most = from < p->size ? p->size : p->chunk_max;
	to = from + GROW_CHUNKS < most ? from + GROW_CHUNKS : most;
	if (to > from) {
		ok = reserve(p, from, to);
		atomic_store_explicit(&p->no_memory, !ok, memory_order_relaxed);
		if (ok)
			add_chunks(p, from, to);
	}
	atomic_store(&growing, false);
	return ok;
}

/* Where the parts of a pool of so many chunks lie. */
struct layout {
	size_t ctl, threads, chunks, bytes;
};

static struct layout layout_of(uint32_t chunks)
{
	struct layout l = {.ctl = page_up(sizeof(struct shm_header))};

	l.threads = page_up(l.ctl + chunks * sizeof(struct shm_chunk_ctl));
	l.chunks = page_up(l.threads + SHM_THREADS * sizeof(struct shm_thread));
	l.bytes = l.chunks + (size_t)chunks * CORE_CHUNK_BYTES;
	return l;
}

/* For the drain. */
static void fill_header(const struct core_pool *p, const struct layout *l)
{
	struct shm_header *h = p->shm;

	h->magic = SHM_MAGIC;
	h->version = SHM_VERSION;
	h->header_size = sizeof(*h);
	h->bytes = l->bytes;
	h->ctl_offset = l->ctl;
	h->threads_offset = l->threads;
	h->chunks_offset = l->chunks;
	h->chunk_size = p->chunk_size;
	h->chunk_max = p->chunk_max;
	h->kept_back = p->kept_back;
	h->pid = (uint32_t)getpid();
	h->wake_threshold = p->wake_threshold;
	atomic_store(&h->free_list[0], SHM_NONE);
	atomic_store(&h->free_list[1], SHM_NONE);
}

/* Memory for the pages up to `bytes`, addresses up to `mapped`, sparse up to `total`. */
static struct shm_header *map_pool(size_t bytes, size_t mapped, size_t total, int *fd)
{
	struct shm_header *h;

	if (fd) {
		*fd = memfd_create("kymo", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (*fd < 0)
			return NULL;
		if (ftruncate(*fd, (off_t)total) != 0 || fallocate(*fd, 0, 0, (off_t)bytes) != 0) {
			close(*fd);
			return NULL;
		}
	}
	if (fd) /* the drain may trust the size */
		fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	h = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		 fd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd ? *fd : -1, 0);
	if (h != MAP_FAILED)
		return h;
	if (fd)
		close(*fd);
	return NULL;
}

/*
 * A memfd beyond the program's RLIMIT_FSIZE would end the program with SIGXFSZ: takes as many
 * chunks as the limit allows, 0 if those are too few to work with.
 */
static uint32_t within_file_size_limit(uint32_t chunks)
{
	struct rlimit limit;
	size_t total = layout_of(chunks).bytes, excess;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    total <= limit.rlim_cur)
		return chunks;
	excess = (total - (size_t)limit.rlim_cur + CORE_CHUNK_BYTES - 1) / CORE_CHUNK_BYTES;
	/* Fewer chunks need no more room for the header, so this fits. */
	if (excess + 2 * KEEP_BACK <= chunks)
		return chunks - (uint32_t)excess;
	errno = EFBIG; /* which is the reason that is told */
	return 0;
}

/*
 * Where addresses are rationed most are the program's, and the drain, under the same limit perhaps,
 * maps what several processes share.
 */
static uint32_t within_address_limit(uint32_t chunks)
{
	size_t total = layout_of(chunks).bytes, excess;
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    total <= limit.rlim_cur / 8)
		return chunks;
	excess = (total - (size_t)limit.rlim_cur / 8 + CORE_CHUNK_BYTES - 1) / CORE_CHUNK_BYTES;
	return excess + 2 * KEEP_BACK <= chunks ? chunks - (uint32_t)excess : 2 * KEEP_BACK;
}

/* By mmap(): a forked child lets it go, where malloc() may be locked for good. */
static struct core_pool *pool_new(uint32_t size, uint32_t chunks)
{
	size_t own = page_up(sizeof(struct core_pool) + chunks * sizeof(_Atomic bool));
	struct core_pool *p =
		mmap(NULL, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p->own = own;
	p->chunk_size = CORE_CHUNK_BYTES;
	p->chunk_max = chunks;
	p->size = size;
	return p;
}

/* Chunks handed over that are worth waking who takes them; most of the pool is left meanwhile. */
static uint32_t wake_threshold(uint32_t size, bool shared)
{
	uint32_t few = WAKE_CHUNKS < size / 2 ? WAKE_CHUNKS : size / 2, n = size / 8;

	if (!shared || n < few)
		return few;
	return n < WAKE_SHARED ? n : WAKE_SHARED;
}

static void place(struct core_pool *p, struct shm_header *shm, size_t mapped,
		  const struct layout *l)
{
	p->shm = shm;
	p->mapped = mapped;
	p->ctl = (struct shm_chunk_ctl *)((uint8_t *)shm + l->ctl);
	p->threads = (struct shm_thread *)((uint8_t *)shm + l->threads);
	p->chunks = (uint8_t *)shm + l->chunks;
}

/* Early: memory for the header, addresses for the first chunks. */
static bool pool_map(struct core_pool *p, uint32_t first, int *memfd, bool early)
{
	struct layout l = layout_of(p->chunk_max);
	size_t some = l.chunks + (size_t)first * p->chunk_size, mapped = early ? some : l.bytes;
	struct shm_header *shm = map_pool(early ? l.ctl : some, mapped, l.bytes, memfd);

	if (!shm)
		return false;
	p->total = l.bytes;
	place(p, shm, mapped, &l);
	fill_header(p, &l);
	return true;
}

static uint32_t first_chunks(uint32_t size)
{
	return GROW_CHUNKS < size ? GROW_CHUNKS : size;
}

static struct core_pool *create(uint32_t size, uint32_t chunks, int *memfd, bool early)
{
	uint32_t first = first_chunks(size);
	struct core_pool *p = pool_new(size, chunks);

	if (!p)
		return NULL;
	p->kept_back = memfd ? KEEP_BACK : 0; /* private buffers hold no definitions */
	p->wake_threshold = wake_threshold(size, memfd != NULL);
	if (!pool_map(p, first, memfd, early)) {
		munmap(p, p->own);
		return NULL;
	}
	if (early)
		return p;
	if (!reserve(p, 0, first))
		touch(p, 0, first);
	add_chunks(p, 0, first);
	return p;
}

/*
 * Chunks for threads beyond the pool's size: addresses, which become memory when threads come. Where
 * addresses are rationed they are the program's.
 */
static uint32_t for_threads(uint32_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
		return 0;
	return SHM_CHUNK_MAX - size < SHM_THREADS ? SHM_CHUNK_MAX - size : SHM_THREADS;
}

static struct core_pool *create_shared(uint64_t bytes, int *memfd, bool early)
{
	uint64_t wanted = bytes / CORE_CHUNK_BYTES;
	uint32_t chunks = wanted < 2 * KEEP_BACK   ? 2 * KEEP_BACK
			  : wanted > SHM_CHUNK_MAX ? SHM_CHUNK_MAX
						   : (uint32_t)wanted;
	struct core_pool *p;
	uint32_t most;

	if (!memfd)
		return create(chunks, chunks, NULL, false);
	chunks = within_address_limit(chunks);
	most = within_file_size_limit(chunks + for_threads(chunks));
	if (most == 0)
		return NULL;
	if (most <= chunks)
		return create(most, most, memfd, early);
	p = create(chunks, most, memfd, early);
	return p ? p : create(chunks, chunks, memfd, early);
}

struct core_pool *core_pool_create(uint64_t bytes, int *memfd)
{
	return create_shared(bytes, memfd, false);
}

struct core_pool *core_pool_prepare(uint64_t bytes, int *memfd)
{
	return create_shared(bytes, memfd, true);
}

/* The program may have limited its addresses since: then it does with those of the first chunks. */
static void extend(struct core_pool *p)
{
	struct layout l = layout_of(p->chunk_max);
	uint32_t most = p->size + for_threads(p->size);
	int saved = errno;
	size_t bytes;
	void *m;

	most = most < p->chunk_max ? most : p->chunk_max;
	bytes = l.chunks + (size_t)most * p->chunk_size;
	m = bytes > p->mapped ? mremap(p->shm, p->mapped, bytes, MREMAP_MAYMOVE) : MAP_FAILED;
	if (m != MAP_FAILED)
		place(p, m, bytes, &l);
	else
		most = (uint32_t)((p->mapped - l.chunks) / p->chunk_size);
	p->chunk_max = most;
	p->size = p->size < most ? p->size : most;
	errno = saved;
}

void core_pool_begin(struct core_pool *p)
{
	uint32_t first = first_chunks(p->size);

	extend(p);
	if (back(p->ctl, (size_t)((uint8_t *)p->threads - (uint8_t *)p->ctl)) &&
	    reserve(p, 0, first))
		add_chunks(p, 0, first);
	else {
		p->chunk_max = p->size = 0; /* every record is lost, and counted */
		atomic_store_explicit(&p->no_memory, true, memory_order_relaxed);
	}
}

void core_pool_trim(struct core_pool *p)
{
	const int saved = errno;
	uint32_t most;
	size_t bytes;

	if (atomic_exchange(&growing, true))
		return;
	most = atomic_load(&p->chunk_count);
	most = most > p->size ? most : p->size;
	bytes = (size_t)(p->chunks - (uint8_t *)p->shm) + (size_t)most * p->chunk_size;
	if (p->mapped > bytes && most < p->chunk_max) {
		p->chunk_max = most;
		munmap((uint8_t *)p->shm + bytes, p->mapped - bytes);
		p->mapped = bytes;
	}
	atomic_store(&growing, false);
	errno = saved;
}

uint64_t core_pool_missing(const struct core_pool *p)
{
	const size_t bytes =
		(size_t)(p->chunks - (uint8_t *)p->shm) + (size_t)p->size * p->chunk_size;

	return bytes > p->mapped ? bytes - p->mapped : 0;
}

void core_pool_lose(struct core_pool *p, uint64_t records, bool memory)
{
	/* Who reads the part first never finds it more than the whole. */
	atomic_fetch_add_explicit(&p->shm->lost_records, records, memory_order_release);
	if (memory)
		atomic_fetch_add_explicit(&p->shm->no_memory_records, records,
					  memory_order_release);
}

/* A slot may lie in two pages, which others may use already. */
struct shm_thread *core_pool_thread(const struct core_pool *p, uint32_t index)
{
	struct shm_thread *s = &p->threads[index];
	int saved = errno;
	bool ok = touch_word(&s->reserved) && touch_word((uint32_t *)(s + 1) - 1);

	errno = saved;
	return ok ? s : NULL;
}

/* Zero from now on, and nobody else's. Where that cannot be done it stays as it is. */
static void detach(void *from, size_t bytes)
{
	(void)mmap(from, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void core_pool_abandon(struct core_pool *p)
{
	size_t header = (size_t)(p->chunks - (uint8_t *)p->shm);
	uint32_t count = (uint32_t)((p->mapped - header) / p->chunk_size), end;
	int saved = errno;

	detach(p->shm, header);
	for (uint32_t i = 0; i < count; i = end) {
		bool stays = p->use[i] == CORE_CHUNK_MINE;
		size_t bytes;

		for (end = i + 1; end < count && (p->use[end] == CORE_CHUNK_MINE) == stays; end++)
			;
		bytes = (size_t)(end - i) * p->chunk_size;
		if (stays)
			detach(core_chunk(p, i), bytes);
		else
			munmap(core_chunk(p, i), bytes);
	}
	errno = saved;
}

void core_pool_destroy(struct core_pool *p)
{
	munmap(p->shm, p->mapped);
	munmap(p, p->own);
}

/* The kernel says so at once. Another drain may be about to go on in its place: then the beat
 * tells. */
bool core_pool_reader_ended(const struct core_pool *pool)
{
	const struct shm_header *h = pool->shm;

	if (atomic_load_explicit(&h->drain_failed, memory_order_relaxed))
		return true;
	return atomic_load_explicit(&h->drain_life, memory_order_relaxed) & FUTEX_OWNER_DIED &&
	       !atomic_load_explicit(&h->drain_kept, memory_order_relaxed);
}

/* Has taken the memory, and takes up its work again if it is stopped. */
bool core_pool_reader_there(const struct core_pool *pool)
{
	if (!atomic_load_explicit(&pool->shm->drain_life, memory_order_acquire))
		return core_pool_reader_alive(pool);
	return !core_pool_reader_ended(pool);
}

bool core_pool_reader_alive(const struct core_pool *pool)
{
	uint64_t beat = atomic_load_explicit(&pool->shm->drain_beat, memory_order_relaxed);

	/* The beat is for drains that are stopped, and old kernels. */
	if (core_pool_reader_ended(pool))
		return false;
	return beat + READER_DEAD_S >= clock_ns(CLOCK_MONOTONIC) / 1000000000u;
}

/* False: a thread of this process is filling it. */
static bool take_use(struct core_pool *p, uint32_t i)
{
	uint8_t before = atomic_exchange(&p->use[i], CORE_CHUNK_MINE);

	if (before == CORE_CHUNK_LIGHT)
		atomic_fetch_sub_explicit(&p->held, 1, memory_order_relaxed);
	return before != CORE_CHUNK_MINE;
}

/*
 * The list is written by the drain, too: a number that it holds may be that of a chunk which a thread
 * of this process is filling. Such a chunk is left to its thread, and found by nobody else.
 */
static uint32_t pop_list(struct core_pool *p, enum shm_list list)
{
	for (uint32_t tries = 0; tries < p->chunk_max; tries++) {
		uint32_t i = shm_pop(p->shm, p->ctl, p->chunk_max, list);

		if (i == SHM_NONE || take_use(p, i))
			return i;
	}
	return SHM_NONE;
}

static uint32_t pop(struct core_pool *p, enum shm_list list)
{
	uint32_t i = pop_list(p, list);

	if (i == SHM_NONE && list == SHM_LIST_DEFINITIONS)
		i = pop_list(p, SHM_LIST_RECORDS);
	return i;
}

static uint32_t limit_now(const struct core_pool *p)
{
	int64_t more = (int64_t)atomic_load_explicit(&p->held, memory_order_relaxed) - p->size / 2;

	if (more <= 0)
		return p->size;
	return more < p->chunk_max - p->size ? p->size + (uint32_t)more : p->chunk_max;
}

/* Of two who share a processor one would keep the other from making the pool larger. */
static void let_others_grow(void)
{
	const struct timespec moment = {0, GROW_LOOK_NS};
	const int saved = errno;

	syscall(SYS_nanosleep, &moment, NULL);
	errno = saved;
}

/* While another thread makes the pool larger its count says so before there are chunks. */
static uint32_t pop_or_grow(struct core_pool *p, enum shm_list list)
{
	uint32_t i = pop(p, list);

	while (i == SHM_NONE) {
		bool wait = atomic_load(&growing);

		if (!wait && (atomic_load(&p->chunk_count) >= limit_now(p) || !grow(p)))
			return pop(p, list);
		i = pop(p, list);
		if (wait && i == SHM_NONE)
			let_others_grow();
	}
	return i;
}

/* ---- flight recorders ---- */

static uint32_t oldest_full(const struct core_pool *p)
{
	uint32_t count = atomic_load(&p->chunk_count), best = SHM_NONE, oldest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t stamp;

		if (atomic_load_explicit(&p->ctl[i].state, memory_order_acquire) != SHM_FULL)
			continue;
		stamp = atomic_load_explicit(&p->ctl[i].stamp, memory_order_relaxed);
		if (stamp && (best == SHM_NONE || (int32_t)(stamp - oldest) < 0)) {
			best = i;
			oldest = stamp;
		}
	}
	return best;
}

/* A chunk of records from the program's own past. SHM_NONE: all are being filled or read. */
static uint32_t overwrite(struct core_pool *p)
{
	uint32_t i, tries = 0;

	while ((i = oldest_full(p)) != SHM_NONE && tries++ < p->chunk_max) {
		struct wire_chunk *c = core_chunk(p, i);
		uint32_t state = SHM_FULL, from;

		if (atomic_load(&p->use[i]) == CORE_CHUNK_MINE ||
		    !atomic_compare_exchange_strong(&p->ctl[i].state, &state, SHM_TAKEN))
			continue; /* another thread was quicker */
		if (!take_use(p, i))
			continue;
		from = p->reader ? atomic_load(&p->ctl[i].next) : 0;
		atomic_fetch_add(&p->shm->overwritten_records,
				 wire_chunk_records(c, from, CORE_CHUNK_BYTES));
		if (p->reader && from == 0 && c->lost) /* what is lost is told all the same */
			core_deliver_lost_in(p, c->thread, c->lost);
		atomic_store_explicit(&c->committed, 0, memory_order_relaxed);
		return i;
	}
	return SHM_NONE;
}

/* ---- getting and handing over ---- */

static uint32_t get_now(struct core_pool *p, enum shm_list list)
{
	uint32_t i = pop_or_grow(p, list);

	return i == SHM_NONE && p->overwrite && list == SHM_LIST_RECORDS ? overwrite(p) : i;
}

static uint32_t get(struct core_pool *p, enum shm_list list, uint64_t wait_ns)
{
	uint64_t now = 0, deadline = 0, waiting;
	struct shm_header *h = p->shm;
	uint32_t i;

	for (;;) {
		uint32_t freed = atomic_load(&h->freed);

		i = get_now(p, list);
		if (i != SHM_NONE)
			break;
		if (p->reader)
			core_deliver_starved(p, wait_ns != 0);
		if (wait_ns == 0 || p->chunk_max == 0 || !core_pool_reader_alive(p))
			return SHM_NONE;
		now = clock_ns(CLOCK_MONOTONIC);
		if (deadline == 0)
			deadline = now + wait_ns;
		if (now >= deadline)
			return SHM_NONE;
		waiting = tick_now();
		atomic_fetch_add(&h->waiters, 1);
		if (!p->reader)
			shm_ring(h);
		/* Who waits for a drain that has been killed is woken by nobody. */
		futex_wait(&h->freed, freed, deadline - now < LOOK_NS ? deadline - now : LOOK_NS);
		atomic_fetch_sub(&h->waiters, 1);
		cap_cost(CAP_COST_WAITING, tick_now() - waiting);
	}
	atomic_store_explicit(&p->ctl[i].next, 0, memory_order_relaxed);
	atomic_store_explicit(&p->ctl[i].state, SHM_FILLING, memory_order_release);
	return i;
}

uint32_t core_pool_get(struct core_pool *p, enum shm_list list, uint64_t wait_ns)
{
	bool holds = list == SHM_LIST_RECORDS;
	uint32_t i;

	/* The one who asks counts, so that there may be room for all who ask at once. */
	if (holds)
		atomic_fetch_add_explicit(&p->held, 1, memory_order_relaxed);
	i = get(p, list, wait_ns);
	kymo_assert(i == SHM_NONE || (i < p->chunk_max && p->use[i] == CORE_CHUNK_MINE));
	if (holds && i == SHM_NONE)
		atomic_fetch_sub_explicit(&p->held, 1, memory_order_relaxed);
	return i;
}

/* In a flight recorder chunks stay, whatever is in them. */
static bool is_light(const struct core_pool *p, uint32_t chunk)
{
	uint32_t used =
		atomic_load_explicit(&core_chunk(p, chunk)->committed, memory_order_relaxed);

	return !p->overwrite && used < p->chunk_size / 4;
}

void core_pool_put(struct core_pool *p, uint32_t chunk)
{
	struct shm_chunk_ctl *ctl = &p->ctl[chunk];
	uint32_t type = core_chunk(p, chunk)->type;
	bool records = type == WIRE_CHUNK_RECORDS, light = records && is_light(p, chunk);
	uint32_t stamp, full, threshold = p->wake_threshold;
	struct shm_header *h = p->shm;

	kymo_assert(p->use[chunk] == CORE_CHUNK_MINE); /* by who fills it, and once */
	if (type != WIRE_CHUNK_DEFINITIONS && !light)
		atomic_fetch_sub_explicit(&p->held, 1, memory_order_relaxed);
	stamp = atomic_fetch_add(&h->stamps, 1) + 1;
	atomic_store(&ctl->stamp, records ? stamp | !stamp : 0);
	atomic_store(&p->use[chunk], light ? CORE_CHUNK_LIGHT : CORE_CHUNK_UNUSED);
	atomic_fetch_add(&ctl->state, SHM_FULL - SHM_FILLING); /* it may be pinned by the reader */
	if (p->overwrite && records)
		return; /* stays until it is asked for */
	full = atomic_fetch_add_explicit(&h->full, 1, memory_order_release) + 1;
	if (p->reader && (int32_t)(full - atomic_load(&h->wake_at)) >= 0)
		core_deliver_wake(p);
	else if (!p->reader &&
		 (threshold <= 1 || full % threshold == 0 || atomic_load(&h->waiters)))
		shm_ring(h); /* who waits has rung already, perhaps for nothing */
}
