/* SPDX-License-Identifier: Apache-2.0 */
/* What two sides say of each item: tests, their correction, verdicts. See compare.h. */
#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/*
 * Runs of one side are taken to differ by so much at least, whatever few of them show: what equal numbers
 * of coarse clocks hide, and a part of how calls differ within a run.
 */
#define LEAST_DEVIATION 0.005
#define LEAST_PART      0.125

static unsigned runs_of(const struct compare *c)
{
	return c->count[0] + c->count[1];
}

static const struct run_item *item_in(const struct compare *c, unsigned run, uint32_t item)
{
	static const struct run_item none = {.noise_centre = -1, .noise_mean = -1};

	return item < c->runs[run].item_count ? &c->runs[run].items[item] : &none;
}

static double value_in(const struct compare *c, unsigned run, uint32_t quantity)
{
	return quantity < c->runs[run].value_count ? c->runs[run].values[quantity] : 0;
}

/* ---- which tests there are --------------------------------------------------------------------- */

static void find_loss(struct compare *c)
{
	for (unsigned i = 0; i < runs_of(c); i++) {
		const struct compare_run *run = &c->runs[i];
		double all = (double)run->lost + (double)run->records;
		double share = all > 0 ? (double)run->lost / all : 0;

		c->lost_share = share > c->lost_share ? share : c->lost_share;
		c->lossy |= run->lost || run->damaged || run->unread || run->endless;
	}
}

static double mean_total(const struct compare *c, unsigned side, uint32_t item)
{
	unsigned from = side ? c->count[0] : 0, n = c->count[side];
	double sum = 0;

	for (unsigned i = from; i < from + n; i++)
		sum += (double)item_in(c, i, item)->total;
	return sum / n;
}

/* Of the time of both sides in all items of its kind; ranges, which lie in each other, of the runs. */
static void find_shares(struct compare *c)
{
	double all[ITEM_KINDS] = {0};

	for (uint32_t i = 0; i < c->item_count; i++) {
		enum compare_kind kind = c->items[i].kind;

		c->items[i].share = mean_total(c, 0, i) + mean_total(c, 1, i);
		if (kind != ITEM_RANGE)
			all[kind == ITEM_COPY ? ITEM_KERNEL : kind] += c->items[i].share;
	}
	for (unsigned i = 0; i < runs_of(c); i++)
		all[ITEM_RANGE] += c->runs[i].length / c->count[c->runs[i].side];
	all[ITEM_COPY] = all[ITEM_KERNEL];
	for (uint32_t i = 0; i < c->item_count; i++)
		c->items[i].share /= fmax(all[c->items[i].kind], 1);
}

/* In how many runs of the side it is. */
static unsigned present(const struct compare *c, unsigned side, uint32_t item)
{
	unsigned from = side ? c->count[0] : 0, n = 0;

	for (unsigned i = from; i < from + c->count[side]; i++)
		n += item_in(c, i, item)->count != 0;
	return n;
}

static bool any_run(const struct compare *c, uint32_t item, bool (*is)(const struct run_item *))
{
	for (unsigned i = 0; i < runs_of(c); i++)
		if (is(item_in(c, i, item)))
			return true;
	return false;
}

static bool is_counted(const struct run_item *x)
{
	return x->counted;
}

static bool is_left_out(const struct run_item *x)
{
	return x->left_out && !x->count;
}

static bool has_no_centre(const struct run_item *x)
{
	return x->centre <= 0;
}

static bool has_no_total(const struct run_item *x)
{
	return !x->total;
}

static bool has_no_noise(const struct run_item *x)
{
	return x->noise_centre < 0;
}

/* Why an item is not tested at all, or NULL. */
static const char *item_reason(struct compare *c, uint32_t i)
{
	struct compare_item *x = &c->items[i];

	x->missing[0] = !present(c, 0, i);
	x->missing[1] = !present(c, 1, i);
	if (any_run(c, i, is_left_out))
		return "not recorded in all runs";
	if (x->missing[0] || x->missing[1])
		return "in one side only";
	if (present(c, 0, i) < c->count[0] || present(c, 1, i) < c->count[1])
		return "not in all runs";
	if (c->lossy && c->lost_share > COMPARE_LOST)
		return "too much is lost";
	if (x->share < c->options.share)
		return "little time";
	return NULL;
}

