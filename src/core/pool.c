/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of chunks. Memory is reserved and touched before a record is written into it: a sparse
 * mapping would kill the program with SIGBUS when memory runs out, and a first touch costs more
 * than a record. A pool starts small and grows in steps up to its limit.
 */
#include "core/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK_SIZE     (32u << 10)
#define GROW_CHUNKS    64u /* 2 MiB */
#define KEEP_BACK      8u  /* chunks only definitions may use */
#define WAKE_CHUNKS    8u
#define READER_DEAD_S  5u

static size_t page_up(size_t n)
{
	return (n + 4095) & ~(size_t)4095;
}

void core_futex_wake(_Atomic uint32_t *word, int count)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
	errno = saved;
}

void core_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
	errno = saved;
}

/*
 * Backs chunks [from, to) with memory that is there to stay. MADV_POPULATE_WRITE (Linux 5.14)
 * reports a full file system instead of killing; without it only what fallocate() reserved at
 * creation is used.
 */
static bool reserve(struct shm_header *h, uint32_t from, uint32_t to)
{
#ifdef MADV_POPULATE_WRITE
	uint8_t *p = (uint8_t *)h + h->chunks_offset + (size_t)from * h->chunk_size;
	int saved = errno;
	bool ok = madvise(p, (size_t)(to - from) * h->chunk_size, MADV_POPULATE_WRITE) == 0;

	errno = saved;
	return ok;
#else
	return false;
#endif
}

/* The same by hand, over memory that fallocate() has reserved. */
static void touch(struct shm_header *h, uint32_t from, uint32_t to)
{
	volatile uint8_t *p = (uint8_t *)h + h->chunks_offset;

	for (size_t i = (size_t)from * h->chunk_size; i < (size_t)to * h->chunk_size; i += 4096)
		p[i] = 0;
}

static void add_chunks(struct shm_header *h, uint32_t from, uint32_t to)
{
	struct shm_chunk_ctl *ctl = shm_ctl(h);

	atomic_store_explicit(&h->chunk_count, to, memory_order_release);
	for (uint32_t i = to; i-- > from;) {
		ctl[i].list = i < h->kept_back ? SHM_LIST_DEFINITIONS : SHM_LIST_RECORDS;
		shm_push(h, ctl, i, ctl[i].list);
	}
}

/* The memfd is closed once it is shared, so growth works through the mapping alone. */
static bool grow(struct shm_header *h)
{
	static _Atomic bool growing;
	uint32_t from, to;
	bool ok = false;

	if (atomic_exchange(&growing, true))
		return true; /* another thread is at it */
	from = atomic_load(&h->chunk_count);
	to = from + GROW_CHUNKS < h->chunk_max ? from + GROW_CHUNKS : h->chunk_max;
	if (to > from) {
		ok = reserve(h, from, to);
		if (ok)
			add_chunks(h, from, to);
	}
	atomic_store(&growing, false);
	return ok;
}

static void fill_header(struct shm_header *h, size_t bytes, uint32_t chunks)
{
	h->magic = SHM_MAGIC;
	h->version = SHM_VERSION;
	h->header_size = sizeof(*h);
	h->bytes = bytes;
	h->ctl_offset = page_up(sizeof(*h));
	h->threads_offset = page_up(h->ctl_offset + chunks * sizeof(struct shm_chunk_ctl));
	h->chunks_offset = page_up(h->threads_offset + SHM_THREADS * sizeof(struct shm_thread));
	h->chunk_size = CHUNK_SIZE;
	h->chunk_max = chunks;
	h->pid = (uint32_t)getpid();
	h->wake_threshold = WAKE_CHUNKS < chunks / 2 ? WAKE_CHUNKS : chunks / 2;
	atomic_store(&h->free_list[0], SHM_NONE);
	atomic_store(&h->free_list[1], SHM_NONE);
}

