/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one kind grows all through the run, though what it was allocated for may be over. What is allocated first
 * and kept, and a cache that fills once, do not grow any more later.
 *
 * A host that is ahead of its device allocates in a moment what a long run needs, so "later" is told by the work that was
 * submitted; where there is none, by time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/progress.h"
#include "analysis/rules/support.h"
#include "base/plain.h"
#include "base/vec.h"
#include "stream/names.h"

enum {
	PARTS = 16,       /* of the run */
	LEAST_PARTS = 12, /* until so late memory is allocated, and in so many it grows */
	LEAST_BYTES = 1 << 20
};

struct event {
	const struct tl_allocation *a;
	uint32_t process;
	bool kept; /* allocated, and not freed until the last allocation */
};

struct events {
	struct event *at;
	uint32_t count, room;
};

struct growth {
	uint64_t least[PARTS]; /* bytes in use in each part */
	uint32_t last;         /* part in which the last was allocated */
	uint64_t now;
};

static int by_key(const struct event *x, const struct event *y)
{
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->a->kind != y->a->kind)
		return x->a->kind < y->a->kind ? -1 : 1;
	if (x->a->agent != y->a->agent)
		return x->a->agent < y->a->agent ? -1 : 1;
	return 0;
}

static int in_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int key = by_key(x, y);

	if (key)
		return key;
	if (x->a->time != y->a->time)
		return x->a->time < y->a->time ? -1 : 1;
	return x->a < y->a ? -1 : x->a > y->a;
}

/* ---- growth -------------------------------------------------------------------------------------- */

static void allocated(struct diagnosis *d, struct map *of, struct event *e, uint32_t number,
		      struct growth *g)
{
	g->now += e->a->bytes;
	e->kept = true;
	if (!map_set(of, e->a->allocation + 1, number + 1))
		d->failed = true;
}

static void freed(struct map *of, struct event *events, const struct event *e, struct growth *g)
{
	uint64_t i = map_get(of, e->a->allocation + 1);

	if (!i || !events[i - 1].kept)
		return;
	events[i - 1].kept = false;
	g->now -= events[i - 1].a->bytes;
}

/* Until the last is allocated: what is freed after that is the end of the program. */
static struct growth grow(struct diagnosis *d, struct event *events, uint32_t count,
			  const struct progress *p)
{
	struct growth g = {.last = 0};
	struct map of = {0};
	uint32_t part = 0;

	while (count && events[count - 1].a->freed)
		count--;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t now = progress_part(p, events[i].a->time, PARTS);

		while (part < now)
			g.least[++part] = g.now;
		if (events[i].a->freed)
			freed(&of, events, &events[i], &g);
		else
			allocated(d, &of, &events[i], i, &g);
		g.least[part] = least(g.least[part], g.now);
	}
	g.last = part;
	map_release(&of);
	return g;
}

static bool steady(const struct growth *g)
{
	uint64_t all = g->now - g->least[0], half = g->now - g->least[(g->last + 1) / 2];
	uint32_t risen = 0;

	for (uint32_t i = 1; i <= g->last; i++) {
		if (g->least[i] < g->least[i - 1])
			return false;
		risen += g->least[i] > g->least[i - 1];
	}
	return g->last + 1 >= LEAST_PARTS && 4 * risen >= 3 * g->last && all >= LEAST_BYTES &&
	       2 * all >= g->now && 3 * half >= all;
}

/* ---- telling ------------------------------------------------------------------------------------- */

static void add_places(struct diagnosis *d, struct places *g, const struct event *events,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct tl_call *c;
		struct place *p;

		if (!events[i].kept)
			continue;
		c = timeline_find(d->tl, events[i].process, events[i].a->id);
		c = c ? timeline_outermost(d->tl, c) : NULL;
		p = places_at(g, TIMELINE_NONE, c ? c->site : 0, c ? c->op : TIMELINE_NONE, 0);
		place_add(p, events[i].a->bytes, events[i].a->time, events[i].a->time);
	}
}

static void add_where(struct diagnosis *d, struct finding *f, const struct event *e,
		      const struct place *most)
{
	const struct t_process *p = &d->trace->processes[e->process];

	if (p->rank != UINT32_MAX)
		plain_addf(&f->where, "rank %" PRIu32 ", ", p->rank);
	if (most) {
		plain_addf(&f->where, "%s", op_name(d, most->op));
		if (most->site) {
			text_add(&f->where, " at ");
			finding_add_site(d, &f->where, most->site);
		}
	}
	if (e->a->agent && e->a->agent < d->trace->agents_count)
		plain_addf(&f->where, ", %s", name_device(&d->trace->agents[e->a->agent]));
}