static const char *each_reason(const struct compare *c, uint32_t i)
{
	if (any_run(c, i, is_counted))
		return "counted, not recorded";
	if (any_run(c, i, has_no_centre))
		return "no time";
	if (c->way == COMPARE_SINGLE && any_run(c, i, has_no_noise))
		return "too few calls for one run";
	return NULL;
}

/* How often the host calls something may depend on how long it waits: one run cannot tell. */
static const char *all_reason(const struct compare *c, uint32_t i)
{
	if (c->lossy)
		return "records are lost";
	if (any_run(c, i, has_no_total))
		return "no time";
	if (c->way == COMPARE_SINGLE && c->items[i].kind > ITEM_COPY)
		return "one run";
	if (c->way == COMPARE_SINGLE && any_run(c, i, has_no_noise))
		return "too few calls for one run";
	return NULL;
}

static const char *quantity_reason(const struct compare *c, uint32_t i)
{
	if (c->quantities[i].unit != QUANTITY_TIME)
		return "no time";
	for (unsigned k = 0; k < runs_of(c); k++)
		if (value_in(c, k, i) <= 0)
			return "not in all runs";
	if (c->lossy)
		return "records are lost";
	return c->way == COMPARE_SINGLE ? "one run" : NULL;
}

static void choose(struct compare *c, struct compare_test *t, const char *reason)
{
	t->reason = reason;
	t->tested = !reason;
	c->tests += t->tested;
}

static void choose_tests(struct compare *c)
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		const char *reason = item_reason(c, i);

		choose(c, &c->items[i].each, reason ? reason : each_reason(c, i));
		choose(c, &c->items[i].all, reason ? reason : all_reason(c, i));
	}
	for (uint32_t i = 0; i < c->quantity_count; i++)
		choose(c, &c->quantities[i].test, quantity_reason(c, i));
}

/* ---- how they are made ------------------------------------------------------------------------- */

/*
 * By the number of runs alone, never by what was seen: ranks where they can tell one item of all, even with one
 * run out of its place; else means; one run against several by how these vary; one a side by the assumption.
 */
static void choose_way(struct compare *c)
{
	unsigned a = c->count[0], b = c->count[1], least = a < b ? a : b, most = a < b ? b : a;

	if (least >= 2)
		c->way = COMPARE_MEANS;
	else
		c->way = most >= 3 ? COMPARE_HISTORY : COMPARE_SINGLE;
}

static void choose_ranks(struct compare *c)
{
	if (c->way == COMPARE_MEANS &&
	    c->tests * stats_rank_least(c->count[0], c->count[1]) <= COMPARE_ALPHA / 4)
		c->way = COMPARE_RANKS;
}

/* `x`: logarithms, those of A first. `within`: how a run varies. */
static bool make_test(const struct compare *c, const double *x, double within,
		      struct stats_shift *out)
{
	const double *b = x + c->count[0];
	size_t na = c->count[0], nb = c->count[1];
	const double noise = c->options.noise, least = fmax(LEAST_DEVIATION, LEAST_PART * within);
	double deviation;

	switch (c->way) {
	case COMPARE_RANKS:
		return stats_by_ranks(x, na, b, nb, out);
	case COMPARE_MEANS:
		stats_by_means(x, na, b, nb, least, out);
		return true;
	case COMPARE_HISTORY:
		deviation = sqrt(na > nb ? stats_variance(x, na) : stats_variance(b, nb));
		stats_by_known(stats_mean(x, na), na, stats_mean(b, nb), nb, fmax(deviation, least),
			       (double)(na > nb ? na : nb) - 1, out);
		return true;
	default:
		stats_by_known(stats_mean(x, na), na, stats_mean(b, nb), nb,
			       sqrt(within * within + noise * noise), 2 * (COMPARE_BLOCKS - 1),
			       out);
		return true;
	}
}

/* The typical value of a side, of its runs. */
static double typical(const double *x, size_t n, double *scratch)
{
	memcpy(scratch, x, n * sizeof(*x));
	return stats_median(scratch, n);
}

struct values { /* of all runs */
	double *raw, *logs, *scratch;
};