static size_t pool_bytes(uint32_t chunks)
{
	struct shm_header h = {0};

	fill_header(&h, 0, chunks);
	return h.chunks_offset + (size_t)chunks * CHUNK_SIZE;
}

/* Memory for the pages up to `bytes`, sparse up to `total`. */
static struct shm_header *map_pool(size_t bytes, size_t total, int *fd)
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
	h = mmap(NULL, total, PROT_READ | PROT_WRITE,
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
	size_t total = pool_bytes(chunks), excess;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    total <= limit.rlim_cur)
		return chunks;
	excess = (total - (size_t)limit.rlim_cur + CHUNK_SIZE - 1) / CHUNK_SIZE;
	/* Fewer chunks need no more room for the header, so this fits. */
	return excess + 2 * KEEP_BACK <= chunks ? chunks - (uint32_t)excess : 0;
}

struct shm_header *core_pool_create(uint64_t bytes, int *memfd, size_t *mapped)
{
	uint64_t wanted = bytes / CHUNK_SIZE;
	uint32_t chunks = wanted < 2 * KEEP_BACK ? 2 * KEEP_BACK
			  : wanted > SHM_CHUNK_MAX ? SHM_CHUNK_MAX : (uint32_t)wanted;
	struct shm_header *h;
	uint32_t first;
	size_t total;

	if (memfd)
		chunks = within_file_size_limit(chunks);
	if (chunks == 0)
		return NULL;
	first = GROW_CHUNKS < chunks ? GROW_CHUNKS : chunks;
	total = pool_bytes(chunks);
	h = map_pool(total - (size_t)(chunks - first) * CHUNK_SIZE, total, memfd);
	if (!h)
		return NULL;
	fill_header(h, total, chunks);
	h->kept_back = memfd ? KEEP_BACK : 0; /* private buffers hold no definitions */
	if (!reserve(h, 0, first))
		touch(h, 0, first);
	add_chunks(h, 0, first);
	*mapped = total;
	return h;
}

void core_pool_destroy(struct shm_header *pool, size_t mapped)
{
	munmap(pool, mapped);
}

bool core_pool_reader_alive(const struct shm_header *pool)
{
	uint64_t beat = atomic_load_explicit(&pool->drain_beat, memory_order_relaxed);

	if (atomic_load_explicit(&pool->drain_failed, memory_order_relaxed))
		return false;
	return beat + READER_DEAD_S >= clock_ns(CLOCK_MONOTONIC) / 1000000000u;
}

static uint32_t pop(struct shm_header *h, enum shm_list list)
{
	uint32_t i = shm_pop(h, shm_ctl(h), h->chunk_max, list);

	if (i == SHM_NONE && list == SHM_LIST_DEFINITIONS)
		i = shm_pop(h, shm_ctl(h), h->chunk_max, SHM_LIST_RECORDS);
	return i;
}

static uint32_t pop_or_grow(struct shm_header *h, enum shm_list list)
{
	uint32_t i = pop(h, list);

	while (i == SHM_NONE && atomic_load(&h->chunk_count) < h->chunk_max) {
		if (!grow(h))
			break;
		i = pop(h, list);
	}
	return i;
}

/* ---- flight recorders ---- */

/* Records of a chunk behind the first `from` bytes, which were delivered; 0: all. */
static uint64_t records_in(const struct wire_chunk *c, uint32_t from)
{
	uint32_t at = from ? from : c->header_size;
	uint32_t end = atomic_load_explicit(&c->committed, memory_order_relaxed);
	uint64_t n = 0;

	while (at + sizeof(struct wire_head) <= end) {
		const struct wire_head *w = (const void *)((const uint8_t *)c + at);

		if (w->words == 0)
			break;
		at += 4u * w->words;
		n++;
	}
	return n;
}

