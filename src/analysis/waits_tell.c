/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about ranks that wait; see waits_tell.h. */
#include "analysis/waits_tell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "base/units.h"
#include "stream/recorded.h"

enum {
	SLICE_NS = 20000000, /* for so long a thread may wait for a busy processor */
	LEAST_BEATS = 10     /* fewer may be even by chance */
};

/* Shares of the occasions. */
#define SELDOM 0.3
#define MOSTLY 0.75

static uint64_t length(const struct rank_wait *x)
{
	return (uint64_t)(x->end - x->start);
}

static bool counts(const struct rank_wait *x)
{
	return !x->asked && !x->handed_on;
}

static bool is_of(const struct waits *w, const struct rank_wait *x, unsigned kinds, uint32_t cause)
{
	bool partly = x->handed_on && !x->asked && 4 * x->more >= length(x);

	return x->cause == cause && (counts(x) || partly) && (1u << x->kind & kinds) &&
	       w->ranks[x->rank].world == w->ranks[cause].world;
}

/* ---- balance ----------------------------------------------------------------------------------- */

/* Others are told what to do by it: it receives from several and has next to nothing to do itself. */
static bool is_coordinator(const struct waits *w, uint32_t rank, uint64_t mean)
{
	const struct waits_rank *r = &w->ranks[rank];
	uint64_t receiving = 0, all = 0;
	uint32_t other = TIMELINE_NONE;
	bool several = false;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct rank_wait *x = &w->list[r->first + i];

		all += length(x);
		if (x->kind != WAIT_SENDER)
			continue;
		receiving += length(x);
		several |= other != TIMELINE_NONE && other != x->cause;
		other = x->cause;
	}
	return several && 2 * receiving > all &&
	       5 * waits_work(w, rank, w->worlds[r->world].begin, w->worlds[r->world].end) < mean;
}

static uint64_t busy_of(const struct waits *w, uint32_t rank)
{
	const struct waits_rank *r = &w->ranks[rank];
	const struct waits_world *world = &w->worlds[r->world];
	uint64_t ns = waits_work(w, rank, world->begin, world->end);

	for (uint32_t i = 0; i < r->count; i++)
		if (w->list[r->first + i].asked)
			ns += length(&w->list[r->first + i]);
	return ns;
}

/* Of its life, in which a rank that waits asks all the time, what it did not have to wait for a processor. */
static double share_of_processor(const struct waits *w, uint32_t rank)
{
	const struct trace *t = w->tl->trace;
	const struct waits_rank *r = &w->ranks[rank];
	double lacked =
		t->threads[r->thread].main ? recorded_delay(t, &t->processes[r->process]) : 0;

	return lacked < 1 ? 1 - lacked : 0;
}

/* What a rank has to do: ns, and of these about so many on a processor. */
struct load {
	uint64_t busy;
	double worked;
};

static struct load load_of(const struct waits *w, uint32_t rank)
{
	uint64_t busy = busy_of(w, rank);

	return (struct load){busy, (double)busy * share_of_processor(w, rank)};
}

/*
 * A rank that seems to have more to do because other programs had its processor more often than those of the others has
 * as much more as if all had had theirs equally often.
 */
static void even_out(const struct waits *w, const struct load *all, struct waits_balance *b)
{
	double often = all->busy ? all->worked / (double)all->busy : 0;
	uint64_t max = often > 0 ? (uint64_t)(load_of(w, b->most).worked / often) : b->max;

	if (max >= b->max)
		return;
	/* Of a quarter that is left nobody knows whether it is not lack as well, which comes when it comes. */
	if (max < b->mean || 4 * (max - b->mean) < b->max - b->mean)
		max = b->mean;
	b->evened = b->max - max;
	b->max = max;
}

static void share_out(const struct waits *w, const struct waits_world *world,
		      struct waits_balance *b)
{
	struct load sum = {0};
	uint64_t all = 0;

