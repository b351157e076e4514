/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting instead of recording: a call adds to its thread's tally of its op. The tallies lie in
 * chunks of the buffer, so nothing has to be saved at the end and a crash loses nothing.
 */
#include "base/locks.h"
#include "core/tally/job.h"
#include "wire/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ring/ring.h"
#include "core/tally/tally.h"

static struct wire_tally **table(struct cap_thread *t)
{
	if (!t->tallies) {
		t->tallies = core_op_table_new();
		t->tally_no_memory = !t->tallies;
	}
	return t->tallies;
}

/* A chunk that is full is still counted in: it is handed over when its thread ends. */
struct core_tally_chunk {
	struct wire_ring ring;
	struct core_tally_chunk *next;
};

void core_tally_close(struct cap_thread *t, struct core_buffer *b)
{
	for (struct core_tally_chunk *c = t->tally_full; c; c = c->next)
		core_ring_close(b, &c->ring);
	core_ring_close(b, &t->tally_ring);
}

/* What the memory says is checked: another process can write there, while we read, too. */
static void each_of(const struct wire_chunk *c, core_tally_fn *fn, void *data)
{
	uint32_t committed = atomic_load_explicit(&c->committed, memory_order_acquire);
	uint32_t end = committed < CORE_CHUNK_BYTES ? committed : CORE_CHUNK_BYTES;

	for (uint32_t at = sizeof(*c); at + sizeof(struct wire_tally) <= end;) {
		const struct wire_tally *y = (const void *)((const uint8_t *)c + at);
		uint32_t flags = *(const volatile uint32_t *)&y->flags;
		bool work = flags & WIRE_TALLY_WORK;

		at += wire_tally_bytes(work);
		if (at > end)
			return;
		if (!(flags & WIRE_TALLY_GIVEN))
			fn(y, work ? (const struct wire_work *)(y + 1) : NULL, data);
	}
}

void core_tally_each(const struct cap_thread *t, core_tally_fn *fn, void *data)
{
	const struct core_tally_chunk *full = t->tally_full;

	kymo_assert_held(&core_live->tallies);
	for (const struct wire_chunk *c = t->tally_ring.chunk; c;) {
		each_of(c, fn, data);
		c = full ? full->ring.chunk : NULL;
		full = full ? full->next : NULL;
	}
}

void core_tally_release(struct cap_thread *t)
{
	struct core_tally_chunk *next;

	core_work_release(t);
	core_op_table_free(t->tallies);
	t->tallies = NULL;
	for (struct core_tally_chunk *c = t->tally_full; c; c = next) {
		next = c->next;
		free(c);
	}
	t->tally_full = NULL;
	memset(&t->tally_ring, 0, sizeof(t->tally_ring));
	t->tally_buffer = 0;
}

static bool another_chunk(struct cap_thread *t, struct core_buffer *b)
{
	struct wire_ring *r = &t->tally_ring;
	struct core_tally_chunk *full = NULL;

	if (r->chunk) {
		full = malloc(sizeof(*full));
		t->tally_no_memory = !full;
		if (!full)
			return false;
		*full = (struct core_tally_chunk){*r, t->tally_full};
	}
	if (!core_ring_open(t, b, r, WIRE_CHUNK_TALLY)) {
		t->tally_no_memory =
			atomic_load_explicit(&b->pool->no_memory, memory_order_relaxed);
		free(full);
		return false;
	}
	if (full)
		t->tally_full = full;
	t->tally_buffer = b->index + 1;
	return true;
}

static uint32_t used_of(const struct wire_ring *r)
{
	return (uint32_t)(r->cur - (uint8_t *)r->chunk);
}

static bool has_room(const struct core_buffer *b, const struct wire_ring *r, uint32_t bytes)
{
	return r->chunk && used_of(r) + bytes <= b->pool->chunk_size;
}

static struct wire_tally *make(struct cap_thread *t, struct core_buffer *b, uint32_t op,
			       const struct wire_tally *from, const struct wire_work *work)
{
	struct wire_ring *r = &t->tally_ring;
	struct wire_tally *y;

	if (!b->ready || (!has_room(b, r, wire_tally_size(from)) && !another_chunk(t, b)))
		return NULL;
	kymo_assert(has_room(b, r, wire_tally_size(from)));
	y = (struct wire_tally *)r->cur;
	*y = *from;
	y->op = op;
	if (work)
		memcpy(y + 1, work, sizeof(*work));
	r->cur += wire_tally_size(from);
	atomic_store_explicit(&r->chunk->committed, used_of(r), memory_order_release);
	return y;
}

struct wire_tally *core_tally_add(struct cap_thread *t, struct core_buffer *b,
				  const struct wire_tally *from, const struct wire_work *work)
{
	return make(t, b, from->op, from, work);
}

/* Made where it stays: it is large for a small stack. */
struct wire_tally *core_tally_fresh(struct cap_thread *t, struct core_buffer *b, uint32_t op,
				    const struct wire_work *work)
{
	static const struct wire_tally call = {.min = UINT64_MAX};
	static const struct wire_tally item = {.flags = WIRE_TALLY_WORK, .min = UINT64_MAX};

	return make(t, b, op, work ? &item : &call, work);
}

/* The thread's first call of the op. */
__attribute__((noinline)) static struct wire_tally *begin(struct cap_thread *t,
							  struct core_buffer *b, uint16_t op)
{
	int saved = errno;
	struct wire_tally *y = table(t) ? t->tallies[op] = core_tally_fresh(t, b, op, NULL) : NULL;

	errno = saved;
	if (!y && b->pool)
		core_pool_lose(b->pool, 1, t->tally_no_memory);
	return y;
}

/* Inlined into each of the two that count: every call of a summary passes here. */
static inline __attribute__((always_inline)) struct wire_tally *
tally_of(struct cap_thread *t, struct core_buffer *b, uint16_t op)
{
	struct wire_tally *y = t->tallies ? t->tallies[op] : NULL;

	if (cap_unlikely(t->paused >> b->index & 1 || cap_tally_over))
		return NULL;
	return cap_likely(y != NULL) ? y : begin(t, b, op);
}

/* The first shared buffer that wants it has the tallies. */
static struct core_buffer *shared_of(uint64_t buffers)
{
	for (; buffers; buffers &= buffers - 1) {
		struct core_buffer *b = &core_buffers[__builtin_ctzll(buffers)];

		if (!core_buffer_private(b))
			return b;
	}
	return NULL;
}

void cap_count_call(const struct cap_op *op, uint64_t duration, uint64_t self)
{
	struct core_buffer *b = shared_of(atomic_load_explicit(&op->buffers, memory_order_relaxed));
	struct cap_thread *t = cap_thread_current;
	struct wire_tally *y = b && t ? tally_of(t, b, op->wire) : NULL;

	if (!y)
		return;
	if (!b->desc.tally)
		y->flags |= WIRE_TALLY_BESIDE;
	y->count++;
	y->self += self;
	cap_tally_time(y, duration);
}

void core_tally_call(struct cap_thread *t, struct core_buffer *b, struct cap_frame *f)
{
	struct wire_tally *y = tally_of(t, b, f->op->wire);
	uint64_t duration = f->end - f->start;

	if (cap_unlikely(!y))
		return;
	y->count++;
	y->errors += f->has_status;
	y->self += duration - (f->inside < duration ? f->inside : duration);
	cap_tally_time(y, duration);
	f->inside = 0;
	if (cap_unlikely(f != t->frames) && f > t->frames && f < t->frames + CAP_FRAMES &&
	    !f[-1].end)
		f[-1].inside += duration;
}