static uint32_t oldest_full(struct shm_header *h)
{
	struct shm_chunk_ctl *ctl = shm_ctl(h);
	uint32_t count = atomic_load(&h->chunk_count), best = SHM_NONE, oldest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t stamp;

		if (atomic_load_explicit(&ctl[i].state, memory_order_acquire) != SHM_FULL)
			continue;
		stamp = atomic_load_explicit(&ctl[i].stamp, memory_order_relaxed);
		if (stamp && (best == SHM_NONE || (int32_t)(stamp - oldest) < 0)) {
			best = i;
			oldest = stamp;
		}
	}
	return best;
}

/* A chunk of records from the program's own past. SHM_NONE: all are being filled or read. */
static uint32_t overwrite(struct shm_header *h)
{
	struct shm_chunk_ctl *ctl = shm_ctl(h);
	uint32_t i;

	while ((i = oldest_full(h)) != SHM_NONE) {
		struct wire_chunk *c = shm_chunk(h, i);
		uint32_t state = SHM_FULL;

		if (!atomic_compare_exchange_strong(&ctl[i].state, &state, SHM_TAKEN))
			continue; /* another thread was quicker */
		atomic_fetch_add(&h->overwritten_records,
				 records_in(c, h->reader ? atomic_load(&ctl[i].next) : 0));
		atomic_store_explicit(&c->committed, 0, memory_order_relaxed);
		return i;
	}
	return SHM_NONE;
}

/* ---- getting and handing over ---- */

static uint32_t get_now(struct shm_header *h, enum shm_list list)
{
	uint32_t i = pop_or_grow(h, list);

	return i == SHM_NONE && h->overwrite && list == SHM_LIST_RECORDS ? overwrite(h) : i;
}

uint32_t core_pool_get(struct shm_header *h, enum shm_list list, uint64_t wait_ns)
{
	uint64_t now = 0, deadline = 0, waiting;
	uint32_t i;

	for (;;) {
		uint32_t freed = atomic_load(&h->freed);

		i = get_now(h, list);
		if (i != SHM_NONE)
			break;
		if (h->reader)
			core_deliver_starved(h, wait_ns != 0);
		if (wait_ns == 0 || !core_pool_reader_alive(h))
			return SHM_NONE;
		now = clock_ns(CLOCK_MONOTONIC);
		if (deadline == 0)
			deadline = now + wait_ns;
		if (now >= deadline)
			return SHM_NONE;
		waiting = tick_now();
		if (!h->reader)
			core_futex_wake(&h->full, 1);
		atomic_fetch_add(&h->waiters, 1);
		core_futex_wait(&h->freed, freed, deadline - now);
		atomic_fetch_sub(&h->waiters, 1);
		cap_overhead(tick_now() - waiting);
	}
	atomic_store_explicit(&shm_ctl(h)[i].next, 0, memory_order_relaxed);
	atomic_store_explicit(&shm_ctl(h)[i].state, SHM_FILLING, memory_order_release);
	return i;
}

void core_pool_put(struct shm_header *h, uint32_t chunk)
{
	struct shm_chunk_ctl *ctl = &shm_ctl(h)[chunk];
	bool records = shm_chunk(h, chunk)->type == WIRE_CHUNK_RECORDS;
	uint32_t stamp, full, threshold = h->wake_threshold;

	stamp = atomic_fetch_add(&h->stamps, 1) + 1;
	atomic_store(&ctl->stamp, records ? stamp | !stamp : 0);
	atomic_fetch_add(&ctl->state, SHM_FULL - SHM_FILLING); /* it may be pinned by the reader */
	if (h->overwrite && records)
		return; /* stays until it is asked for */
	full = atomic_fetch_add_explicit(&h->full, 1, memory_order_release) + 1;
	if (h->reader && (int32_t)(full - atomic_load(&h->wake_at)) >= 0)
		core_deliver_wake(h);
	else if (!h->reader && (threshold <= 1 || full % threshold == 0))
		core_futex_wake(&h->full, 1);
}
