/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting instead of recording: a call adds to its thread's tally of its op. The tallies lie in
 * chunks of the buffer, so nothing has to be saved at the end and a crash loses nothing.
 */
#include "wire/tally.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/internal.h"

#define TABLE_BYTES (65536u * sizeof(struct wire_tally *))

static struct wire_tally **table(struct cap_thread *t)
{
	void *p;

	if (!t->tallies) {
		p = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		t->tallies = p == MAP_FAILED ? NULL : p;
	}
	return t->tallies;
}

void core_tally_release(struct cap_thread *t)
{
	if (t->tallies)
		munmap(t->tallies, TABLE_BYTES);
	t->tallies = NULL;
}

static bool has_room(const struct core_buffer *b, const struct wire_ring *r)
{
	uint32_t used = r->chunk ? atomic_load_explicit(&r->chunk->committed, memory_order_relaxed)
				 : b->pool->chunk_size;

	return used + sizeof(struct wire_tally) <= b->pool->chunk_size;
}

/* The thread's first call of the op. */
static struct wire_tally *add(struct cap_thread *t, struct core_buffer *b, uint16_t op)
{
	struct wire_ring *r = &t->tally_ring;
	struct wire_tally *y;
	uint32_t used;

	if (!b->ready || !table(t))
		return NULL;
	if (!has_room(b, r)) {
		core_ring_close(b, r);
		if (!core_ring_open(t, b, r, WIRE_CHUNK_TALLY))
			return NULL;
	}
	used = atomic_load_explicit(&r->chunk->committed, memory_order_relaxed);
	y = (struct wire_tally *)((uint8_t *)r->chunk + used);
	memset(y, 0, sizeof(*y));
	y->op = op;
	y->min = UINT64_MAX;
	atomic_store_explicit(&r->chunk->committed, used + (uint32_t)sizeof(*y),
			      memory_order_release);
	t->tallies[op] = y;
	return y;
}

void core_tally_call(struct cap_thread *t, struct core_buffer *b, struct cap_frame *f)
{
	struct wire_tally *y = t->tallies ? t->tallies[f->op->wire] : NULL;
	uint64_t duration = f->end - f->start;
	int saved;

	if (cap_unlikely(t->paused >> b->index & 1))
		return;
	if (cap_unlikely(!y)) {
		saved = errno;
		y = add(t, b, f->op->wire);
		errno = saved;
		if (!y) {
			if (b->pool)
				atomic_fetch_add(&b->pool->lost_records, 1);
			return;
		}
	}
	y->count++;
	y->errors += f->has_status;
	y->total += duration;
	y->self += duration - (f->inside < duration ? f->inside : duration);
	y->min = duration < y->min ? duration : y->min;
	y->max = duration > y->max ? duration : y->max;
	y->histogram[wire_tally_bucket(duration)]++;
	f->inside = 0;
	if (f != t->frames && !f[-1].end)
		f[-1].inside += duration;
}
