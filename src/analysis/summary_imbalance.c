/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How evenly the ranks of a job share the work: for each kind of it, or each operation, the least
 * time a rank spent in it, the mean, the most, and which ranks these are. A rank that was recorded
 * and has none of it counts with no time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "base/units.h"
#include "base/vec.h"
#include "wire/tally.h"

enum { PEOPLE_ROWS = 10 }; /* beside the tables of operations; --by rank,op has all */

/* The time that one process of a rank spent in one thing. */
struct share {
	const char *kind; /* "kernels", or the domain of calls */
	char *op;         /* owned; NULL where operations are not told apart */
	uint32_t rank;
	uint64_t ns;
	const struct t_load *load; /* or NULL: of all ranks, then */
};

struct load {
	const struct share *of;
	uint64_t min, max, sum;
	uint64_t excess; /* what the others wait for at worst, and even shares would gain */
	uint32_t min_rank, max_rank;
	uint32_t ranks;      /* that have it */
	uint32_t rank_count; /* of all */
};

struct loads {
	struct share *shares;
	size_t count, room;
	uint32_t world;  /* whose ranks they are */
	uint32_t *ranks; /* all that were recorded, ascending */
	uint32_t rank_count;
	struct load *list;
	uint32_t list_count;
};

static void loads_free(struct loads *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->shares[i].op);
	free(l->shares);
	free(l->ranks);
	free(l->list);
}

static int compare_numbers(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

static bool find_ranks(struct loads *l, const struct trace *t)
{
	uint32_t n = 0;

	l->ranks = calloc(t->processes_count + 1, sizeof(*l->ranks));
	if (!l->ranks)
		return false;
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].rank != UINT32_MAX && t->processes[i].world == l->world)
			l->ranks[n++] = t->processes[i].rank;
	qsort(l->ranks, n, sizeof(*l->ranks), compare_numbers);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || l->ranks[i] != l->ranks[i - 1])
			l->ranks[l->rank_count++] = l->ranks[i];
	return true;
}

/* ---- shares ---------------------------------------------------------------------------------- */

static const char *kind_of(enum tally_kind kind, const char *domain)
{
	switch (kind) {
	case TALLY_DISPATCH:
		return "kernels";
	case TALLY_COPY:
		return "copies";
	case TALLY_COMM:
		return "messages";
	case TALLY_SYNC:
		return "waiting";
	case TALLY_MARKER:
		return "ranges";
	default:
		return domain;
	}
}

static const char *domain_of(const struct trace *t, const struct tally *row)
{
	return t->domains[t->ops[row->key[KEY_OP] < t->ops_count ? row->key[KEY_OP] : 0].domain]
		.name;
}

/* What has time inside of it that another row has as well counts without that. */
static uint64_t time_of(enum tally_kind kind, const struct tally *row)
{
	return kind == TALLY_CALL || kind == TALLY_ACTIVITY || kind == TALLY_MARKER ? row->self
										    : row->total;
}

/* Takes `like` over, with the operation's name if `row` is given. */
static bool add_share(struct loads *l, const struct summary *s, enum tally_kind kind,
		      const struct tally *row, struct share like)
{
	if (!vec_reserve(&l->shares, &l->room, l->count, 1))
		return false;
	if (row) {
		struct text label = {0};

		label_add(&label, s, kind, row, BY_OP);
		if (label.failed || !label.s) {
			text_release(&label);
			return false;
		}
		like.op = label.s;
	}
	l->shares[l->count++] = like;
	return true;
}

static bool add_shares(struct loads *l, const struct summary *s, bool ops)
{
	static const enum tally_kind kinds[] = {TALLY_CALL, TALLY_ACTIVITY, TALLY_MARKER,
						TALLY_COMM, TALLY_DISPATCH, TALLY_COPY,
						TALLY_SYNC};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		const struct tally_set *set = &s->tallies->set[kinds[k]];

		for (uint32_t i = 0; i < set->count; i++) {
			const struct tally *row = set->rows[i];
			const struct t_process *p = &s->trace->processes[row->key[KEY_PROCESS]];
			struct share x = {kind_of(kinds[k], domain_of(s->trace, row)), NULL,
					  p->rank, time_of(kinds[k], row), NULL};

			if (row->key[KEY_PROCESS] &&
			    row->key[KEY_PROCESS] < s->trace->processes_count &&
			    p->rank != UINT32_MAX && p->world == l->world &&
			    !add_share(l, s, kinds[k], ops ? row : NULL, x))
				return false;
		}
	}
	return true;
}