/* What is shown, tested or not; and the test of it. */
static bool finish_test(const struct compare *c, struct compare_test *t, struct values *v,
			double within)
{
	unsigned na = c->count[0], nb = c->count[1];

	t->a = typical(v->raw, na, v->scratch);
	t->b = typical(v->raw + na, nb, v->scratch);
	t->p = 1;
	if (!t->tested)
		return true;
	for (unsigned i = 0; i < na + nb; i++)
		v->logs[i] = log(v->raw[i]);
	if (c->way != COMPARE_RANKS) { /* what the change is of: medians may lie the other way */
		t->a = na == 1 ? t->a : exp(stats_mean(v->logs, na));
		t->b = nb == 1 ? t->b : exp(stats_mean(v->logs + na, nb));
	}
	return make_test(c, v->logs, within, &t->shift);
}

/* Its variance; 0 where there were too few calls to tell. */
static double noise_of(float deviation)
{
	return deviation > 0 ? (double)deviation * (double)deviation : 0;
}

static bool test_item(struct compare *c, uint32_t item, struct values *v)
{
	struct compare_item *x = &c->items[item];
	double centre = 0, mean = 0;
	unsigned n = runs_of(c);
	bool ok;

	for (unsigned i = 0; i < n; i++) {
		const struct run_item *run = item_in(c, i, item);

		v->raw[i] = run->centre;
		centre += noise_of(run->noise_centre) / n;
		mean += noise_of(run->noise_mean) / n;
	}
	ok = finish_test(c, &x->each, v, sqrt(centre));
	for (unsigned i = 0; i < n; i++)
		v->raw[i] = (double)item_in(c, i, item)->total;
	return finish_test(c, &x->all, v, sqrt(mean)) && ok;
}

static bool test_quantity(struct compare *c, uint32_t quantity, struct values *v)
{
	for (unsigned i = 0; i < runs_of(c); i++)
		v->raw[i] = value_in(c, i, quantity);
	return finish_test(c, &c->quantities[quantity].test, v, 0);
}

/* ---- what they are worth together -------------------------------------------------------------- */

/* The n-th of all tests, made or not; NULL: there are no more. */
static struct compare_test *test_at(struct compare *c, uint64_t n)
{
	if (n < 2 * (uint64_t)c->item_count)
		return n % 2 ? &c->items[n / 2].all : &c->items[n / 2].each;
	n -= 2 * (uint64_t)c->item_count;
	return n < c->quantity_count ? &c->quantities[n].test : NULL;
}

static void conclude(const struct compare *c, struct compare_test *t)
{
	const double least = log1p(c->options.threshold);
	double detectable = stats_detectable(&t->shift, COMPARE_ALPHA / (c->tests ? c->tests : 1));

	t->detectable = expm1(fmax(detectable, least));
	t->verdict = VERDICT_SAME;
	if (t->p < COMPARE_ALPHA && fabs(t->shift.shift) >= least)
		t->verdict = t->shift.shift > 0 ? VERDICT_UP : VERDICT_DOWN;
}

static bool correct_all(struct compare *c)
{
	double *p = calloc(c->tests ? c->tests : 1, sizeof(*p));
	struct compare_test *t;
	uint32_t n = 0;

	if (!p)
		return false;
	for (uint64_t i = 0; (t = test_at(c, i)); i++)
		if (t->tested)
			p[n++] = t->shift.p;
	if (!stats_holm(p, n)) {
		free(p);
		return false;
	}
	n = 0;
	for (uint64_t i = 0; (t = test_at(c, i)); i++) {
		if (!t->tested)
			continue;
		t->p = p[n++];
		conclude(c, t);
	}
	free(p);
	return true;
}

bool compare_judge(struct compare *c)
{
	struct values v = {calloc(runs_of(c), sizeof(double)), calloc(runs_of(c), sizeof(double)),
			   calloc(runs_of(c), sizeof(double))};
	bool ok = v.raw && v.logs && v.scratch;

	find_loss(c);
	find_shares(c);
	choose_way(c);
	choose_tests(c);
	choose_ranks(c);
	for (uint32_t i = 0; ok && i < c->item_count; i++)
		ok = test_item(c, i, &v);
	for (uint32_t i = 0; ok && i < c->quantity_count; i++)
		ok = test_quantity(c, i, &v);
	free(v.raw);
	free(v.logs);
	free(v.scratch);
	return ok && correct_all(c);
}

bool compare_worse(const struct compare *c)
{
	for (uint32_t i = 0; i < c->item_count; i++)
		if (c->items[i].each.verdict == VERDICT_UP || c->items[i].all.verdict == VERDICT_UP)
			return true;
	for (uint32_t i = 0; i < c->quantity_count; i++)
		if (c->quantities[i].test.verdict == VERDICT_UP)
			return true;
	return false;
}
