/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers within regions make threads wait for each other by turns: who is late at one is early at the next. Without
 * them each would go on with its next part. That one thread has more to do in all is imbalance-threads'.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rules/teams.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"

enum { LEAST = 10, TELL = 4 }; /* barriers; places in the evidence */

/* A barrier of a region, later all of one place and thread that was last. */
struct meeting {
	uint32_t primary, site, last, count;
	uint32_t uneven;   /* where a thread waited for a quarter of its time or more, on average */
	uint64_t waited;   /* by the last thread's time less the mean of the team */
	uint64_t together; /* of the last thread, from the barrier before to this one */
	int64_t start, end; /* of the one with most waiting */
	uint64_t most;
};

struct meetings {
	struct meeting *at;
	uint32_t count, room;
};

/* A thread on its way through a region. */
struct walker {
	uint32_t thread, next; /* index of its next call */
	int64_t from, end;     /* since the last barrier; its part */
	uint64_t busy;
};

struct search {
	struct diagnosis *d;
	struct teams teams;
	uint8_t *is_barrier; /* by op */
	uint64_t *gain;      /* by thread that meets regions */
	struct walker *walkers;
	struct meetings meetings;
};

static int by_place(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;

	if (x->primary != y->primary)
		return x->primary < y->primary ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->last < y->last ? -1 : x->last > y->last;
}

static int most_waited(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;

	return x->waited > y->waited ? -1 : x->waited < y->waited;
}

/*
 * The thread's next barrier in its part, or NULL. The part's end is reckoned from a length that the process took, by
 * another clock's rate: a barrier just before it may seem to end after it, and is of the part if most of it is.
 */
static const struct tl_call *next_barrier(struct search *s, struct walker *w)
{
	const struct timeline *tl = s->d->tl;

	for (; w->next < s->teams.calls[w->thread + 1]; w->next++) {
		const struct tl_call *c = &tl->calls[w->next];

		if (c->start >= w->end)
			break;
		if (s->is_barrier[c->op] && c->start + (c->end - c->start) / 2 < w->end)
			return c;
	}
	return NULL;
}

static uint64_t busy_of(struct search *s, const struct walker *w, int64_t until)
{
	uint64_t length = until > w->from ? (uint64_t)(until - w->from) : 0;
	uint64_t waits = teams_waits(s->d, &s->teams, w->thread, w->from, until);

	return length > waits ? length - waits : 0;
}

static void add_meeting(struct search *s, const struct meeting *m)
{
	if (!vec_reserve(&s->meetings.at, &s->meetings.room, s->meetings.count, 1))
		s->d->failed = true;
	else
		s->meetings.at[s->meetings.count++] = *m;
}

/*
 * All threads go on to their next barrier, or to the end of their parts. *longest: what the last of them computed until
 * then. False: they are at the end; *differ where some are and some are not.
 */
static bool step(struct search *s, const struct team *region, uint32_t threads, uint64_t *longest,
		 bool *differ)
{
	struct meeting m = {.primary = region->is.thread, .site = region->is.site, .count = 1};
	uint64_t sum = 0;
	uint32_t met = 0;

	*longest = 0;
	m.start = INT64_MAX;
	for (uint32_t i = 0; i < threads; i++) {
		struct walker *w = &s->walkers[i];
		const struct tl_call *c = next_barrier(s, w);
		uint64_t busy = busy_of(s, w, c ? c->start : w->end);

		sum += busy;
		w->busy += busy;
		if (busy >= *longest) {
			*longest = busy;
			m.last = w->thread;
		}
		met += c != NULL;
		if (!c)
			continue;
		m.site = c->site ? c->site : m.site;
		m.start = w->from < m.start ? w->from : m.start;
		m.end = c->end > m.end ? c->end : m.end;
		w->from = c->end;
		w->next++;
	}
	*differ = met && met != threads;
	if (!met || met != threads)
		return false;
	m.together = *longest;
	m.waited = m.most = *longest - sum / met;
	m.uneven = 4 * m.waited >= m.together;
	add_meeting(s, &m);
	return true;
}

static bool start(struct search *s, const struct team *region)
{
	const struct tl_team *is = &region->is;
	uint64_t length = (uint64_t)(is->end - is->start);
	uint64_t worked = is->worked && is->worked < length ? is->worked : length;
	uint32_t tasks = teams_tasks(&s->teams, region);

	/* Parts of no length are not kept: who met whom is not known then. */
	if (tasks + 1 != is->threads || tasks >= s->d->trace->threads_count)
		return false;
	s->walkers[0] = (struct walker){
		.thread = is->thread, .from = is->start, .end = is->start + (int64_t)worked};
	for (uint32_t i = 1; i <= tasks; i++)
		s->walkers[i] = (struct walker){.thread = region[i].is.thread,
						.from = region[i].is.start,
						.end = region[i].is.end};
	for (uint32_t i = 0; i <= tasks; i++)
		s->walkers[i].next = teams_first_call(s->d->tl, &s->teams, s->walkers[i].thread,
						      s->walkers[i].from);
	return true;
}

/* What the region takes with its barriers, less what it would take without. */
static void add_region(struct search *s, const struct team *region)
{
	uint32_t threads = region->is.threads, before = s->meetings.count;
	uint64_t with = 0, without = 0, longest;
	bool differ;

	if (!start(s, region))
		return;
	while (step(s, region, threads, &longest, &differ))
		with += longest;
	with += longest;
	if (differ) {
		s->meetings.count = before;
		return;
	}
	for (uint32_t i = 0; i < threads; i++)
		without = s->walkers[i].busy > without ? s->walkers[i].busy : without;
	s->gain[region->is.thread] += with - without;
}