/* ---- loads ----------------------------------------------------------------------------------- */

static int same_thing(const struct share *a, const struct share *b)
{
	int order = strcmp(a->kind, b->kind);

	return order || !a->op ? order : strcmp(a->op, b->op);
}

static int compare_shares(const void *x, const void *y)
{
	const struct share *a = x, *b = y;
	int order = same_thing(a, b);

	return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static void load_add_rank(struct load *x, uint32_t rank, uint64_t ns)
{
	if (ns < x->min) {
		x->min = ns;
		x->min_rank = rank;
	}
	if (ns > x->max || x->max_rank == UINT32_MAX) {
		x->max = ns;
		x->max_rank = rank;
	}
	x->sum += ns;
}

/* The shares of one thing, in order of ranks, beside all ranks; returns the first of the next. */
static size_t add_up(const struct loads *l, size_t at, struct load *x)
{
	*x = (struct load){.of = &l->shares[at], .min = UINT64_MAX, .max_rank = UINT32_MAX};
	for (uint32_t r = 0; r < l->rank_count; r++) {
		uint64_t ns = 0;
		bool some = false;

		for (; at < l->count && same_thing(&l->shares[at], x->of) == 0 &&
		       l->shares[at].rank == l->ranks[r];
		     at++) {
			ns += l->shares[at].ns;
			some = true;
		}
		x->ranks += some;
		load_add_rank(x, l->ranks[r], ns);
	}
	x->rank_count = l->rank_count;
	x->excess = x->max - x->sum / l->rank_count;
	return at;
}

static int compare_loads(const void *x, const void *y)
{
	const struct load *a = x, *b = y;

	if (a->excess != b->excess)
		return a->excess > b->excess ? -1 : 1;
	return same_thing(a->of, b->of);
}

/* What the ranks have worked out themselves, when they added up their tallies. */
static bool take_loads(struct loads *l, const struct summary *s, bool ops)
{
	static const enum tally_kind kinds[WIRE_TALLY_KINDS] = {
		[WIRE_TALLY_CALL] = TALLY_CALL,         [WIRE_TALLY_OTHER] = TALLY_ACTIVITY,
		[WIRE_TALLY_DISPATCH] = TALLY_DISPATCH, [WIRE_TALLY_COPY] = TALLY_COPY,
		[WIRE_TALLY_SYNC] = TALLY_SYNC,         [WIRE_TALLY_COMM] = TALLY_COMM,
		[WIRE_TALLY_MARKER] = TALLY_MARKER};
	const struct trace *t = s->trace;

	for (uint32_t i = 1; i < t->loads_count; i++) {
		const struct t_load *y = &t->loads[i];
		struct tally row = {0};

		if (y->whole == ops || t->processes[y->process].world != l->world)
			continue;
		memcpy(row.key, y->key, sizeof(row.key));
		if (!add_share(
			    l, s, kinds[y->kind], ops ? &row : NULL,
			    (struct share){.kind = kind_of(kinds[y->kind], y->domain), .load = y}))
			return false;
	}
	l->list = calloc(l->count + 1, sizeof(*l->list));
	for (size_t i = 0; l->list && i < l->count; i++) {
		const struct t_load *y = l->shares[i].load;
		uint32_t ranks = t->processes[y->process].merged_ranks;
		struct load *x = &l->list[l->list_count++];

		*x = (struct load){&l->shares[i], y->min,      y->max,   y->sum,           0,
				   y->min_rank,   y->max_rank, y->ranks, ranks ? ranks : 1};
		x->excess = x->max - x->sum / x->rank_count;
		l->rank_count = x->rank_count > l->rank_count ? x->rank_count : l->rank_count;
	}
	return l->list != NULL;
}

static bool make_loads(struct loads *l)
{
	l->list = calloc(l->count + 1, sizeof(*l->list));
	if (!l->list)
		return false;
	if (l->count)
		qsort(l->shares, l->count, sizeof(*l->shares), compare_shares);
	for (size_t at = 0; at < l->count;)
		at = add_up(l, at, &l->list[l->list_count++]);
	return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_row(struct table *t, const struct load *x, bool ops)
{
	struct cell *c = table_row(t);
	double mean = (double)x->sum / x->rank_count;

	if (!c)
		return;
	cell_text(t, c++, x->of->kind);
	if (ops)
		cell_text(t, c++, x->of->op);
	cell_number(c++, x->min);
	cell_number(c++, x->min_rank);
	cell_number(c++, (x->sum + x->rank_count / 2) / x->rank_count);
	cell_number(c++, x->max);
	cell_number(c++, x->max_rank);
	if (mean > 0)
		cell_real(c, 100.0 * ((double)x->max / mean - 1));
	c++;
	cell_number(c, x->ranks);
}

static bool make_table(struct report *r, struct loads *l, bool ops, uint32_t limit, bool worlds)
{
	struct table *t;
	char heading[80], name[32] = "imbalance";
	uint32_t shown = 0;

	if (l->list_count)
		qsort(l->list, l->list_count, sizeof(*l->list), compare_loads);

	if (worlds)
		snprintf(heading, sizeof(heading),
			 "Load of the %" PRIu32 " ranks of world %" PRIu32, l->rank_count,
			 l->world);
	else
		snprintf(heading, sizeof(heading), "Load of %" PRIu32 " ranks", l->rank_count);
	if (l->world)
		snprintf(name, sizeof(name), "imbalance_%" PRIu32, l->world);
	t = report_table(r, name, heading);
	if (!t)
		return false;
	table_column(t, "kind", "kind", CELL_TEXT);
	if (ops)
		table_column(t, "op", "name", CELL_TEXT);
	table_column(t, "min_ns", "min", CELL_TIME);
	table_column(t, "min_rank", "of rank", CELL_COUNT);
	table_column(t, "mean_ns", "mean", CELL_TIME);
	table_column(t, "max_ns", "max", CELL_TIME);
	table_column(t, "max_rank", "of rank", CELL_COUNT);
	table_column_optional(t, 2, "imbalance_percent", "imbalance %", CELL_PERCENT);
	table_column_optional(t, 1, "ranks", "ranks", CELL_COUNT);
	for (uint32_t i = 0; i < l->list_count && shown < limit; i++)
		if (limit == UINT32_MAX || l->list[i].ranks > 1) {
			add_row(t, &l->list[i], ops);
			shown++;
		}
	table_note(
		t,
		"time of each rank, without traced calls and ranges inside; imbalance: how far "
		"the most lies above the mean. Calls count while they wait: a rank with the most "
		"may be the one that waits for the others");
	if (l->list_count > limit)
		table_note(t,
			   "the %s of %s furthest above their mean, without those of one rank "
			   "alone; --by rank,op shows all",
			   UNITS_COUNT(shown), UNITS_COUNT(l->list_count));
	report_drop_empty(r);
	return true;
}

static bool of_world(struct report *r, const struct summary *s, unsigned by, uint32_t world)
{
	struct loads l = {.world = world};
	bool ops = by & BY_OP, ok;

	if (s->trace->loads_count > 1)
		ok = take_loads(&l, s, ops);
	else
		ok = find_ranks(&l, s->trace) &&
		     (l.rank_count < 2 || (add_shares(&l, s, ops) && make_loads(&l)));
	if (ok && l.rank_count > 1)
		ok = make_table(r, &l, ops, by == BY_OP ? PEOPLE_ROWS : UINT32_MAX,
				s->trace->worlds > 1);
	loads_free(&l);
	return ok;
}

enum { WORLDS = 8 }; /* that have tables of their own */

bool summary_imbalance(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	uint32_t worlds = count == 1 ? s->trace->worlds : 0;
	bool ok = true;

	/* Ranks of different jobs share nothing. */
	if (count != 1 || (by != BY_OP && !(by & BY_RANK)))
		return true;
	for (uint32_t w = 0; ok && w < worlds && w < WORLDS; w++)
		ok = of_world(r, s, by, w);
	if (worlds > 1)
		report_foot(r,
			    "%s worlds of ranks (jobs, or ranks that others have spawned): rank "
			    "1.0 is rank 0 of the second%s.",
			    UNITS_COUNT(worlds),
			    worlds > WORLDS ? "; the load of the first 8 is shown" : "");
	return ok;
}
