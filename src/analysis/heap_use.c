/* SPDX-License-Identifier: Apache-2.0 */
/* See heap_use.h. */
#include "analysis/heap_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/fields.h"

struct heap_use *heap_use_new(const struct trace *t)
{
	struct heap_use *u = calloc(1, sizeof(*u));

	if (u)
		u->trace = t;
	return u;
}

void heap_use_free(struct heap_use *u)
{
	if (!u)
		return;
	map_release(&u->places);
	map_release(&u->allocated);
	free(u->rows);
	free(u->processes);
	free(u);
}

static struct heap_use_row *row_of(struct heap_use *u, uint32_t process, uint32_t stack)
{
	const uint64_t key = ((uint64_t)process << 32 | stack) + 1;
	uint64_t i = map_get(&u->places, key);

	if (i)
		return &u->rows[i - 1];
	if (!vec_reserve(&u->rows, &u->rows_room, u->rows_count, 1) ||
	    !map_set(&u->places, key, u->rows_count + 1u))
		return NULL;
	u->rows[u->rows_count] = (struct heap_use_row){.process = process, .stack = stack};
	return &u->rows[u->rows_count++];
}

/* It has not changed since the last peak before: so what it has now it had then. */
static void settle(struct heap_use_row *row, const struct heap_use_process *p)
{
	if (row->epoch != p->epoch)
		row->at_peak = row->live;
	row->epoch = p->epoch;
}

/* An allocation of which each of the same size was taken with the probability 1 / objects. */
static double variance_of(const struct rec_heap *r)
{
	return r->objects > 1 ? (double)r->bytes * (double)r->bytes * (1 - 1 / r->objects) : 0;
}

static void allocate(struct heap_use_row *row, struct heap_use_process *p, const struct rec_heap *r)
{
	settle(row, p);
	row->samples++;
	row->bytes += r->bytes;
	row->live += r->bytes;
	row->objects += r->objects;
	row->live_objects += r->objects;
	row->variance += variance_of(r);
	row->live_variance += variance_of(r);
	p->live += r->bytes;
	if (p->live <= p->peak)
		return;
	p->peak = p->live;
	p->peak_time = r->base.start;
	p->epoch++;
}

static void release(struct heap_use_row *row, struct heap_use_process *p, const struct rec_heap *r)
{
	settle(row, p);
	row->live -= r->bytes;
	row->live_objects -= r->objects;
	row->live_variance -= variance_of(r);
	p->live -= r->bytes;
}

static uint64_t allocation_key(const struct rec_heap *r)
{
	return (uint64_t)r->base.process << 44 ^ r->allocation;
}

void heap_use_add(struct heap_use *u, const struct rec_heap *r)
{
	const bool frees = u->trace->ops[r->base.op].number == HEAP_OP_FREE;
	struct heap_use_process *p;
	struct heap_use_row *row = NULL;
	uint64_t i;

	if (!u->processes)
		u->processes = calloc(u->trace->processes_count + 1u, sizeof(*u->processes));
	if (!u->processes) {
		u->failed = true;
		return;
	}
	p = &u->processes[r->base.process];
	if (r->lost) {
		p->lost += r->lost;
		return;
	}
	if (frees) { /* of what was allocated before it was recorded, or chosen, nothing is known */
		i = map_remove(&u->allocated, allocation_key(r));
		if (i)
			release(&u->rows[i - 1], p, r);
		return;
	}
	row = row_of(u, r->base.process, r->base.stack);
	if (!row || !map_set(&u->allocated, allocation_key(r), (uint64_t)(row - u->rows) + 1)) {
		u->failed = true;
		return;
	}
	allocate(row, p, r);
}

void heap_use_finish(struct heap_use *u)
{
	for (uint32_t i = 0; i < u->rows_count; i++)
		settle(&u->rows[i], &u->processes[u->rows[i].process]);
}

double heap_use_error(double variance, uint64_t bytes)
{
	return bytes && variance > 0 ? sqrt(variance) / (double)bytes : 0;
}
