/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_curve.h. */
#include "analysis/memory_curve.h"

#include <stdlib.h>
#include <string.h>

struct event {
	uint32_t process, agent, kind, number;
	int64_t time, bytes;
};

static int by_place(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->agent != y->agent)
		return x->agent < y->agent ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int order = by_place(a, b);

	if (order)
		return order;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static unsigned part_of(const struct timeline *tl, int64_t time)
{
	double share = tl->end > tl->start
			       ? (double)(time - tl->start) / (double)(tl->end - tl->start)
			       : 0;

	return share <= 0 ? 0 : share >= 1 ? CURVE_PARTS - 1 : (unsigned)(share * CURVE_PARTS);
}

/* From its part on there are so many, until something else is said. */
static void rise(struct memory_curve *c, unsigned part, uint64_t bytes)
{
	c->at[part] = bytes > c->at[part] ? bytes : c->at[part];
	c->peak = bytes > c->peak ? bytes : c->peak;
}

/* Events of one place, in order of time. */
static void draw(struct memory_curve *c, const struct timeline *tl, const struct event *e,
		 uint32_t count)
{
	int64_t level = 0;
	unsigned part = 0, next;

	for (uint32_t i = 0; i <= count; i++) {
		next = i < count ? part_of(tl, e[i].time) : CURVE_PARTS - 1;
		while (part < next)
			rise(c, ++part, level > 0 ? (uint64_t)level : 0);
		if (i < count) {
			level += e[i].bytes;
			rise(c, part, level > 0 ? (uint64_t)level : 0);
		}
	}
}

static uint32_t collect(struct event *e, const struct timeline *tl)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tl->allocations_count; i++) {
		const struct tl_allocation *a = &tl->allocations[i];

		if (!a->part)
			e[n++] = (struct event){.process = a->process,
						.agent = a->agent,
						.kind = a->kind,
						.number = i,
						.time = a->time,
						.bytes = a->freed ? -(int64_t)a->bytes
								  : (int64_t)a->bytes};
	}
	if (n)
		qsort(e, n, sizeof(*e), by_time);
	return n;
}

static uint32_t places_of(const struct event *e, uint32_t count)
{
	uint32_t places = 0;

	for (uint32_t i = 0; i < count; i++)
		places += i == 0 || by_place(&e[i - 1], &e[i]) != 0;
	return places;
}

bool memory_curves_find(struct memory_curves *all, const struct timeline *tl)
{
	struct event *e = calloc(tl->allocations_count + 1u, sizeof(*e));
	uint32_t n, first = 0;

	*all = (struct memory_curves){0};
	if (!e)
		return false;
	n = collect(e, tl);
	all->list = calloc(places_of(e, n) + 1u, sizeof(*all->list));
	for (uint32_t i = 1; all->list && i <= n; i++) {
		struct memory_curve *c = &all->list[all->count];

		if (i < n && by_place(&e[first], &e[i]) == 0)
			continue;
		*c = (struct memory_curve){.process = e[first].process,
					   .agent = e[first].agent,
					   .kind = e[first].kind};
		draw(c, tl, e + first, i - first);
		all->count++;
		first = i;
	}
	free(e);
	return all->list;
}

void memory_curves_release(struct memory_curves *all)
{
	free(all->list);
	*all = (struct memory_curves){0};
}

const struct memory_curve *memory_curves_of(const struct memory_curves *all, uint32_t process,
					    uint32_t agent, uint32_t kind)
{
	uint32_t low = 0, high = all->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct memory_curve *c = &all->list[middle];
		struct event x = {c->process, c->agent, c->kind, 0, 0, 0},
			     y = {process, agent, kind, 0, 0, 0};
		int order = by_place(&x, &y);

		if (order == 0)
			return c;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
