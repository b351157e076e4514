/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel regions of OpenMP by the line they are at: how long their threads waited in barriers, in the middle and
 * at the end. Of nested regions and of those with one thread nothing is told; nor of those below 5 us that follow
 * another one soon, which the timeline does not keep.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/digest.h"
#include "analysis/rules/teams.h"
#include "base/vec.h"
#include "stream/symbol.h"

struct place {
	char *label;                     /* owned, once sites are known by their names */
	uint32_t site, regions, threads; /* the most of a region */
	uint64_t length, team;           /* of the regions; of all their threads */
	uint64_t inside, end;            /* that threads waited */
};

struct places {
	struct place *at;
	uint32_t count, room;
};

struct sums {
	const struct diagnosis *d;
	const struct teams *teams;
	struct places places;
	bool *barriers; /* by op */
};

static int by_site(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->site > y->site) - (x->site < y->site);
}

static int by_label(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->label, ((const struct place *)b)->label);
}

static int by_wait(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	uint64_t p = x->inside + x->end, q = y->inside + y->end;

	return p != q ? (p < q ? 1 : -1) : by_label(a, b);
}

static bool find_barriers(struct sums *s)
{
	const struct trace *t = s->d->trace;

	s->barriers = calloc(t->ops_count + 1u, sizeof(*s->barriers));
	for (uint32_t i = 1; s->barriers && i < t->ops_count; i++)
		s->barriers[i] = strcmp(t->domains[t->ops[i].domain].name, "openmp") == 0 &&
				 strstr(t->ops[i].name, "barrier");
	return s->barriers;
}

/* In barriers of a thread's own part of a region. */
static uint64_t barriers_of(const struct sums *s, uint32_t thread, int64_t start, int64_t end)
{
	const struct timeline *tl = s->d->tl;
	uint64_t sum = 0;

	for (uint32_t i = teams_first_call(s->d->tl, s->teams, thread, start);
	     i < s->teams->calls[thread + 1] && tl->calls[i].start < end; i++) {
		const struct tl_call *c = &tl->calls[i];
		int64_t to = c->end < end ? c->end : end;

		if (!s->barriers[c->op] || c->start < start || to <= c->start)
			continue;
		sum += (uint64_t)(to - c->start);
		start = to;
	}
	return sum;
}

static void add_part(const struct sums *s, struct place *p, const struct tl_team *region,
		     uint32_t thread, int64_t start, int64_t done)
{
	done = done < region->end ? done : region->end;
	p->inside += barriers_of(s, thread, start, done);
	p->end += (uint64_t)(region->end - done);
}

static bool add_region(struct sums *s, const struct team *m)
{
	const struct tl_team *region = &m->is;
	uint32_t tasks = teams_tasks(s->teams, m);
	uint64_t length = (uint64_t)(region->end - region->start);
	uint64_t worked = region->worked && region->worked < length ? region->worked : length;
	struct place *p;

	if (!vec_reserve(&s->places.at, &s->places.room, s->places.count, 1))
		return false;
	p = &s->places.at[s->places.count++];
	*p = (struct place){.site = region->site,
			    .regions = 1,
			    .threads = region->threads,
			    .length = length,
			    .team = length * region->threads};
	add_part(s, p, region, region->thread, region->start, region->start + (int64_t)worked);
	for (uint32_t i = 1; i <= tasks; i++)
		add_part(s, p, region, m[i].is.thread, m[i].is.start, m[i].is.end);
	/* Of those that did next to nothing there is no task. */
	if (tasks + 1 < region->threads)
		p->end += length * (region->threads - 1 - tasks);
	return true;
}

static void add_place(struct place *to, const struct place *x)
{
	to->regions += x->regions;
	to->threads = x->threads > to->threads ? x->threads : to->threads;
	to->length += x->length;
	to->team += x->team;
	to->inside += x->inside;
	to->end += x->end;
}

static void merge(struct places *all, int (*by)(const void *, const void *))
{
	uint32_t n = 0;

	if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by);
	for (uint32_t i = 0; i < all->count; i++) {
		if (n && by(&all->at[n - 1], &all->at[i]) == 0) {
			add_place(&all->at[n - 1], &all->at[i]);
			free(all->at[i].label);
		} else {
			all->at[n++] = all->at[i];
		}
	}
	all->count = n;
}

/* A line is one in all processes. */
static bool name_places(struct places *all, const struct trace *t)
{
	struct symbols *symbols = symbols_new(t, NULL);
	char text[512];
	bool ok = symbols;

	for (uint32_t i = 0; ok && i < all->count; i++) {
		const char *name =
			all->at[i].site ? symbols_text(symbols, all->at[i].site, text, sizeof(text))
					: "(unknown)";

		all->at[i].label = strdup(name);
		ok = all->at[i].label;
	}
	symbols_free(symbols);
	return ok;
}

static void add_row(struct table *t, const struct place *p)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, p->label);
	cell_number(c++, p->regions);
	cell_number(c++, p->threads);
	cell_number(c++, p->length);
	cell_number(c++, p->inside + p->end);
	if (p->team)
		cell_real(c, 100.0 * (double)(p->inside + p->end) / (double)p->team);
	cell_number(++c, p->end);
}

static void add_table(struct report *r, const struct diagnosis *d, const struct places *all)
{
	struct table *t = report_table(r, "regions", "OpenMP regions");

	if (!t)
		return;
	t->ranked = true;
	table_column(t, "site", "region at", CELL_TEXT);
	table_column(t, "regions", "regions", CELL_COUNT);
	table_column(t, "threads", "threads", CELL_COUNT);
	table_column(t, "time_ns", "time", CELL_TIME);
	table_column(t, "barrier_wait_ns", "waited in barriers", CELL_TIME);
	table_column(t, "percent_of_team", "% of its threads", CELL_PERCENT);
	table_column(t, "end_wait_ns", "at the end", CELL_TIME);
	for (uint32_t i = 0; i < all->count; i++)
		add_row(t, &all->at[i]);
	if (d->tl->explicit_tasks)
		table_note(t, "explicit tasks ran, which threads do in barriers: they waited at "
			      "most so long");
	r->failed |= t->failed;
}

bool summary_regions(struct report *r, struct diagnosis *d)
{
	struct teams teams;
	struct sums s = {.d = d, .teams = &teams};
	bool ok;

	if (!d->tl->implicit_tasks || timeline_missing(d->tl) || d->tl->partial ||
	    d->trace->pauses_count > 1 || !teams_find(d, &teams))
		return !d->failed;
	ok = find_barriers(&s);
	for (uint32_t i = 0; ok && i < teams.regions_count; i++)
		ok = add_region(&s, teams.regions[i]);
	if (ok)
		merge(&s.places, by_site);
	ok = ok && name_places(&s.places, d->trace);
	if (ok) {
		merge(&s.places, by_label);
		qsort(s.places.at, s.places.count, sizeof(*s.places.at), by_wait);
		add_table(r, d, &s.places);
	}
	for (uint32_t i = 0; i < s.places.count; i++)
		free(s.places.at[i].label);
	free(s.places.at);
	free(s.barriers);
	teams_release(&teams);
	return ok;
}
