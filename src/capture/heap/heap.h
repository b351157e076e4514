/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the preloaded libkymo-heap.so, which stands before the C library's malloc() and its kin, and libkymo, which
 * takes samples of what they allocate.
 *
 * Of all bytes that a thread allocates, gaps with an exponential distribution lie between two sampled ones, so that an
 * allocation of `s` bytes is sampled with the probability 1 - exp(-s/T), T the mean gap, and stands for
 * 1 / (1 - exp(-s/T)) like it. Where T is 1 each is sampled, and stands for itself.
 */
#ifndef CAPTURE_HEAP_HEAP_H
#define CAPTURE_HEAP_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <kymo/tool.h>

/* What the door keeps of a thread. All zero: it has not allocated yet. */
struct heap_thread {
	int64_t left;       /* bytes until the next sample */
	uint64_t random;    /* state; 0: none yet */
	const void *inside; /* the stack of an allocation that is made of others */
	uint32_t tid;       /* 0: not asked for yet */
};

/*
 * Blocks that were sampled and not freed are in lists; of each list that is not empty the filter has a bit. Neighbours
 * in memory have neighbouring bits, so that freeing many touches little.
 */
#define HEAP_LIST_BITS 18u
#define HEAP_LISTS     (1u << HEAP_LIST_BITS)

static inline uint32_t heap_list(const void *address)
{
	const uintptr_t a = (uintptr_t)address >> 4;

	return (uint32_t)(a ^ a >> HEAP_LIST_BITS) & (HEAP_LISTS - 1);
}

/* One of the list may have been sampled. */
static inline bool heap_may_have(const _Atomic uint8_t *filter, const void *address)
{
	const uint32_t list = heap_list(address);

	return atomic_load_explicit(&filter[list / 8], memory_order_relaxed) >> list % 8 & 1;
}

/* ---- for libkymo-heap.so; all keep errno ---- */

/* From now on allocations are told. NULL: nothing can be recorded. `door`: an address in the library. */
KYMO_EXPORT const _Atomic uint8_t *kymo_heap_start(const void *door);
/* `address`, of `size` bytes, was allocated for who `caller` returns to, and t->left is used up: samples it, perhaps. */
KYMO_EXPORT void kymo_heap_took(struct heap_thread *t, const void *address, uint64_t size,
				const void *caller);
/* It is about to be freed: it is a sample no more. Returns what it was as one; 0: it was none. */
KYMO_EXPORT uint32_t kymo_heap_drop(const void *address);
/* Of what was dropped: it was freed; it was not, after all. */
KYMO_EXPORT void kymo_heap_freed(struct heap_thread *t, uint32_t sample);
KYMO_EXPORT void kymo_heap_keep(uint32_t sample);
/* In a child of fork(): it is recorded from now on, whether it uses anything else that is or not. */
KYMO_EXPORT void kymo_heap_forked(void);

/* ---- inside libkymo: live.c ---- */

#define HEAP_DEPTH 192u /* of stacks */

/* A sample that was not freed, or whose end is not recorded yet. */
struct heap_sample {
	uint64_t address, size, id, bytes;
	double objects;
	uint32_t next;  /* in its list; 0: the last */
	uint32_t stack; /* of its definition; of the thread that records, as soon as it did */
};

enum heap_event_kind { HEAP_EVENT_SKIP, HEAP_EVENT_ALLOCATE, HEAP_EVENT_FREE };

/* What happened, on its way to the thread that records it. */
struct heap_event {
	uint16_t words, count; /* of all of it; addresses */
	uint8_t kind, end;     /* enum heap_event_kind; enum stack_end */
	uint32_t sample, tid;
	uint64_t time, correlation;
	uint64_t addresses[];
};

/* False: no memory. */
bool heap_live_init(void);
const _Atomic uint8_t *heap_live_filter(void);
/* Forgets all; no other thread is there. */
void heap_live_fork_child(void);
/* It is in use from now on; *e with its addresses is handed over. False: there is no room, it is counted as lost. */
bool heap_live_add(const struct heap_sample *s, const struct heap_event *e,
		   const uint64_t *addresses);
uint32_t heap_live_remove(uint64_t address);
void heap_live_restore(uint32_t sample);
void heap_live_end(uint32_t sample, uint32_t tid, uint64_t correlation);

/* For the thread that records: the next event, NULL: none; it is done with that. */
const struct heap_event *heap_live_next(void);
void heap_live_done(const struct heap_event *e);
struct heap_sample *heap_live_sample(uint32_t sample);
void heap_live_release(uint32_t sample);
/* Since the last time. */
uint64_t heap_live_lost(void);

/* ---- write.c ---- */

bool heap_write_start(void);
/* call.c: the child is in order, and samples are taken again. */
void heap_call_fork_child(void);
/* The thread that records has much to do. */
void heap_write_hurry(void);

/* ---- chance.c ---- */

/* Bytes until the next sample, at a mean of `interval`. */
int64_t heap_gap(uint64_t *random, uint64_t interval);
/* The probability with which `size` bytes are sampled. */
double heap_probability(uint64_t size, uint64_t interval);

#endif