	for (uint32_t i = 0; i < world->ranks; i++)
		all += busy_of(w, world->members[i]);
	for (uint32_t i = 0; i < world->ranks; i++) {
		uint32_t rank = world->members[i];
		struct load x = load_of(w, rank);

		if (world->ranks > 2 && is_coordinator(w, rank, all / world->ranks))
			continue;
		b->ranks++;
		sum.busy += x.busy;
		sum.worked += x.worked;
		if (x.busy >= b->max) {
			b->max = x.busy;
			b->most = rank;
		}
	}
	b->mean = b->ranks ? sum.busy / b->ranks : 0;
	even_out(w, &sum, b);
}

struct kinds_of_waits {
	uint64_t all, rooted, one_sided, longest;
};

static void add_kinds(const struct rank_wait *x, struct kinds_of_waits *k)
{
	k->all += length(x);
	if (x->kind == WAIT_ROOT)
		k->rooted += length(x);
	if ((x->kind == WAIT_SENDER || x->kind == WAIT_RECEIVER) && !x->both)
		k->one_sided += length(x);
	if (length(x) > k->longest)
		k->longest = length(x);
}

/* Of many occasions to wait for it few took the time: something happened, the shares are not the reason. */
static bool seldom(const struct waits *w, uint32_t cause, uint64_t longest, uint32_t occasions)
{
	uint32_t long_ones = 0, most = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct rank_wait *x = &w->list[i];

		if (i && x->rank != w->list[i - 1].rank)
			long_ones = 0;
		if (x->cause == cause && counts(x) && 10 * length(x) >= longest &&
		    ++long_ones > most)
			most = long_ones;
	}
	return occasions >= 8 && most <= occasions / 8;
}

void waits_balance(const struct waits *w, uint32_t world, struct waits_balance *b)
{
	const struct waits_world *x = &w->worlds[world];
	struct kinds_of_waits k = {0};
	uint64_t most, charged = 0;

	*b = (struct waits_balance){.world = world};
	share_out(w, x, b);
	if (b->ranks < 2)
		return;
	for (uint32_t i = 0; i < w->count; i++) {
		if (w->list[i].cause == b->most && counts(&w->list[i]))
			add_kinds(&w->list[i], &k);
		if (is_of(w, &w->list[i], WAITS_ALL_KINDS, b->most))
			charged += length(&w->list[i]);
	}
	most = w->cost[b->most].even < charged ? w->cost[b->most].even : charged;
	if (2 * k.rooted > k.all || 2 * k.one_sided > k.all ||
	    seldom(w, b->most, k.longest, x->collectives))
		return;
	b->claims = most && b->max + b->evened > b->mean;
	b->gain = b->max - b->mean < most ? b->max - b->mean : most;
}

/* ---- sums -------------------------------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct rank_wait *x = *(struct rank_wait *const *)a,
			       *y = *(struct rank_wait *const *)b;

	return x->end < y->end ? -1 : x->end > y->end;
}

/* From when until when all but a hundredth at each side is waited. */
static void find_span(const struct rank_wait **list, uint32_t n, struct waits_sum *s)
{
	uint64_t so_far = 0;

	qsort(list, n, sizeof(*list), by_end);
	for (uint32_t i = 0; i < n; i++) {
		if (so_far * 100 <= s->total)
			s->since = list[i]->start;
		so_far += length(list[i]);
		if (so_far * 100 <= s->total * 99 || !s->until)
			s->until = list[i]->end;
	}
	s->until = list[n - 1]->end;
}

struct site_time {
	uint32_t site, op, call;
	uint64_t ns;
};

