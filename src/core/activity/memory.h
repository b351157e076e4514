/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a program has of a runtime, found by any address in it, and the records of its
 * beginning and end. A backend has a set for each kind of addresses; all functions are thread-safe.
 */
#ifndef CORE_ACTIVITY_MEMORY_H
#define CORE_ACTIVITY_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "record/fields.h"

struct cap_memory {
	uint64_t address;
	uint64_t span; /* addresses that belong to it: its bytes, or 1 of a handle; 0: its bytes */
	uint64_t bytes, id; /* id 0: the program's own memory */
	uint64_t born;      /* tick at which it was there at the latest */
	uint32_t agent, context;
	uint8_t kind, what; /* enum memory_kind, allocation_what */
};

struct cap_memories {
	pthread_rwlock_t lock;
	struct cap_memory
		*list; /* under the lock; sorted by address, of which each is there once */
	size_t count, room;
};
#define CAP_MEMORIES                                                                               \
	{                                                                                          \
		.lock = PTHREAD_RWLOCK_INITIALIZER                                                 \
	}

/* What an address belongs to. */
struct cap_memory cap_memory_of(struct cap_memories *s, uint64_t address);

/*
 * `f` has allocated it: it gets an id, is kept and recorded. What began at its address and is still
 * there has ended unseen, which is recorded, too.
 */
void cap_memory_allocated(struct cap_memories *s, const struct cap_frame *f, struct cap_memory m);

/*
 * Records the end of what begins there, if it was there before `f` began: else another thread has
 * the address already, and has ended what was there before.
 */
void cap_memory_freed(struct cap_memories *s, const struct cap_frame *f, uint64_t address);

/* In two steps, where the address may be given out again before the call returns: false: nothing
 * begins there. */
bool cap_memory_take(struct cap_memories *s, uint64_t address, struct cap_memory *out);
void cap_memory_put_back(struct cap_memories *s, const struct cap_memory *m);
void cap_memory_record(const struct cap_frame *f, unsigned op, const struct cap_memory *m);

/* Around a fork, and in the child. */
void cap_memories_lock(struct cap_memories *s);
void cap_memories_unlock(struct cap_memories *s);
void cap_memories_fork_child(struct cap_memories *s);
/* In a child where nobody locked it before the fork: what is in it may be half moved. */
void cap_memories_drop(struct cap_memories *s);

#endif
