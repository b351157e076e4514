/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations that cover a time; see range_cover.h. */
#include "analysis/range_cover.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/names.h"
#include "base/hash.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"

/* Ranges of one name. */
struct named {
	struct text name;
	struct intervals in;
};

struct cover {
	const struct timeline *tl;
	struct named *list;
	uint32_t count, room;
	struct map of_name; /* number of the trace's names to its place + 1, */
	struct map of_text; /* and hash of what they are when folded */
	bool failed;
};

static int by_thread(const void *a, const void *b)
{
	const struct tl_range *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* The place + 1 of ranges of this name; 0: no memory. */
static uint64_t add_name(struct cover *c, struct text *name)
{
	uint64_t hash, i;

	text_add_bytes(name, "", 1);
	if (name->failed)
		return 0;
	hash = hash_string(name->s);
	map_each(&c->of_text, hash, i)
		if (strcmp(c->list[i - 1].name.s, name->s) == 0)
			return i;
	if (!vec_reserve(&c->list, &c->room, c->count, 1) ||
	    !map_add(&c->of_text, hash, c->count + 1))
		return 0;
	c->list[c->count++] = (struct named){.name = *name};
	*name = (struct text){0};
	return c->count;
}

static struct named *named(struct cover *c, const struct tl_range *r)
{
	uint64_t key = (uint64_t)r->domain << 32 | r->name, i = map_get(&c->of_name, key + 1);
	struct text whole = {0}, folded = {0};

	if (!i) {
		label_range(&whole, c->tl->trace, r->domain, r->name);
		name_fold(&folded, whole.s ? whole.s : "");
		i = add_name(c, &folded);
		text_release(&whole);
		text_release(&folded);
		if (!i || !map_set(&c->of_name, key + 1, i))
			return NULL;
	}
	return &c->list[i - 1];
}

/* Ranges of a thread come one after the other, outer ones before those in them. */
static void add_outermost(struct cover *c, const struct tl_range *ranges, uint32_t count)
{
	const struct tl_range *around = NULL;

	for (uint32_t i = 0; i < count && !c->failed; i++) {
		const struct tl_range *r = &ranges[i];
		struct named *n;

		if (around && around->thread == r->thread && r->end <= around->end)
			continue;
		around = r;
		n = named(c, r);
		c->failed = !n || !intervals_add(&n->in, r->start, r->end);
	}
}

static void read_ranges(struct cover *c, uint32_t device)
{
	const struct timeline *tl = c->tl;
	struct tl_range *ranges = calloc((size_t)tl->ranges_count + 1, sizeof(*ranges));
	uint32_t count = 0;

	c->failed = !ranges;
	for (uint32_t i = 0; ranges && i < tl->ranges_count; i++)
		if (timeline_uses(tl, device, tl->ranges[i].process))
			ranges[count++] = tl->ranges[i];
	if (count)
		qsort(ranges, count, sizeof(*ranges), by_thread);
	add_outermost(c, ranges, count);
	free(ranges);
}

uint64_t range_cover(struct text *name, const struct timeline *tl, uint32_t device,
		     const struct intervals *times)
{
	struct cover c = {.tl = tl};
	const struct named *best = NULL;
	uint64_t most = 0;

	if (!tl->ranges_count || !times->count)
		return 0;
	read_ranges(&c, device);
	for (uint32_t i = 0; i < c.count && !c.failed; i++) {
		uint64_t ns;

		intervals_unite(&c.list[i].in);
		ns = intervals_common(&c.list[i].in, times);
		if (ns > most) {
			most = ns;
			best = &c.list[i];
		}
	}
	if (2 * most < intervals_length(times))
		most = 0;
	if (most)
		plain_add(name, best->name.s, strlen(best->name.s));
	for (uint32_t i = 0; i < c.count; i++) {
		text_release(&c.list[i].name);
		intervals_release(&c.list[i].in);
	}
	free(c.list);
	map_release(&c.of_name);
	map_release(&c.of_text);
	return most;
}

void range_cover_tell(struct text *out, const struct timeline *tl, uint32_t device,
		      const struct intervals *times)
{
	struct text name = {0};
	uint64_t ns = range_cover(&name, tl, device, times);
	char time[UNITS_TEXT];

	if (ns && name.s)
		text_addf(out, ", %s of it in the range %s", units_time(ns, time), name.s);
	text_release(&name);
}