static int by_site(const void *a, const void *b)
{
	const struct site_time *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* A call at the site where most is waited. */
static uint32_t worst_site(struct site_time *list, uint32_t n)
{
	uint32_t best = 0, first = 0;

	qsort(list, n, sizeof(*list), by_site);
	for (uint32_t i = 0; i < n; i++) {
		if (i && by_site(&list[i], &list[first]) == 0)
			list[first].ns += list[i].ns;
		else
			first = i;
		if (list[first].ns > list[best].ns)
			best = first;
	}
	return list[best].call;
}

static void add_up(const struct waits *w, const struct rank_wait *x, uint64_t *of_rank,
		   struct waits_sum *s)
{
	if (length(x) > s->longest) {
		s->longest = length(x);
		s->worst = (uint32_t)(x - w->list);
	}
	s->total += length(x);
	s->number++;
	s->ranks += !of_rank[x->rank];
	of_rank[x->rank] += length(x);
	if (of_rank[x->rank] > s->rank_total) {
		s->rank_total = of_rank[x->rank];
		s->rank = x->rank;
	}
}

bool waits_sum(const struct waits *w, unsigned kinds, uint32_t cause, struct waits_sum *s)
{
	const struct rank_wait **list = calloc((size_t)w->count + 1, sizeof(*list));
	struct site_time *sites = calloc((size_t)w->count + 1, sizeof(*sites));
	uint64_t *of_rank = calloc((size_t)w->ranks_count + 1, sizeof(*of_rank));
	uint32_t n = 0;

	*s = (struct waits_sum){0};
	for (uint32_t i = 0; list && sites && of_rank && i < w->count; i++) {
		const struct tl_call *c = &w->tl->calls[w->list[i].call];

		if (!is_of(w, &w->list[i], kinds, cause))
			continue;
		add_up(w, &w->list[i], of_rank, s);
		sites[n] = (struct site_time){c->site, c->op, w->list[i].call, length(&w->list[i])};
		list[n++] = &w->list[i];
	}
	if (n) {
		find_span(list, n, s);
		s->call = worst_site(sites, n);
	}
	free(list);
	free(sites);
	free(of_rank);
	return n;
}

/* ---- findings ---------------------------------------------------------------------------------- */

bool waits_known(struct diagnosis *d)
{
	const struct waits *w = &d->waits;
	bool told = d->waits_told;

	if (w->ranks_count < 2)
		return false;
	d->waits_told = true;
	if (d->tl->counted || d->tl->cut || timeline_missing(d->tl)) {
		if (!told)
			diagnosis_abstain(d, "%s: who waited for whom is not known",
					  d->tl->counted ? "calls were counted, not recorded"
					  : d->tl->cut   ? "the trace has too many records"
							 : "records were lost");
		return false;
	}
	if (!told && w->unaligned)
		diagnosis_abstain(d, "clocks of ranks on different nodes were not compared: "
				     "what they waited for each other is not known");
	if (!told && w->ranks_count < d->trace->processes[w->ranks[0].process].ranks &&
	    d->trace->worlds < 2)
		diagnosis_abstain(d,
				  "%u of %u ranks are in the trace: waits for the others are "
				  "not known",
				  w->ranks_count, d->trace->processes[w->ranks[0].process].ranks);
	return w->count;
}

void finding_show(struct diagnosis *d, struct finding *f, const char *domains, int64_t start,
		  int64_t end)
{
	int64_t origin = d->trace->origin;
	double from = start > origin ? (double)(start - origin) / 1e9 : 0;

	text_add(&f->show, "kymo show -d ");
	text_add(&f->show, domains);
	plain_addf(&f->show, " --after %.6fs --before %.6fs --min-duration 5us ", from,
		   (double)(end - origin) / 1e9 + 1e-6);
	text_add_shell(&f->show, d->path);
}

static void add_call(struct diagnosis *d, struct text *out, uint32_t call)
{
	const struct tl_call *c = &d->tl->calls[call];

	plain_addf(out, "%s", d->trace->ops[c->op].name);
	if (c->site) {
		text_add(out, " at ");
		finding_add_site(d, out, c->site);
	}
}

/* What the late rank was in when the longest wait ended. */
static void add_culprit(struct diagnosis *d, struct finding *f, const struct rank_wait *x)
{
	const struct tl_message *m =
		x->because == TIMELINE_NONE ? NULL : &d->tl->messages[x->because];
	const struct tl_call *c = m ? timeline_find(d->tl, m->process, m->id) : NULL;
	char rank[32];

	if (!c || !c->site)
		return;
	plain_addf(&f->evidence, "%s comes late to ", waits_rank_text(&d->waits, x->cause, rank));
	add_call(d, &f->evidence, (uint32_t)(c - d->tl->calls));
	text_add(&f->evidence, "\n");
}

void waits_describe(struct diagnosis *d, struct finding *f, const struct waits_sum *s,
		    uint32_t cause)
{
	const struct waits *w = &d->waits;
	const struct rank_wait *x = &w->list[s->worst];
	const struct waits_world *world = &w->worlds[w->ranks[cause].world];
	char rank[32], mean[UNITS_TEXT], longest[UNITS_TEXT], all[UNITS_TEXT], at[UNITS_TEXT];

	plain_addf(&f->where, "%s, ", waits_rank_text(w, s->rank, rank));
	add_call(d, &f->where, s->call);
	f->count = s->number;
	f->start = x->start;
	f->end = x->end;
	f->thread = w->ranks[x->rank].thread;
	f->process = w->ranks[x->rank].process;
	plain_addf(&f->evidence, "%s wait%s of %s on average, %s in all%s; the longest %s",
		   UNITS_COUNT(s->number), s->number == 1 ? "" : "s",
		   units_time(s->total / s->number, mean), units_time(s->total, all),
		   s->ranks > 1 ? " ranks" : "", units_time(s->longest, longest));
	plain_addf(&f->evidence, " at %s\n",
		   units_time((uint64_t)(x->start > d->trace->origin ? x->start - d->trace->origin
								     : 0),
			      at));
	if (s->since - world->begin > (world->end - world->begin) / 4 && s->number > 1)
		plain_addf(&f->evidence, "%s is late from %s on\n", waits_rank_text(w, cause, rank),
			   units_time((uint64_t)(s->since - d->trace->origin), at));
	add_culprit(d, f, x);
	finding_show(d, f, "mpi,comm", x->start, x->end);
}

struct costs {
	uint64_t all, part; /* ns of all ranks, of the one that costs most */
	uint64_t waits;     /* how many */
	uint32_t cause;     /* that one */
};

/* The rank that is waited for most, where the path tells none: `c->all` is shared out by what is waited. */
static bool find_cause(const struct waits *w, uint32_t world, unsigned kinds, uint32_t but,
		       struct costs *c)
{
	uint64_t *of_rank = calloc((size_t)w->ranks_count + 1, sizeof(*of_rank)), sum = 0;
	bool ok = of_rank;

	for (uint32_t i = 0; of_rank && i < w->count; i++) {
		const struct rank_wait *x = &w->list[i];

		if (x->cause == but || w->ranks[x->cause].world != world ||
		    !is_of(w, x, kinds, x->cause))
			continue;
		sum += length(x);
		of_rank[x->cause] += length(x);
	}
	for (uint32_t i = 0; of_rank && i < w->ranks_count; i++)
		if (of_rank[i] > of_rank[c->cause] || w->ranks[c->cause].world != world)
			c->cause = i;
	if (of_rank && sum)
		c->part = (uint64_t)((double)c->all * ((double)of_rank[c->cause] / (double)sum));
	free(of_rank);
	return ok;
}

/*
 * What is lost on the path, where all others wait; or, if that is more, what the run is shorter by without these
 * waits: some may wait while others work that have the time.
 */
static bool find_costs(const struct waits *w, uint32_t world, unsigned kinds, struct costs *c)
{
	struct waits_left_out out = {kinds, TIMELINE_NONE};
	struct waits_balance b;
	uint32_t causes = 0;
	uint64_t replayed, most;

	*c = (struct costs){0};
	waits_balance(w, world, &b);
	for (uint32_t i = 0; i < w->worlds[world].ranks; i++) {
		uint32_t rank = w->worlds[world].members[i];
		uint64_t ns = 0;

		if (b.claims && rank == b.most)
			continue;
		for (uint32_t k = 0; k < WAIT_KINDS; k++)
			if (1u << k & kinds)
				ns += w->cost[rank].alone[k];
		c->all += ns;
		causes += ns != 0;
		if (ns > c->part) {
			c->part = ns;
			c->cause = rank;
		}
	}
	/*
	 * Of ranks that wait for each other by turns, the busiest one's work stays; but what the others wait for one of
	 * them can be won where that is late for what it does alone.
	 */
	most = (uint64_t)(w->worlds[world].end - w->worlds[world].begin) - waits_busiest(w, world);
	most = most > c->part ? most : c->part;
	if (causes > 1 && c->all > most)
		c->all = most;
	if (b.claims)
		out.but = b.most;
	if (!waits_replay(w, world, &out, &replayed))
		return false;
	if (replayed > c->all) {
		c->all = replayed;
		if (!find_cause(w, world, kinds, out.but, c))
			return false;
	}
	for (uint32_t i = 0; i < w->count; i++)
		c->waits += is_of(w, &w->list[i], kinds, w->list[i].cause) &&
			    w->ranks[w->list[i].rank].world == world;
	return true;
}

/* Messages from one rank to another, as far as both ends are known. */
static uint64_t messages_between(const struct waits *w, uint32_t from, uint32_t to)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->tl->messages_count; i++) {
		const struct tl_message *m = &w->tl->messages[i];

		if (m->kind == COMM_OP_RECEIVE && w->other[i] &&
		    m->process == w->ranks[to].process &&
		    w->tl->messages[w->other[i] - 1].process == w->ranks[from].process)
			n++;
	}
	return n;
}

