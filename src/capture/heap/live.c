/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that were not freed, found by their addresses, and the queue of what happened to them.
 *
 * Whoever allocates or frees adds to both under one lock, with all signals blocked: so events are in the order in which
 * they happened, and no handler finds the lock taken by its own thread. It calls nothing that may allocate. The thread
 * that records empties the queue, and takes a sample out of use when it has recorded its end. A sample never moves.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "capture/heap/heap.h"

#define QUEUE_WORDS (1u << 19) /* 4 MiB, touched as they are needed */
#define CHUNK_BITS  12u        /* samples in a piece of memory */
#define CHUNKS      (1u << 14)
#define WAIT_NS     1000000u
#define WAIT_ROUNDS 10
#define EVENT_WORDS (sizeof(struct heap_event) / sizeof(uint64_t))

static struct area {
	_Atomic uint8_t filter[HEAP_LISTS / 8];
	uint32_t lists[HEAP_LISTS]; /* the first sample of each; 0: none */
	uint64_t queue[QUEUE_WORDS];
	struct heap_sample *chunks[CHUNKS]; /* 0 is no sample's number */
} * area;

static _Atomic uint32_t lock_word;  /* 0: free, 1: taken, 2: somebody sleeps */
static uint32_t made, free_samples; /* numbers given; list of those out of use */
static uint64_t next_id;
static _Atomic uint64_t head, tail; /* words of the queue ever written, and read */
static _Atomic uint32_t progress;   /* changes when there is room again */
static _Atomic bool stuck;          /* nobody waits for room before there was some */
static _Atomic uint64_t lost;

/* ---- the lock ---- */

static void block_signals(uint64_t *old)
{
	const uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, sizeof(all));
}

static void unblock_signals(const uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof(*old));
}

static void take_lock(uint64_t *old)
{
	uint32_t none = 0;

	block_signals(old);
	if (atomic_compare_exchange_strong(&lock_word, &none, 1))
		return;
	while (atomic_exchange(&lock_word, 2) != 0)
		futex_wait(&lock_word, 2, FUTEX_FOREVER);
}

static void let_go(const uint64_t *old)
{
	if (atomic_exchange(&lock_word, 0) == 2)
		futex_wake(&lock_word, 1);
	unblock_signals(old);
}

/* ---- samples ---- */

static void *map_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

bool heap_live_init(void)
{
	area = map_memory(sizeof(*area));
	return area != NULL;
}

const _Atomic uint8_t *heap_live_filter(void)
{
	return area->filter;
}

struct heap_sample *heap_live_sample(uint32_t sample)
{
	return &area->chunks[sample >> CHUNK_BITS][sample & ((1u << CHUNK_BITS) - 1)];
}

/* Under the lock. 0: there are no more. */
static uint32_t new_sample(void)
{
	uint32_t sample = free_samples;

	if (sample) {
		free_samples = heap_live_sample(sample)->next;
		return sample;
	}
	sample = made + 1;
	if (sample >> CHUNK_BITS >= CHUNKS)
		return 0;
	if (!area->chunks[sample >> CHUNK_BITS])
		area->chunks[sample >> CHUNK_BITS] =
			map_memory(sizeof(struct heap_sample) << CHUNK_BITS);
	if (!area->chunks[sample >> CHUNK_BITS])
		return 0;
	return made = sample;
}

/* Under the lock. */
static void enter_sample(uint32_t sample)
{
	struct heap_sample *s = heap_live_sample(sample);
	const uint32_t list = heap_list((const void *)(uintptr_t)s->address);

	s->next = area->lists[list];
	area->lists[list] = sample;
	atomic_fetch_or_explicit(&area->filter[list / 8], (uint8_t)(1u << list % 8),
				 memory_order_relaxed);
}

void heap_live_release(uint32_t sample)
{
	uint64_t signals;

	take_lock(&signals);
	heap_live_sample(sample)->next = free_samples;
	free_samples = sample;
	let_go(&signals);
}

uint32_t heap_live_remove(uint64_t address)
{
	const uint32_t list = heap_list((const void *)(uintptr_t)address);
	uint32_t *at = &area->lists[list], found;
	uint64_t signals;

	take_lock(&signals);
	while (*at && heap_live_sample(*at)->address != address)
		at = &heap_live_sample(*at)->next;
	found = *at;
	if (found)
		*at = heap_live_sample(found)->next;
	if (!area->lists[list])
		atomic_fetch_and_explicit(&area->filter[list / 8], (uint8_t) ~(1u << list % 8),
					  memory_order_relaxed);
	let_go(&signals);
	return found;
}

void heap_live_restore(uint32_t sample)
{
	uint64_t signals;

	take_lock(&signals);
	enter_sample(sample);
	let_go(&signals);
}

/* ---- the queue ---- */