static void tell(struct diagnosis *d, const struct growth *g, const struct event *events,
		 uint32_t count)
{
	char half[UNITS_TEXT], end[UNITS_TEXT], bytes[UNITS_TEXT];
	uint32_t middle = (g->last + 1) / 2;
	struct places places = {0};
	const struct place *most;
	struct finding *f = finding_add_fact(
		d, "%s memory grows all through the run: %s halfway, %s at the end",
		name_memory_kind(events[0].a->kind), units_bytes((double)g->least[middle], half),
		units_bytes((double)g->now, end));

	if (f) {
		f->process = events[0].process;
		f->agent = events[0].a->agent;
	}
	add_places(d, &places, events, count);
	most = places_sort(&places);
	if (f && most) {
		for (uint32_t i = 0; i < places.count; i++)
			f->count += places.at[i].count;
		plain_addf(&f->evidence, "%s allocations are kept", UNITS_COUNT(f->count));
		plain_addf(&f->evidence, ", the most by one line: %s of %s\n",
			   UNITS_COUNT(most->count), units_bytes((double)most->ns, bytes));
		add_where(d, f, events, most);
		text_add(&f->show, "kymo summary --tables allocations --by site ");
		text_add_shell(&f->show, d->path);
		text_add(&f->advice,
			 "free what is not needed any more, or use it again; bound what "
			 "is kept from step to step");
	}
	d->failed |= places.failed;
	places_release(&places);
}

/* The rule `leak` tells what is never freed. */
static bool leaks_told(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (strcmp(d->findings[i].rule->id, "leak") == 0)
			return true;
	return false;
}

static void collect(struct diagnosis *d, struct events *all)
{
	const struct timeline *tl = d->tl;
	bool without_leaks = leaks_told(d);
	struct map *released = calloc((size_t)d->trace->processes_count + 1, sizeof(*released));

	d->failed |= !released;
	for (uint32_t i = 0; i < tl->allocations_count && !d->failed; i++) {
		const struct tl_allocation *a = &tl->allocations[i];

		if (a->freed &&
		    !map_set(&released[d->trace->threads[a->thread].process], a->allocation + 1, 1))
			d->failed = true;
	}
	for (uint32_t i = 0; i < tl->allocations_count && !d->failed; i++) {
		const struct tl_allocation *a = &tl->allocations[i];
		uint32_t process = d->trace->threads[a->thread].process;

		if (a->what == ALLOCATION_SUB_BUFFER || a->what == ALLOCATION_REGISTERED ||
		    (without_leaks && !a->freed && !map_get(&released[process], a->allocation + 1)))
			continue;
		if (!vec_reserve(&all->at, &all->room, all->count, 1))
			d->failed = true;
		else
			all->at[all->count++] = (struct event){.a = a, .process = process};
	}
	for (uint32_t i = 0; released && i < d->trace->processes_count; i++)
		map_release(&released[i]);
	free(released);
}

static void find_growth(struct diagnosis *d, struct events *all)
{
	uint32_t steps_count;
	struct step *steps = progress_steps(d->tl, false, &steps_count);
	struct progress p = {0};
	uint32_t process = 0;

	d->failed |= !steps;
	qsort(all->at, all->count, sizeof(*all->at), in_order);
	for (uint32_t first = 0, end; first < all->count && !d->failed; first = end) {
		struct event *events = &all->at[first];
		struct growth g;

		for (end = first + 1; end < all->count && by_key(events, &all->at[end]) == 0;)
			end++;
		if (events->process != process)
			progress_next(&p, d->tl, steps, steps_count, events->process);
		process = events->process;
		g = grow(d, events, end - first, &p);
		if (steady(&g) && !d->failed && diagnosis_ended(d, process))
			tell(d, &g, events, end - first);
	}
	free(steps);
}

static void find(struct diagnosis *d)
{
	struct events all = {0};

	if (!d->tl->allocations_count)
		return;
	if (timeline_missing(d->tl) || d->tl->partial || d->tl->window ||
	    d->trace->pauses_count > 1) {
		diagnosis_abstain(d, "records are missing: what was freed is not known");
		return;
	}
	collect(d, &all);
	if (all.count && !d->failed)
		find_growth(d, &all);
	free(all.at);
}

const struct rule rule_memory_growth = {
	.id = "memory-growth",
	.what = "memory of one kind grows all through the run",
	.threshold = 0,
	.why = "1 MiB or more, and in three of four sixteenths of the run: what is allocated at "
	       "its "
	       "begin, or a cache until it is full, is no growth",
	.cost = "no time: memory runs out in a longer run",
	.find = find,
};