/* Without occasions that are known: often. */
static double share_of(uint64_t n, uint64_t occasions)
{
	return occasions ? (double)n / (double)occasions : 1;
}

/*
 * At which share of the occasions the rank that waits most for `cause` does so; with messages, occasions are those of
 * the two. At collective calls ranks wait by turns: whoever it is for, or (`alone`) for that one.
 */
static double how_often(const struct waits *w, uint32_t world, unsigned kinds,
			const struct costs *c, const struct waits_sum *s, bool alone)
{
	const struct waits_world *x = &w->worlds[world];
	bool sender = kinds & 1u << WAIT_SENDER;
	uint64_t n = 0, occasions;

	if (!(kinds & (1u << WAIT_SENDER | 1u << WAIT_RECEIVER)))
		return share_of(alone ? s->number : c->waits,
				(uint64_t)x->collectives * (x->ranks - 1));
	for (uint32_t i = 0; i < w->count; i++)
		n += w->list[i].rank == s->rank && is_of(w, &w->list[i], kinds, c->cause);
	occasions = messages_between(w, sender ? c->cause : s->rank, sender ? s->rank : c->cause);
	return share_of(n, occasions);
}

struct rhythm {
	double sum, squares;
	uint64_t number;
};

static void add_beat(struct rhythm *r, double x)
{
	r->sum += x;
	r->squares += x * x;
	r->number++;
}