/* ---- telling ------------------------------------------------------------------------------------ */

static void add_barriers(struct diagnosis *d, struct finding *f, const struct meeting *m)
{
	char busy[UNITS_TEXT], mean[UNITS_TEXT];

	plain_addf(&f->evidence, "%s barriers", UNITS_COUNT(m->count));
	if (m->site) {
		text_add(&f->evidence, " at ");
		finding_add_site(d, &f->evidence, m->site);
	}
	text_add(&f->evidence, " have ");
	teams_add_thread(d, &f->evidence, m->last);
	plain_addf(&f->evidence,
		   " as the last: it computes for %s before them, the mean of the team is %s\n",
		   units_time(m->together, busy), units_time(m->together - m->waited, mean));
}

/* Those of one place and one last thread become one. */
static uint32_t unite(struct meeting *at, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < count; i++) {
		struct meeting *to = &at[n], *from = &at[i];

		if (by_place(to, from) != 0) {
			at[++n] = *from;
			continue;
		}
		to->count += from->count;
		to->waited += from->waited;
		to->together += from->together;
		if (from->most > to->most) {
			to->most = from->most;
			to->start = from->start;
			to->end = from->end;
		}
	}
	return n + 1;
}

/* Of one thread that meets regions. */
static void tell(struct diagnosis *d, struct meeting *at, uint32_t count, uint64_t gain)
{
	uint32_t uneven = 0, barriers = count;
	char time[UNITS_TEXT];
	struct finding *f;

	for (uint32_t i = 0; i < count; i++)
		uneven += at[i].uneven;
	/* A few that lose much are what else the machine does. */
	if (barriers < LEAST || 2 * uneven < barriers)
		return;
	f = finding_add(d, gain,
			"threads wait for each other by turns at %s barriers within parallel "
			"regions, for %s",
			UNITS_COUNT(barriers), units_time(gain, time));
	if (!f)
		return;
	count = unite(at, count);
	qsort(at, count, sizeof(*at), most_waited);
	f->count = barriers;
	f->start = at->start;
	f->end = at->end;
	f->thread = at->primary;
	teams_add_rank(d, &f->where, at->primary);
	if (at->site)
		finding_add_site(d, &f->where, at->site);
	for (uint32_t i = 0; i < count && i < TELL; i++)
		add_barriers(d, f, &at[i]);
	text_add(&f->show, "kymo summary -i '^openmp:(barrier|implicit_barrier|runtime_barrier)$' "
			   "--by thread,op ");
	text_add_shell(&f->show, d->path);
	text_add(&f->advice, "leave the barrier out where the loops do not need each other's "
			     "results (nowait), or share each loop evenly");
}

/* Threads that meet regions do so at once: told is the one with most to win. */
static void tell_most(struct search *s)
{
	struct meeting *at = s->meetings.at;
	uint32_t count = s->meetings.count, first = 0, most = 0, most_count = 0;

	if (!count)
		return;
	qsort(at, count, sizeof(*at), by_place);
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && at[i].primary == at[first].primary)
			continue;
		if (!most_count || s->gain[at[first].primary] > s->gain[at[most].primary]) {
			most = first;
			most_count = i - first;
		}
		first = i;
	}
	if (most_count)
		tell(s->d, &at[most], most_count, s->gain[at[most].primary]);
}

static bool is_barrier(const struct trace *t, const struct t_op *op)
{
	return strcmp(t->domains[op->domain].name, "openmp") == 0 &&
	       (strcmp(op->name, "barrier") == 0 || strcmp(op->name, "implicit_barrier") == 0 ||
		strcmp(op->name, "runtime_barrier") == 0);
}

static bool prepare(struct search *s)
{
	const struct trace *t = s->d->trace;

	s->is_barrier = calloc((size_t)t->ops_count + 1, sizeof(*s->is_barrier));
	s->gain = calloc((size_t)t->threads_count + 1, sizeof(*s->gain));
	s->walkers = calloc((size_t)t->threads_count + 1, sizeof(*s->walkers));
	for (uint32_t i = 0; s->is_barrier && i < t->ops_count; i++)
		s->is_barrier[i] = is_barrier(t, &t->ops[i]);
	return s->is_barrier && s->gain && s->walkers;
}

static void find(struct diagnosis *d)
{
	struct search s = {.d = d};

	if (!teams_find(d, &s.teams))
		return;
	if (teams_parts_known(d)) {
		if (!prepare(&s))
			d->failed = true;
		for (uint32_t i = 0; i < s.teams.regions_count && !d->failed; i++)
			add_region(&s, s.teams.regions[i]);
		if (!d->failed)
			tell_most(&s);
	}
	free(s.is_barrier);
	free(s.gain);
	free(s.walkers);
	free(s.meetings.at);
	teams_release(&s.teams);
}

const struct rule rule_openmp_barrier = {
	.id = "openmp-barrier",
	.what = "threads of OpenMP wait for each other by turns at barriers within regions",
	.threshold = 0.05,
	.why = "what is shared evenly waits for less than a twentieth of the run; half of the "
	       "barriers have to be uneven, as a busy machine makes a few so",
	.cost = "the region's parts between barriers, each as long as its last thread computes, "
		"less what the busiest thread computes in all of them",
	.find = find,
};
