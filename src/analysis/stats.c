/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of two groups; see stats.h. */
#include "analysis/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MOST 40u /* values of both groups whose ranks are counted out */
#define CONFIDENCE 0.95
#define POWER      0.8

/* ---- distributions ----------------------------------------------------------------------------- */

/* Continued fraction of the incomplete beta function (modified Lentz). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m <= 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return h;
}

/* Regularised incomplete beta function. */
static double beta_part(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Both tails beyond |t|: no digits are lost of small ones. */
static double t_tails(double t, double freedom)
{
	return beta_part(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double stats_t_below(double t, double freedom)
{
	double tail = t_tails(t, freedom) / 2;

	return t > 0 ? 1 - tail : tail;
}

double stats_t_at(double p, double freedom)
{
	double tail = p < 0.5 ? p : 1 - p, low = 0, high = 1;

	if (p <= 0 || p >= 1)
		return p <= 0 ? -INFINITY : INFINITY;
	while (t_tails(high, freedom) / 2 > tail && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = (low + high) / 2;

		if (t_tails(middle, freedom) / 2 > tail)
			low = middle;
		else
			high = middle;
	}
	return p < 0.5 ? -(low + high) / 2 : (low + high) / 2;
}

double stats_normal_below(double z)
{
	return erfc(-z / sqrt(2)) / 2;
}

double stats_normal_at(double p)
{
	double low = -40, high = 40;

	for (int i = 0; i < 200 && high - low > 1e-14; i++) {
		double middle = (low + high) / 2;

		if (stats_normal_below(middle) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* ---- single groups ----------------------------------------------------------------------------- */

double stats_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : 0;
}

double stats_variance(const double *x, size_t n)
{
	double mean = stats_mean(x, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return n > 1 ? sum / (double)(n - 1) : 0;
}

static int compare_numbers(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

double stats_median(double *x, size_t n)
{
	if (!n)
		return 0;
	qsort(x, n, sizeof(*x), compare_numbers);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* ---- ranks ------------------------------------------------------------------------------------- */

double stats_rank_least(size_t a, size_t b)
{
	double ways = 1;

	for (size_t i = 1; i <= a; i++)
		ways *= (double)(b + i) / (double)i;
	return 2 / ways;
}

struct ranked {
	double value;
	size_t place;
	bool first;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return (a->value > b->value) - (a->value < b->value);
}

/* Twice the rank of each value, so that ties have whole numbers; returns the sum of t^3 - t of ties. */
static double rank_all(struct ranked *r, size_t n, unsigned *twice)
{
	double ties = 0;

	qsort(r, n, sizeof(*r), compare_ranked);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && r[k].value == r[i].value; k++)
			;
		for (size_t j = i; j < k; j++)
			twice[j] = (unsigned)(i + k + 1);
		ties += (double)(k - i) * (double)(k - i) * (double)(k - i) - (double)(k - i);
	}
	return ties;
}

/*
 * Ways to choose `na` of the `n` ranks by their sum: p of a sum at least as far from its mean as this one.
 * Doubles hold C(40, 20) exactly. Negative: no memory.
 */
static double exact_p(const unsigned *twice, size_t na, size_t n, unsigned sum)
{
	size_t most = n * (n + 1), width = most + 1;
	double *ways = calloc((na + 1) * width, sizeof(*ways)), all = 0, far = 0;
	double mean = (double)na * (double)(n + 1), distance = fabs((double)sum - mean);

	if (!ways)
		return -1;
	ways[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t c = na < i + 1 ? na : i + 1; c >= 1; c--)
			for (size_t s = most; s >= twice[i]; s--)
				ways[c * width + s] += ways[(c - 1) * width + s - twice[i]];
	for (size_t s = 0; s <= most; s++) {
		all += ways[na * width + s];
		if (fabs((double)s - mean) >= distance - 1e-9)
			far += ways[na * width + s];
	}
	free(ways);
	return far / all;
}

static double normal_p(size_t na, size_t nb, double ties, unsigned sum)
{
	double n = (double)(na + nb), mean = (double)na * (n + 1);
	double variance = (double)na * (double)nb / 12 * (n + 1 - ties / (n * (n - 1)));
	double z = fabs((double)sum - mean) / 2 - 0.5; /* of whole ranks, continuous */

	return variance <= 0 || z <= 0 ? 1 : 2 * stats_normal_below(-z / sqrt(variance));
}

static double rank_p(const double *a, size_t na, const double *b, size_t nb)
{
	size_t n = na + nb;
	struct ranked *r = calloc(n, sizeof(*r));
	unsigned *twice = calloc(n, sizeof(*twice)), sum = 0;
	double ties, p = -1;

	if (r && twice) {
		for (size_t i = 0; i < n; i++)
			r[i] = (struct ranked){i < na ? a[i] : b[i - na], i, i < na};
		ties = rank_all(r, n, twice);
		for (size_t i = 0; i < n; i++)
			sum += r[i].first ? twice[i] : 0;
		p = n <= EXACT_MOST ? exact_p(twice, na, n, sum) : normal_p(na, nb, ties, sum);
	}
	free(r);
	free(twice);
	return p;
}

/* How many of the least differences are outside the interval: P(U < that) is at most half of what may miss. */
static size_t rank_outside(size_t na, size_t nb)
{
	size_t pairs = na * nb, outside = 0;
	double n = (double)(na + nb), miss = (1 - CONFIDENCE) / 2, below = 0, all = 0;
	double *ways;

	if (na + nb > EXACT_MOST) {
		double sd = sqrt((double)pairs * (n + 1) / 12);
		double k = (double)pairs / 2 + stats_normal_at(miss) * sd;

		return k > 0 ? (size_t)k : 0;
	}
	/* ways[c][u]: of placing c of A and some of B with U = u; counted over B's of up to nb. */
	ways = calloc((na + 1) * (pairs + 1), sizeof(*ways));
	if (!ways)
		return 0;
	ways[0] = 1;
	for (size_t c = 1; c <= na; c++) /* U is a partition into at most na parts of at most nb */
		ways[c * (pairs + 1)] = 1;
	for (size_t part = 1; part <= nb; part++)
		for (size_t c = 1; c <= na; c++)
			for (size_t u = part; u <= pairs; u++)
				ways[c * (pairs + 1) + u] += ways[(c - 1) * (pairs + 1) + u - part];
	for (size_t u = 0; u <= pairs; u++)
		all += ways[na * (pairs + 1) + u];
	for (size_t u = 0; u < pairs / 2; u++) {
		below += ways[na * (pairs + 1) + u];
		if (below / all > miss)
			break;
		outside = u + 1;
	}
	free(ways);
	return outside;
}

bool stats_by_ranks(const double *a, size_t na, const double *b, size_t nb, struct stats_shift *out)
{
	size_t pairs = na * nb, outside = rank_outside(na, nb);
	double *differences = calloc(pairs ? pairs : 1, sizeof(*differences));

	*out = (struct stats_shift){.ranks = true, .freedom = (double)(na + nb) - 2};
	out->p = na && nb ? rank_p(a, na, b, nb) : 1;
	if (!differences || out->p < 0) {
		free(differences);
		return false;
	}
	for (size_t i = 0; i < na; i++)
		for (size_t k = 0; k < nb; k++)
			differences[i * nb + k] = b[k] - a[i];
	out->shift = stats_median(differences, pairs);
	out->low = outside ? differences[outside - 1] : -INFINITY;
	out->high = outside ? differences[pairs - outside] : INFINITY;
	/* Ranks see what a normal distribution of this width would show (efficiency 0.955). */
	out->error = outside ? (out->high - out->low) / 2 /
				       stats_t_at((1 + CONFIDENCE) / 2, out->freedom)
			     : INFINITY;
	free(differences);
	return true;
}

/* ---- means ------------------------------------------------------------------------------------- */

static void finish_t(struct stats_shift *s)
{
	double reach = stats_t_at((1 + CONFIDENCE) / 2, s->freedom) * s->error;

	s->low = s->shift - reach;
	s->high = s->shift + reach;
	s->p = s->error > 0 ? t_tails(s->shift / s->error, s->freedom) : s->shift == 0;
}

void stats_by_means(const double *a, size_t na, const double *b, size_t nb, double floor,
		    struct stats_shift *out)
{
	double va = fmax(stats_variance(a, na), floor * floor) / (double)na;
	double vb = fmax(stats_variance(b, nb), floor * floor) / (double)nb;

	*out = (struct stats_shift){.shift = stats_mean(b, nb) - stats_mean(a, na)};
	out->error = sqrt(va + vb);
	out->freedom = (double)(na + nb - 2);
	if (na != nb && va + vb > 0)
		out->freedom = (va + vb) * (va + vb) /
			       (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
	finish_t(out);
}

void stats_by_known(double a, size_t na, double b, size_t nb, double deviation, double freedom,
		    struct stats_shift *out)
{
	*out = (struct stats_shift){.shift = b - a, .freedom = freedom};
	out->error = deviation * sqrt(1 / (double)na + 1 / (double)nb);
	finish_t(out);
}

/* ---- several tests ------------------------------------------------------------------------------- */

static int compare_p(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return a->value != b->value ? (a->value > b->value) - (a->value < b->value)
				    : (a->place > b->place) - (a->place < b->place);
}

bool stats_holm(double *p, size_t n)
{
	struct ranked *r = calloc(n ? n : 1, sizeof(*r));
	double least = 0;

	if (!r)
		return false;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){p[i], i, false};
	qsort(r, n, sizeof(*r), compare_p);
	for (size_t i = 0; i < n; i++) {
		double worth = r[i].value * (double)(n - i);

		least = fmax(least, worth < 1 ? worth : 1);
		p[r[i].place] = least;
	}
	free(r);
	return true;
}

double stats_detectable(const struct stats_shift *s, double alpha)
{
	return (stats_t_at(1 - alpha / 2, s->freedom) + stats_t_at(POWER, s->freedom)) * s->error;
}
