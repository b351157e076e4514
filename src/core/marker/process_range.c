/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of the process: any thread starts one, any thread stops it. */
#include "core/marker/range.h"
#include "core/marker/hide.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PROCESS_RANGES 65536u

struct place {
	struct range range;
	_Atomic uint32_t state; /* generation << 1 | open; ids of closed ranges are recognised */
	_Atomic uint32_t next_free; /* index + 1 */
};

/*
 * Without locks: a signal handler's range would wait for its own thread. Pieces never move: what an id names stays where it is.
 * Who takes a place, or closes it, has it to himself until it is open, or free.
 */
static struct place *_Atomic pieces[PROCESS_RANGES / 256];
static _Atomic uint32_t places_used;
static _Atomic uint64_t places_free; /* of the first: index + 1; above it, how often that changed */

static struct place *place_at(uint32_t i)
{
	return i < atomic_load(&places_used) ? &atomic_load(&pieces[i / 256])[i % 256] : NULL;
}

static bool piece_is_there(uint32_t n)
{
	struct place *piece = atomic_load(&pieces[n]), *made;

	if (piece)
		return true;
	made = calloc(256, sizeof(*made));
	if (made && !atomic_compare_exchange_strong(&pieces[n], &piece, made))
		free(made); /* another thread's is there */
	return made || piece;
}

static struct place *place_take(uint32_t *index)
{
	uint64_t free_ones = atomic_load(&places_free), next;
	uint32_t used;

	while ((uint32_t)free_ones) {
		*index = (uint32_t)free_ones - 1;
		next = atomic_load(&place_at(*index)->next_free);
		if (atomic_compare_exchange_weak(&places_free, &free_ones,
						 ((free_ones >> 32) + 1) << 32 | next))
			return place_at(*index);
	}
	used = atomic_load(&places_used);
	do {
		if (used == PROCESS_RANGES || !piece_is_there(used / 256))
			return NULL;
	} while (!atomic_compare_exchange_weak(&places_used, &used, used + 1));
	*index = used;
	return place_at(used);
}

static void place_free(struct place *p, uint32_t index)
{
	uint64_t free_ones = atomic_load(&places_free);

	do {
		atomic_store(&p->next_free, (uint32_t)free_ones);
	} while (!atomic_compare_exchange_weak(&places_free, &free_ones,
					       ((free_ones >> 32) + 1) << 32 | (index + 1)));
}

/* False: it is not open any longer. */
static bool place_claim(struct place *p, uint32_t state)
{
	return (state & 1) && atomic_compare_exchange_strong(&p->state, &state, state & ~1u);
}

void process_range_write(struct cap_thread *t, const struct range *r, uint64_t end,
			 enum marker_how how)
{
	struct cap_frame f;
	struct wire_enc e;

	if (!marker_record_begin(t, &f, &e, &marker_ops[MARKER_OP_PROCESS_RANGE], marker_told_id(r),
				 r->start, end, r->parent, MARKER_PROCESS_FIELDS))
		return;
	marker_put_fields(&e, r, how);
	wire_unsigned(&e, MARKER_PROCESS_THREAD, r->thread);
	marker_record_commit(t, &f, &e);
}

static uint64_t process_range_open(const struct range *r)
{
	uint32_t i, generation;
	struct place *p = place_take(&i);

	if (!p)
		return 0;
	generation = (atomic_load(&p->state) >> 1) + 1;
	p->range = *r;
	atomic_store(&p->state, generation << 1 | 1);
	return (uint64_t)generation << 32 | (i + 1u);
}

uint64_t marker_start(const kymo_marker_t *k)
{
	struct range r = {0};
	struct marker_thread *m;
	struct cap_thread *t;
	int saved = errno;
	uint64_t id;

	if (!marker_listening(1) || marker_hides(k) || !(t = marker_thread_get(&m)) ||
	    !marker_set(m, &r, k))
		return 0;
	r.parent = t->scope;
	r.scope = marker_scope_next(m);
	r.thread = t->index;
	r.start = tick_now();
	callbacks_begin(t, &r, &marker_ops[MARKER_OP_PROCESS_RANGE]);
	id = process_range_open(&r);
	if (!id) {
		marker_fault(FAULT_MANY);
		if (r.callbacks) /* who heard it begin hears it end */
			callbacks_end(&r, &marker_ops[MARKER_OP_PROCESS_RANGE]);
		marker_extra_free(r.extra);
	}
	errno = saved;
	return id;
}

static bool process_range_close(uint64_t id, struct range *out)
{
	uint32_t i = (uint32_t)id - 1;
	struct place *p = place_at(i);

	if (!p || !place_claim(p, (uint32_t)(id >> 32) << 1 | 1))
		return false;
	*out = p->range;
	place_free(p, i);
	return true;
}

int marker_stop(uint64_t id)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range r;
	uint64_t end;

	if (!marker_listening(0) || !(t = marker_thread_get(&m)))
		return KYMO_MARKER_OFF;
	if (!id)
		return KYMO_MARKER_OFF; /* started when nobody listened */
	if (!process_range_close(id, &r)) {
		marker_fault(FAULT_UNKNOWN);
		return KYMO_MARKER_UNBALANCED;
	}
	end = tick_now();
	process_range_write(t, &r, end, MARKER_ENDED);
	if (r.callbacks)
		callbacks_end(&r, &marker_ops[MARKER_OP_PROCESS_RANGE]);
	if (cap_wants(CAP_ACTIVITY_SCOPE))
		marker_write_scope(&r, end);
	marker_extra_free(r.extra);
	return 0;
}

uint32_t process_ranges_take(struct range *out, uint32_t room)
{
	uint32_t n = 0, used = atomic_load(&places_used);

	for (uint32_t i = 0; i < used && n < room; i++) {
		struct place *p = place_at(i);

		if (place_claim(p, atomic_load(&p->state)))
			out[n++] = p->range;
	}
	return n;
}

void process_ranges_fork_child(void)
{
	uint32_t used = atomic_load(&places_used);

	for (uint32_t i = 0; i < used; i++) {
		struct place *p = place_at(i);

		atomic_store(&p->state, atomic_load(&p->state) & ~1u);
	}
	atomic_store(&places_used, 0);
	atomic_store(&places_free, 0);
}