/* Under the lock: a place for an event of so many words, in one piece. NULL: there is no room. */
static struct heap_event *room_for(uint32_t words)
{
	uint64_t at = atomic_load(&head);
	const uint64_t rest = QUEUE_WORDS - at % QUEUE_WORDS, skip = rest < words ? rest : 0;

	if (at + skip + words - atomic_load(&tail) > QUEUE_WORDS)
		return NULL;
	if (skip) {
		((struct heap_event *)(void *)&area->queue[at % QUEUE_WORDS])->kind =
			HEAP_EVENT_SKIP;
		atomic_store(&head, at + skip);
	}
	return (struct heap_event *)(void *)&area->queue[(at + skip) % QUEUE_WORDS];
}

static bool put_event(const struct heap_event *e, uint32_t sample, const uint64_t *addresses)
{
	const uint32_t words = (uint32_t)EVENT_WORDS + e->count;
	struct heap_event *to = room_for(words);

	if (!to)
		return false;
	*to = *e;
	to->words = (uint16_t)words;
	to->sample = sample;
	to->time = clock_ns(CLOCK_MONOTONIC_RAW);
	memcpy(to->addresses, addresses, e->count * sizeof(*addresses));
	atomic_store(&head, atomic_load(&head) + words);
	return true;
}

/* Who records may need what the caller holds: this ends, and is not done again before there was room. */
static bool wait_for_room(int round, uint32_t before)
{
	heap_write_hurry();
	if (atomic_load(&stuck) || round == WAIT_ROUNDS) {
		atomic_store(&stuck, true);
		atomic_fetch_add(&lost, 1);
		return false;
	}
	futex_wait(&progress, before, WAIT_NS);
	return true;
}

static bool add(const struct heap_sample *s, const struct heap_event *e, const uint64_t *addresses)
{
	uint32_t sample;
	uint64_t signals;
	bool fits = false;

	take_lock(&signals);
	sample = new_sample();
	if (sample) {
		*heap_live_sample(sample) = *s;
		heap_live_sample(sample)->id = next_id + 1;
		fits = put_event(e, sample, addresses);
		next_id += fits;
		if (fits) {
			enter_sample(sample);
		} else {
			heap_live_sample(sample)->next = free_samples;
			free_samples = sample;
		}
	}
	let_go(&signals);
	return fits;
}

static void hurry_if_full(void)
{
	if (atomic_load(&head) - atomic_load(&tail) > QUEUE_WORDS / 4)
		heap_write_hurry();
}

bool heap_live_add(const struct heap_sample *s, const struct heap_event *e,
		   const uint64_t *addresses)
{
	uint32_t before = atomic_load(&progress);

	for (int round = 0; !add(s, e, addresses); round++) {
		if (!wait_for_room(round, before))
			return false;
		before = atomic_load(&progress);
	}
	hurry_if_full();
	return true;
}

static bool end(uint32_t sample, uint32_t tid, uint64_t correlation)
{
	const struct heap_event e = {
		.kind = HEAP_EVENT_FREE, .tid = tid, .correlation = correlation};
	uint64_t signals;
	bool fits;

	take_lock(&signals);
	fits = put_event(&e, sample, &e.time);
	let_go(&signals);
	return fits;
}

void heap_live_end(uint32_t sample, uint32_t tid, uint64_t correlation)
{
	uint32_t before = atomic_load(&progress);

	for (int round = 0; !end(sample, tid, correlation); round++) {
		if (!wait_for_room(round, before))
			return;
		before = atomic_load(&progress);
	}
	hurry_if_full();
}

const struct heap_event *heap_live_next(void)
{
	uint64_t at = atomic_load(&tail);
	const struct heap_event *e = (const void *)&area->queue[at % QUEUE_WORDS];

	if (at == atomic_load(&head))
		return NULL;
	if (e->kind != HEAP_EVENT_SKIP)
		return e;
	atomic_store(&tail, at + QUEUE_WORDS - at % QUEUE_WORDS);
	return heap_live_next();
}

void heap_live_done(const struct heap_event *e)
{
	const uint64_t before = atomic_load(&tail), after = before + e->words;

	atomic_store(&tail, after);
	if (before / (QUEUE_WORDS / 8) == after / (QUEUE_WORDS / 8))
		return;
	atomic_store(&stuck, false);
	atomic_fetch_add(&progress, 1);
	futex_wake(&progress, FUTEX_ALL);
}

uint64_t heap_live_lost(void)
{
	return atomic_exchange(&lost, 0);
}

/* What the parent allocated is no sample of the child's. */
void heap_live_fork_child(void)
{
	if (!area)
		return;
	madvise(area, sizeof(*area), MADV_DONTNEED);
	made = free_samples = 0;
	next_id = 0;
	atomic_store(&lock_word, 0);
	atomic_store(&head, 0);
	atomic_store(&tail, 0);
	atomic_store(&stuck, false);
	atomic_store(&lost, 0);
}
