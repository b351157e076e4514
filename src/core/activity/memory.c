/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by address; see memory.h. */
#include "core/activity/memory.h"

#include <string.h>

#include "base/vec.h"

/* Index of the first above `address`. With the lock. */
static size_t index_above(const struct cap_memories *s, uint64_t address)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* With the lock. */
static struct cap_memory *starting_at(const struct cap_memories *s, uint64_t address)
{
	size_t i = index_above(s, address);

	return i && s->list[i - 1].address == address ? &s->list[i - 1] : NULL;
}

struct cap_memory cap_memory_of(struct cap_memories *s, uint64_t address)
{
	struct cap_memory m = {.kind = MEMORY_HOST_PAGEABLE};
	size_t i;

	pthread_rwlock_rdlock(&s->lock);
	i = index_above(s, address);
	if (i && address - s->list[i - 1].address < s->list[i - 1].span)
		m = s->list[i - 1];
	pthread_rwlock_unlock(&s->lock);
	return m;
}

/* True: `old` was there, and its end not seen. */
static bool put_memory(struct cap_memories *s, const struct cap_memory *m, struct cap_memory *old)
{
	struct cap_memory *there;
	bool replaced;
	size_t i;

	pthread_rwlock_wrlock(&s->lock);
	there = starting_at(s, m->address);
	replaced = there != NULL;
	if (replaced) {
		*old = *there;
		*there = *m;
	} else if (vec_reserve(&s->list, &s->room, s->count, 1)) {
		i = index_above(s, m->address);
		memmove(&s->list[i + 1], &s->list[i], (s->count - i) * sizeof(*s->list));
		s->list[i] = *m;
		s->count++;
	}
	pthread_rwlock_unlock(&s->lock);
	return replaced;
}

/* What was there at `before` at the latest. */
static bool take_memory(struct cap_memories *s, uint64_t address, uint64_t before,
			struct cap_memory *out)
{
	struct cap_memory *there;
	bool found;

	pthread_rwlock_wrlock(&s->lock);
	there = starting_at(s, address);
	found = there && there->born <= before;
	if (found) {
		*out = *there;
		s->count--;
		memmove(there, there + 1, (size_t)(&s->list[s->count] - there) * sizeof(*there));
	}
	pthread_rwlock_unlock(&s->lock);
	return found;
}

void cap_memory_record(const struct cap_frame *f, unsigned op, const struct cap_memory *m)
{
	const struct cap_allocation a = {m->address, m->bytes,   m->id,   0,
					 m->agent,   m->context, m->kind, m->what};

	cap_allocation_record(f, 0, op, &a);
}

void cap_memory_allocated(struct cap_memories *s, const struct cap_frame *f, struct cap_memory m)
{
	struct cap_memory old;

	if (!m.address)
		return;
	m.id = cap_new_allocation();
	m.born = f->end;
	m.span = m.span ? m.span : m.bytes;
	if (put_memory(s, &m, &old))
		cap_memory_record(NULL, ALLOCATION_OP_FREE, &old);
	cap_memory_record(f, ALLOCATION_OP_ALLOCATE, &m);
}

void cap_memory_freed(struct cap_memories *s, const struct cap_frame *f, uint64_t address)
{
	struct cap_memory m;

	if (take_memory(s, address, f->start, &m))
		cap_memory_record(f, ALLOCATION_OP_FREE, &m);
}

bool cap_memory_take(struct cap_memories *s, uint64_t address, struct cap_memory *out)
{
	return take_memory(s, address, UINT64_MAX, out);
}

void cap_memory_put_back(struct cap_memories *s, const struct cap_memory *m)
{
	struct cap_memory old;

	put_memory(s, m, &old);
}

void cap_memories_lock(struct cap_memories *s)
{
	pthread_rwlock_wrlock(&s->lock);
}

void cap_memories_unlock(struct cap_memories *s)
{
	pthread_rwlock_unlock(&s->lock);
}

/* The child's thread did not lock it, so it cannot unlock it. */
void cap_memories_fork_child(struct cap_memories *s)
{
	s->lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

void cap_memories_drop(struct cap_memories *s)
{
	*s = (struct cap_memories)CAP_MEMORIES;
}
