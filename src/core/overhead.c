/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs the program, as a number that every trace carries: the cost of a record,
 * measured here on this machine when recording begins, times the records; plus time that is
 * measured where it is spent (waiting for room, harvesting device work). The sum is kept where the
 * drain sees it, so that a killed process has it too.
 */
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>

#define BATCH   64u
#define BATCHES 16u

static _Atomic uint64_t measured; /* ticks */

void cap_overhead(uint64_t ticks)
{
	uint64_t sum = atomic_fetch_add_explicit(&measured, ticks, memory_order_relaxed) + ticks;
	struct core_pool *pool = core_shared_pool();

	if (pool)
		atomic_store_explicit(&pool->shm->overhead_ticks, sum, memory_order_relaxed);
}

/* A record of four fields, as a wrapper writes it, into memory of our own. */
static void record(struct cap_thread *t, struct cap_op *op, struct wire_ring *r)
{
	struct cap_frame *f = &t->frames[0];
	struct wire_event v = {0};
	struct wire_enc e;

	f->id = t->next_id++;
	f->site = cap_site(t, record);
	f->op = op;
	f->start = tick_now();
	f->end = tick_now();
	v.id = f->id;
	v.start = f->start;
	v.end = f->end;
	v.site = f->site;
	wire_begin(&e, r, &v, 4);
	wire_pointer(&e, 0, t);
	wire_unsigned(&e, 1, 1);
	wire_unsigned(&e, 2, 4096);
	wire_pointer(&e, 3, NULL);
	wire_end(&e, r);
}

/* Ticks of the fastest batch. */
static uint64_t fastest(struct cap_thread *t, struct wire_chunk *chunk)
{
	struct cap_op op = {0};
	uint64_t best = UINT64_MAX;

	t->sites[(unsigned)(((uintptr_t)record * 0x9e3779b97f4a7c15ull) >> 56) % CAP_SITES]
		.address = (uintptr_t)record;
	for (unsigned b = 0; b < BATCHES; b++) {
		struct wire_ring r = {.cur = (uint8_t *)(chunk + 1), .chunk = chunk};
		uint64_t start = tick_now(), ticks;

		r.last_tick = start;
		for (unsigned i = 0; i < BATCH; i++)
			record(t, &op, &r);
		ticks = tick_now() - start;
		best = ticks < best ? ticks : best;
	}
	return best;
}

void core_overhead_define(void)
{
	size_t bytes = sizeof(struct wire_chunk) + BATCH * 64 + WIRE_RECORD_MAX + WIRE_SLACK;
	static uint64_t batch;
	struct cap_thread *t = aligned_alloc(_Alignof(struct cap_thread), sizeof(*t));
	struct wire_chunk *chunk = calloc(1, bytes);
	struct wire_def d;

	if (t && chunk && !batch) {
		memset(t, 0, sizeof(*t));
		batch = fastest(t, chunk);
	}
	free(t);
	free(chunk);
	wire_def_init(&d, DEF_OVERHEAD);
	wire_def_u64(&d, batch * 1000 / BATCH);
	wire_def_u64(&d, atomic_load(&measured));
	cap_define(&d);
}

void core_overhead_fork_child(void)
{
	atomic_store(&measured, 0);
}