/* They differ by no more than a quarter of their mean. */
static bool is_even(const struct rhythm *r)
{
	double mean = r->sum / (double)r->number;

	return r->squares / (double)r->number - mean * mean < mean * mean / 16;
}

/*
 * Waits as long as each other that come as if counted out are what a program does every so many steps; what else
 * a machine has to do comes when it comes.
 */
static bool is_regular(const struct waits *w, unsigned kinds, const struct costs *c,
		       const struct waits_sum *s)
{
	struct rhythm apart = {0}, lengths = {0};
	const struct rank_wait *last = NULL;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct rank_wait *x = &w->list[i];

		if (x->rank != s->rank || !is_of(w, x, kinds, c->cause) ||
		    10 * length(x) < s->longest)
			continue;
		if (last)
			add_beat(&apart, (double)(x->end - last->end));
		add_beat(&lengths, (double)length(x));
		last = x;
	}
	return lengths.number >= LEAST_BEATS && is_even(&apart) && is_even(&lengths);
}

static double lacked_by(const struct diagnosis *d, uint32_t rank)
{
	const struct waits_rank *r = &d->waits.ranks[rank];

	return d->trace->threads[r->thread].main ? (double)d->trace->processes[r->process].delay_ns
						 : 0;
}

/* The late rank has more to do than the one that waits, if both had had processors equally often, and so it would wait. */
static bool has_more_to_do(const struct waits *w, uint32_t cause, const struct waits_sum *s)
{
	struct load x = load_of(w, cause), y = load_of(w, s->rank);
	double often = (x.worked + y.worked) / (double)(x.busy + y.busy);

	return often > 0 && 4 * (x.worked - y.worked) >= 3 * often * (double)s->rank_total;
}

