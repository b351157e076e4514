/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one size is allocated at one place when what was allocated there before has been released: it could have
 * been kept. What one call does inside, however often, is no loop of the program: libraries try sizes and addresses while
 * they are set up. Calls of a pool (stream-ordered ones) are what is advised, and not counted.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/plain.h"
#include "base/vec.h"
#include "record/fields.h"

#define LEAST_NUMBER 10 /* releases of the same, and calls of the program; fewer are no loop */

/* A call that allocated or released. */
struct spent {
	int64_t start, end;
	uint32_t place;
	uint32_t before; /* number + 1 of the release before it that nothing was allocated after */
	bool needless;
};

/* What is known of a place besides. */
struct made {
	uint32_t outermost; /* the last call of the program that allocated, */
	uint32_t calls;     /* of so many */
	uint32_t released;  /* number + 1 of the last release that nothing was allocated after */
};

struct search {
	struct places places; /* device: agent, kernel: class of bytes; other: releases */
	struct made *made;    /* of each */
	struct spent *spent;
	uint32_t made_count, made_room, spent_count, spent_room;
	struct map of; /* process and number of an allocation to its place + 1 */
};

static uint64_t key_of(const struct diagnosis *d, const struct tl_allocation *a)
{
	return a->allocation * 4096 + d->trace->threads[a->thread].process % 4096 + 1;
}

static bool counts(const struct tl_allocation *a)
{
	return a->allocation && a->what != ALLOCATION_POOL && a->what != ALLOCATION_SUB_BUFFER;
}

/* The call itself: what was called around it does more than allocate. NULL: no memory. */
static struct spent *add_spent(struct search *s, const struct tl_call *c, uint32_t place)
{
	struct spent *x;

	if (!vec_reserve(&s->spent, &s->spent_room, s->spent_count, 1))
		return NULL;
	x = &s->spent[s->spent_count++];
	*x = (struct spent){.start = c->start, .end = c->end, .place = place};
	return x;
}

static bool add_release(struct search *s, const struct tl_call *c, uint32_t place)
{
	struct made *m = &s->made[place];
	struct spent *x = add_spent(s, c, place);

	if (!x)
		return false;
	x->before = m->released;
	m->released = s->spent_count;
	s->places.at[place].other++;
	return true;
}

/* What was released before it need not have been. */
static bool add_allocation(struct search *s, const struct tl_call *c, uint32_t place)
{
	struct made *m = &s->made[place];
	struct spent *x = add_spent(s, c, place);

	if (!x)
		return false;
	m->calls += !m->calls || m->outermost != c->outermost;
	m->outermost = c->outermost;
	if (m->released) {
		struct spent *release = &s->spent[m->released - 1];

		x->needless = release->needless = true;
		m->released = release->before;
	}
	return true;
}

/* Sizes are told apart by 32 bits of them: two that collide are added up, which does no harm. */
static bool place_of(struct diagnosis *d, struct search *s, const struct tl_allocation *a,
		     const struct tl_call *c, uint32_t *place)
{
	const struct tl_call *outer = timeline_outermost(d->tl, c);
	struct place *p =
		places_at(&s->places, a->agent, outer->site, outer->op, (uint32_t)a->bytes);

	if (!p)
		return false;
	p->bytes = a->bytes;
	*place = (uint32_t)(p - s->places.at);
	if (*place < s->made_count)
		return true;
	if (!vec_reserve(&s->made, &s->made_room, s->made_count, 1))
		return false;
	s->made[s->made_count++] = (struct made){0};
	return true;
}

static bool look_at(struct diagnosis *d, struct search *s, const struct tl_allocation *a)
{
	const struct tl_call *c = timeline_find(d->tl, d->trace->threads[a->thread].process, a->id);
	uint64_t known = a->freed ? map_remove(&s->of, key_of(d, a)) : 0;
	uint32_t place;

	if (!c || a->freed)
		return !c || !known || add_release(s, c, (uint32_t)known - 1);
	return place_of(d, s, a, c, &place) && map_set(&s->of, key_of(d, a), place + 1) &&
	       add_allocation(s, c, place);
}

