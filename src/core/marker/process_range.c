/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of the process: any thread starts one, any thread stops it. */
#include "core/marker/range.h"
#include "core/marker/hide.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/locks.h"

#define PROCESS_RANGES 65536u

struct place {
	struct range range;
	uint32_t generation; /* in the id: ids of closed ranges are recognised */
	uint32_t next_free;  /* index + 1 */
	bool open;
};

/* Under `threads`. Pieces never move: what an id names stays where it is. */
static struct place *pieces[PROCESS_RANGES / 256];
static uint32_t places_used, places_free;

static struct place *place_at(uint32_t i)
{
	return i < places_used ? &pieces[i / 256][i % 256] : NULL;
}

static struct place *place_take(uint32_t *index)
{
	struct place *p;

	if (places_free) {
		*index = places_free - 1;
		p = place_at(*index);
		places_free = p->next_free;
		return p;
	}
	if (places_used == PROCESS_RANGES)
		return NULL;
	if (!pieces[places_used / 256])
		pieces[places_used / 256] = calloc(256, sizeof(struct place));
	if (!pieces[places_used / 256])
		return NULL;
	*index = places_used++;
	return place_at(*index);
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
	struct place *p;
	uint32_t i = 0;
	uint64_t id = 0;

	if (marker_cannot_hold())
		return 0;
	marker_hold();
	p = place_take(&i);
	if (p) {
		p->range = *r;
		p->open = true;
		p->generation++;
		id = (uint64_t)p->generation << 32 | (i + 1u);
	}
	marker_let_go();
	return id;
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
	struct place *p;
	bool found;

	if (marker_cannot_hold())
		return false;
	marker_hold();
	p = place_at(i);
	found = p && p->open && p->generation == id >> 32;
	if (found) {
		*out = p->range;
		p->open = false;
		p->next_free = places_free;
		places_free = i + 1;
	}
	marker_let_go();
	return found;
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
	uint32_t n = 0;

	kymo_assert_held(&core_live->threads);
	for (uint32_t i = 0; i < places_used && n < room; i++) {
		struct place *p = place_at(i);

		if (!p->open)
			continue;
		p->open = false;
		out[n++] = p->range;
	}
	return n;
}

void process_ranges_fork_child(void)
{
	for (uint32_t i = 0; i < places_used; i++)
		place_at(i)->open = false;
	places_used = places_free = 0;
}
