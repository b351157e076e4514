/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one size is allocated and released again and again at one place: all but the first allocation
 * could be left out. Calls of a pool (stream-ordered ones) are what is advised, and not counted.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"
#include "record/fields.h"
#include "base/plain.h"

#define LEAST_NUMBER 10 /* releases of the same; fewer are no loop */

struct search {
	struct places allocated; /* device: agent, kernel: class of bytes */
	struct map of;           /* process and number of an allocation to its place + 1 */
	struct intervals times;
	uint64_t gain, number;
};

static uint64_t key_of(const struct diagnosis *d, const struct tl_allocation *a)
{
	return a->allocation * 4096 + d->trace->threads[a->thread].process % 4096 + 1;
}

static bool counts(const struct tl_allocation *a)
{
	return a->allocation && a->what != ALLOCATION_POOL && a->what != ALLOCATION_SUB_BUFFER;
}

/* Sizes are told apart by 32 bits of them: two that collide are added up, which does no harm. */
static void add_call(struct diagnosis *d, struct search *s, const struct tl_allocation *a,
		     struct place *p)
{
	const struct tl_call *c = timeline_find(d->tl, d->trace->threads[a->thread].process, a->id);
	uint64_t ns;

	if (!c)
		return;
	c = timeline_outermost(d->tl, c);
	ns = call_exposed(d, c->start, c->end);
	if (a->freed && !p->other++)
		return; /* the first pair is needed */
	if (!a->freed && !p->count) {
		p->count++; /* and may be where the runtime begins */
		return;
	}
	place_add(p, ns, c->start, c->end);
	d->failed |= !intervals_add(&s->times, c->start, c->end);
}

static void look_at(struct diagnosis *d, struct search *s, const struct tl_allocation *a)
{
	const struct tl_call *c = timeline_find(d->tl, d->trace->threads[a->thread].process, a->id);
	uint64_t i;

	if (a->freed) {
		i = map_remove(&s->of, key_of(d, a));
		if (i)
			add_call(d, s, a, &s->allocated.at[i - 1]);
		return;
	}
	if (c) {
		struct place *p;

		c = timeline_outermost(d->tl, c);
		p = places_at(&s->allocated, a->agent, c->site, c->op, (uint32_t)a->bytes);
		if (!p || !map_set(&s->of, key_of(d, a), (uint64_t)(p - s->allocated.at) + 1)) {
			d->failed = true;
			return;
		}
		p->bytes = a->bytes;
		add_call(d, s, a, p);
	}
}

static void find(struct diagnosis *d)
{
	struct search s = {0};
	const struct place *most = NULL;
	struct finding *f = NULL;
	char bytes[UNITS_TEXT], time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->tl->allocations_count; i++)
		if (counts(&d->tl->allocations[i]))
			look_at(d, &s, &d->tl->allocations[i]);
	places_sort(&s.allocated);
	for (uint32_t i = 0; i < s.allocated.count; i++) {
		const struct place *p = &s.allocated.at[i];

		if (p->other < LEAST_NUMBER)
			continue;
		if (!most)
			most = p;
		s.gain += p->ns;
		s.number += p->other;
	}
	s.gain = least(s.gain, times_exposed(d, &s.times)); /* one call may make many */
	if (most)
		f = finding_add(d, s.gain, "%s allocated and freed %" PRIu64 " times, %s",
				units_bytes((double)most->bytes, bytes), s.number,
				units_time(s.gain, time));
	if (f) {
		struct place shown = *most;

		shown.kernel = 0;
		shown.device = TIMELINE_NONE;
		f->count = s.number;
		finding_set_place(d, f, &shown);
		plain_addf(&f->evidence,
			   "%" PRIu64 " of %s released again, %s in calls while no device worked\n",
			   most->other, units_bytes((double)most->bytes, bytes),
			   units_time(most->ns, time));
		text_add(&f->advice, "allocate once before the loop, or use a pool "
				     "(cudaMallocAsync)");
	}
	claim_gaps(d, &s.times, f);
	d->failed |= s.allocated.failed;
	places_release(&s.allocated);
	map_release(&s.of);
}

const struct rule rule_allocation_churn = {
	.id = "allocation-churn",
	.what = "the same memory is allocated and freed again and again",
	.threshold = 0.02,
	.why = "below that it is noise; fewer than 10 of one size and place are no loop",
	.cost = "calls that allocate and free while no device works, but the first of each size "
		"and "
		"place",
	.find = find,
};