static bool is_loop(const struct search *s, uint32_t place)
{
	return s->places.at[place].other >= LEAST_NUMBER && s->made[place].calls >= LEAST_NUMBER;
}

/* When it was allocated and released needlessly, at one place or (TIMELINE_NONE) at all that are a loop. */
static struct intervals times_of(struct diagnosis *d, const struct search *s, uint32_t place)
{
	struct intervals times = {0};

	for (uint32_t i = 0; i < s->spent_count; i++) {
		const struct spent *x = &s->spent[i];

		if (x->needless &&
		    (place == TIMELINE_NONE ? is_loop(s, x->place) : x->place == place))
			d->failed |= !intervals_add(&times, x->start, x->end);
	}
	intervals_unite(&times);
	return times;
}

/* Of each place the sum, to find that with most; where threads do so at once it is more than the time that passed. */
static const struct place *most_of(const struct diagnosis *d, struct search *s, uint64_t *number)
{
	const struct place *most = NULL;

	for (uint32_t i = 0; i < s->spent_count; i++) {
		const struct spent *x = &s->spent[i];

		if (x->needless)
			place_add(&s->places.at[x->place], call_exposed(d, x->start, x->end),
				  x->start, x->end);
	}
	for (uint32_t i = 0; i < s->places.count; i++) {
		const struct place *p = &s->places.at[i];

		if (!is_loop(s, i))
			continue;
		*number += p->other;
		if (!most || p->ns > most->ns)
			most = p;
	}
	return most;
}

static void say(struct diagnosis *d, struct finding *f, const struct search *s,
		const struct place *most)
{
	struct intervals times = times_of(d, s, (uint32_t)(most - s->places.at));
	char bytes[UNITS_TEXT], time[UNITS_TEXT];
	struct place shown = *most;

	shown.kernel = 0;
	shown.device = TIMELINE_NONE;
	finding_set_place(d, f, &shown);
	plain_addf(&f->evidence, "%s times %s there, %s in these calls while no device worked\n",
		   UNITS_COUNT(most->other), units_bytes((double)most->bytes, bytes),
		   units_time(times_exposed(d, &times), time));
	text_add(&f->advice, "allocate once before the loop, or use a pool (cudaMallocAsync)");
	intervals_release(&times);
}

static void find(struct diagnosis *d)
{
	struct search s = {0};
	struct intervals times;
	const struct place *most;
	struct finding *f = NULL;
	uint64_t gain, number = 0;
	char bytes[UNITS_TEXT], time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->tl->allocations_count && !d->failed; i++)
		if (counts(&d->tl->allocations[i]))
			d->failed |= !look_at(d, &s, &d->tl->allocations[i]);
	most = most_of(d, &s, &number);
	times = times_of(d, &s, TIMELINE_NONE);
	gain = times_exposed(d, &times);
	if (most)
		f = finding_add(d, gain, "%s allocated and freed %s times, %s",
				most->other == number ? units_bytes((double)most->bytes, bytes)
						      : "memory",
				UNITS_COUNT(number), units_time(gain, time));
	if (f) {
		f->count = number;
		say(d, f, &s, most);
	}
	claim_gaps(d, &times, f);
	places_release(&s.places);
	map_release(&s.of);
	free(s.made);
	free(s.spent);
}

const struct rule rule_allocation_churn = {
	.id = "allocation-churn",
	.what = "the same memory is allocated and freed again and again",
	.threshold = 0.02,
	.why = "below that it is noise; fewer than 10 of one size and place, or in fewer than 10 "
	       "calls of the program, are no loop",
	.cost = "calls that release while no device works what the same place allocates again "
		"later, and those that do so",
	.find = find,
};
