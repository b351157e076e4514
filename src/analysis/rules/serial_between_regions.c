/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that meets the regions computes alone between them, while its team has nothing to do. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/teams.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"

enum { LEAST = 3, TELL = 4 }; /* stretches; places in the evidence */

/* Between a region and the next of its thread; later all between the same two places. */
struct stretch {
	uint32_t thread, after, before, count; /* sites of the regions */
	uint64_t alone, gain;
	int64_t start, end; /* of the longest */
};

struct stretches {
	struct stretch *at;
	uint32_t count, room;
};

static int by_place(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->before < y->before ? -1 : x->before > y->before;
}

static int most_gain(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->gain > y->gain ? -1 : x->gain < y->gain;
}

/* What follows a region sooner is one piece of work with it. */
static void add(struct diagnosis *d, const struct teams *t, struct stretches *s,
		const struct tl_team *a, const struct tl_team *b)
{
	uint32_t threads = a->threads < b->threads ? a->threads : b->threads;
	uint64_t alone, waits;

	if (b->start - a->until <= TIMELINE_PAUSE_NS)
		return;
	alone = (uint64_t)(b->start - a->until);
	/* Who gives a device work does not compute either: a copy may take all of the call. */
	waits = teams_in_calls(d, t, a->thread, a->until, b->start,
			       KYMO_OP_WAITS | KYMO_OP_SUBMITS);
	if (waits >= alone)
		return;
	alone -= waits;
	if (!vec_reserve(&s->at, &s->room, s->count, 1)) {
		d->failed = true;
		return;
	}
	s->at[s->count++] = (struct stretch){.thread = a->thread,
					     .after = a->site,
					     .before = b->site,
					     .count = 1,
					     .alone = alone,
					     .gain = alone - alone / threads,
					     .start = a->until,
					     .end = b->start};
}

/* Those between the same places become one. */
static void unite(struct stretches *s)
{
	uint32_t n = 0;

	qsort(s->at, s->count, sizeof(*s->at), by_place);
	for (uint32_t i = 1; i < s->count; i++) {
		struct stretch *to = &s->at[n], *from = &s->at[i];

		if (by_place(to, from) != 0) {
			s->at[++n] = *from;
			continue;
		}
		to->count += from->count;
		to->alone += from->alone;
		to->gain += from->gain;
		if (from->end - from->start > to->end - to->start) {
			to->start = from->start;
			to->end = from->end;
		}
	}
	s->count = n + 1;
}

static void add_between(struct diagnosis *d, struct text *out, const struct stretch *s)
{
	text_add(out, "between the regions at ");
	finding_add_site(d, out, s->after);
	if (s->after == s->before) {
		text_add(out, " (one and the next)");
		return;
	}
	text_add(out, " and ");
	finding_add_site(d, out, s->before);
}

static void add_evidence(struct diagnosis *d, struct finding *f, const struct stretch *at,
			 uint32_t count)
{
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < count && i < TELL; i++) {
		plain_addf(&f->evidence, "%s times, %s in all", UNITS_COUNT(at[i].count),
			   units_time(at[i].alone, time));
		if (at[i].after && at[i].before) {
			text_add(&f->evidence, ", ");
			add_between(d, &f->evidence, &at[i]);
		}
		text_add(&f->evidence, "\n");
	}
}

/* Of one thread. */
static void tell(struct diagnosis *d, struct stretch *at, uint32_t count)
{
	uint64_t gain = 0, alone = 0;
	uint32_t number = 0;
	char time[UNITS_TEXT];
	struct finding *f;

	for (uint32_t i = 0; i < count; i++) {
		gain += at[i].gain;
		alone += at[i].alone;
		number += at[i].count;
	}
	qsort(at, count, sizeof(*at), most_gain);
	f = number < LEAST ? NULL
			   : finding_add(d, gain,
					 "one thread computes alone between parallel regions for "
					 "%s, %.0f %% of the run",
					 units_time(alone, time), 100 * diagnosis_share(d, alone));
	if (!f)
		return;
	f->count = number;
	f->start = at->start;
	f->end = at->end;
	f->thread = at->thread;
	teams_add_rank(d, &f->where, at->thread);
	teams_add_thread(d, &f->where, at->thread);
	if (at->after && at->before) {
		text_add(&f->where, " ");
		add_between(d, &f->where, at);
	}
	add_evidence(d, f, at, count);
	text_add(&f->show, "kymo show -i '^openmp:parallel$' ");
	text_add_shell(&f->show, d->path);
	text_add(&f->advice, "let the team share that work too, or do it beside a region that does "
			     "not need it");
}

static uint64_t gain_of(const struct stretch *at, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += at[i].gain;
	return sum;
}

/* Threads that meet regions do so at once: told is the one with most to win. */
static void tell_most(struct diagnosis *d, struct stretches *s)
{
	uint32_t first = 0, most = 0, most_count = 0;

	unite(s);
	for (uint32_t i = 1; i <= s->count; i++) {
		if (i < s->count && s->at[i].thread == s->at[first].thread)
			continue;
		if (gain_of(&s->at[first], i - first) > gain_of(&s->at[most], most_count)) {
			most = first;
			most_count = i - first;
		}
		first = i;
	}
	if (most_count)
		tell(d, &s->at[most], most_count);
}

/* While one thread is alone, others of the process may be in regions that they have met. */
static bool several_meet(const struct diagnosis *d, const struct teams *t)
{
	for (uint32_t i = 1; i < t->regions_count; i++) {
		uint32_t a = t->regions[i - 1]->is.thread, b = t->regions[i]->is.thread;

		if (a != b && d->trace->threads[a].process == d->trace->threads[b].process)
			return true;
	}
	return false;
}

static void find(struct diagnosis *d)
{
	struct stretches s = {0};
	struct teams t;

	if (!teams_find(d, &t))
		return;
	if (several_meet(d, &t)) {
		diagnosis_abstain(d, "several threads of a process have parallel regions: none of "
				     "them is alone");
	} else {
		for (uint32_t i = 1; i < t.regions_count && !d->failed; i++)
			if (t.regions[i - 1]->is.thread == t.regions[i]->is.thread)
				add(d, &t, &s, &t.regions[i - 1]->is, &t.regions[i]->is);
		if (s.count && !d->failed)
			tell_most(d, &s);
	}
	free(s.at);
	teams_release(&t);
}

const struct rule rule_serial_between_regions = {
	.id = "serial-between-regions",
	.what = "one thread computes alone between regions of OpenMP, while its team idles",
	.threshold = 0.1,
	.why = "some of every program is serial: what costs less than a tenth is hardly worth the "
	       "trouble",
	.cost = "that time x (1 - 1/threads), from the first region to the last, without waits",
	.find = find,
};