/*
 * The late rank was ready to run, amid its work, and had no processor for as long as is waited for it. Two ranks that
 * wait for each other about as long are late when they have none: then all that both lacked may have been so.
 */
static bool had_no_processor(const struct diagnosis *d, unsigned kinds, uint32_t cause,
			     const struct waits_sum *s)
{
	const struct waits *w = &d->waits;
	struct load x = load_of(w, cause);
	uint64_t back = 0;

	if (has_more_to_do(w, cause, s))
		return false;
	if ((double)x.busy - x.worked >= (double)s->total)
		return true;
	if (w->worlds[w->ranks[cause].world].ranks != 2)
		return false;
	for (uint32_t i = 0; i < w->ranks[cause].count; i++) {
		const struct rank_wait *y = &w->list[w->ranks[cause].first + i];

		back += is_of(w, y, kinds, s->rank) ? length(y) : 0;
	}
	return 2 * back >= s->total &&
	       lacked_by(d, cause) + lacked_by(d, s->rank) >= (double)(s->total + back);
}

/*
 * Ranks delay each other at few of many occasions, by turns or for no longer than a processor is given to others: that
 * is what a machine does that has more to do than it has processors. So it is, however long, where the late rank's
 * lack of a processor explains all of it; but who is late nearly each time is so by what it does.
 */
static bool is_noise(const struct diagnosis *d, uint32_t world, unsigned kinds,
		     const struct costs *c, const struct waits_sum *s)
{
	uint64_t two = d->waits.worlds[world].ranks == 2;
	bool by_turns = c->part * (two ? 5 : 2) < c->all * (two ? 4 : 1);
	bool is_short = s->total < s->number * SLICE_NS && diagnosis_share(d, s->longest) < 0.05;

	return ((how_often(&d->waits, world, kinds, c, s, true) < MOSTLY &&
		 had_no_processor(d, kinds, c->cause, s)) ||
		((by_turns || is_short) &&
		 how_often(&d->waits, world, kinds, c, s, false) < SELDOM)) &&
	       !is_regular(&d->waits, kinds, c, s);
}

void waits_tell(struct diagnosis *d, uint32_t world, const struct waits_theme *theme)
{
	const struct waits *w = &d->waits;
	struct costs c;
	char time[UNITS_TEXT], rank[32], other[32];
	struct waits_sum s;
	struct finding *f;

	if (!find_costs(w, world, theme->kinds, &c)) {
		d->failed = true;
		return;
	}
	if (diagnosis_share(d, c.all) < d->rule->threshold ||
	    !waits_sum(w, theme->kinds, c.cause, &s))
		return;
	if (is_noise(d, world, theme->kinds, &c, &s)) {
		diagnosis_abstain(d,
				  "ranks waited %s for each other, now and then: "
				  "rather the machine than the program",
				  units_time(c.all, time));
		return;
	}
	waits_rank_text(w, c.cause, other);
	waits_rank_text(w, s.rank, rank);
	if (s.ranks == 1)
		f = finding_add(d, c.all, theme->title, rank, units_time(c.all, time), other);
	else
		f = finding_add(d, c.all, theme->titles, s.ranks, units_time(c.all, time), other);
	if (!f)
		return;
	if (10 * c.part < 9 * c.all)
		plain_addf(&f->evidence, "%s %s of it, other ranks the rest\n", other,
			   units_time(c.part, time));
	waits_describe(d, f, &s, c.cause);
	text_add(&f->advice, theme->advice);
}
