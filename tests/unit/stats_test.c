/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of two groups against values of textbooks and tables; busy times of more intervals than are kept. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "analysis/compare.h"
#include "analysis/stats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_near(double got, double wanted, double error)
{
	if (!(fabs(got - wanted) <= error))
		fail_msg("got %.10g, expected %.10g", got, wanted);
}

/* Tables of Student's t and of the normal distribution. */
static void test_distributions(void **state)
{
	static const struct {
		double p, freedom, t;
	} rows[] = {{0.975, 1, 12.7062}, {0.975, 4, 2.77645},   {0.995, 9, 3.24984},
		    {0.95, 18, 1.73406}, {0.9995, 10, 4.58689}, {0.025, 30, -2.04227}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_near(stats_t_at(rows[i].p, rows[i].freedom), rows[i].t, 1e-4);
		assert_near(stats_t_below(rows[i].t, rows[i].freedom), rows[i].p, 1e-5);
	}
	assert_near(stats_t_below(0, 7), 0.5, 1e-12);
	assert_near(stats_normal_at(0.975), 1.959964, 1e-6);
	assert_near(stats_normal_below(-2.5758293), 0.005, 1e-8);
}

static void test_groups(void **state)
{
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};

	assert_near(stats_mean(even, 4), 2.5, 0);
	assert_near(stats_variance(even, 4), 5.0 / 3, 1e-12);
	assert_near(stats_variance(even, 1), 0, 0);
	assert_near(stats_median(odd, 3), 3, 0);
	assert_near(stats_median(even, 4), 2.5, 0);
	assert_near(stats_median(even, 0), 0, 0);
}

/* Permeability of human membranes: Hollander and Wolfe, Nonparametric Statistical Methods, table 4.1. */
static const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
static const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};

static void test_ranks(void **state)
{
	struct stats_shift s;

	assert_true(stats_by_ranks(early, 5, term, 10, &s));
	assert_near(s.p, 0.254412, 1e-6);
	assert_near(s.shift, 0.305, 1e-9);
	assert_near(s.low, -0.15, 1e-9); /* the book's 95.2 % interval (-0.15, 0.76) */
	assert_near(s.high, 0.76, 1e-9);
	assert_true(stats_by_ranks(term, 10, early, 5, &s)); /* the other way round */
	assert_near(s.p, 0.254412, 1e-6);
	assert_near(s.shift, -0.305, 1e-9);
}

/* Complete separation has the least p, 2 / C(2n, n). */
static void test_rank_least(void **state)
{
	static const double wanted[] = {
		[3] = 0.1, [4] = 0.028571, [5] = 0.0079365, [8] = 0.0001554};
	double a[8], b[8];
	struct stats_shift s;

	for (size_t n = 3; n <= 8; n++) {
		for (size_t i = 0; i < n; i++) {
			a[i] = (double)i;
			b[i] = 100 + (double)i * (double)i;
		}
		assert_true(stats_by_ranks(a, n, b, n, &s));
		assert_near(s.p, stats_rank_least(n, n), 1e-12);
		if (wanted[n] > 0)
			assert_near(s.p, wanted[n], 1e-6);
	}
	assert_true(stats_by_ranks(a, 3, b, 3, &s)); /* no interval of 95 % from 3 and 3 */
	assert_true(isinf(s.low) && isinf(s.high));
}

/* Ties: {1,2,2} against {2,3,3}: of C(6,3) = 20 choices of midranks 6 are as far from the mean. */
static void test_ties(void **state)
{
	const double a[] = {1, 2, 2}, b[] = {2, 3, 3}, same[] = {7, 7, 7, 7};
	struct stats_shift s;

	assert_true(stats_by_ranks(a, 3, b, 3, &s));
	assert_near(s.p, 0.3, 1e-12);
	assert_true(stats_by_ranks(same, 4, same, 4, &s));
	assert_near(s.p, 1, 0);
	assert_near(s.shift, 0, 0);
}

/* Above 40 values a normal distribution stands for the ranks; both ways agree near the border. */
static void test_many(void **state)
{
	double a[30], b[30];
	struct stats_shift exact, normal;

	for (size_t i = 0; i < 30; i++) {
		a[i] = (double)((i * 7919) % 101);
		b[i] = (double)((i * 104729 + 13) % 101) + 18.3;
	}
	assert_true(stats_by_ranks(a, 20, b, 20, &exact));
	assert_true(stats_by_ranks(a, 20, b, 21, &normal));
	assert_true(exact.p > 0.001 && exact.p < 0.2);
	assert_near(log(normal.p), log(exact.p), 0.7);
	assert_near(normal.low, exact.low, 6);
	assert_near(normal.high, exact.high, 6);
}

/* Of equally many Student's test, of others Welch's. */
static void test_means(void **state)
{
	/* Sleep of ten patients, Student 1908. */
	const double one[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
	const double two[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
	struct stats_shift s;

	stats_by_means(one, 10, two, 10, 0, &s);
	assert_near(s.shift, 1.58, 1e-9);
	assert_near(s.freedom, 18, 1e-9);
	assert_near(s.p, 0.07919, 1e-5);
	assert_near(s.low, -0.203874, 1e-5);
	assert_near(s.high, 3.363874, 1e-5);
	stats_by_means(term, 10, early, 5, 0, &s); /* unequal: Welch's degrees of freedom */
	assert_near(s.shift, -0.337, 1e-9);
	assert_near(s.freedom, 12.970, 1e-3);
	assert_near(s.p, 0.062101, 1e-5);
}

/* Equal numbers do not make a change of nothing certain. */
static void test_floor(void **state)
{
	const double a[] = {1, 1, 1}, b[] = {1.001, 1.001, 1.001};
	struct stats_shift s;

	stats_by_means(a, 3, b, 3, 0.005, &s);
	assert_true(s.p > 0.5);
	stats_by_means(a, 3, a, 3, 0, &s);
	assert_near(s.p, 1, 0);
	stats_by_known(1, 1, 1.1, 1, 0.05, 14, &s); /* 0.1 / (0.05 sqrt 2) = 1.414 */
	assert_near(s.p, 0.17914, 1e-4);
	assert_near(s.high - s.shift, 2.14479 * 0.0707107, 1e-5);
}

static void test_holm(void **state)
{
	double p[] = {0.01, 0.04, 0.03, 0.005}, tied[] = {0.5, 0.5, 0.9};
	static const double wanted[] = {0.03, 0.06, 0.06, 0.02};

	assert_true(stats_holm(p, 4));
	for (size_t i = 0; i < 4; i++)
		assert_near(p[i], wanted[i], 1e-12);
	assert_true(stats_holm(tied, 3)); /* never above 1 */
	for (size_t i = 0; i < 3; i++)
		assert_near(tied[i], 1, 1e-12);
}

/* n = 10 a side, deviation 1: 4 of 5 shifts of 1.325 are seen at 0.05 (tables of power: 1.325 to 1.33). */
static void test_detectable(void **state)
{
	struct stats_shift s;

	stats_by_known(0, 10, 0, 10, 1, 18, &s);
	assert_near(stats_detectable(&s, 0.05), 1.325, 0.01);
	assert_true(stats_detectable(&s, 0.005) > 1.7);
}

/* Each pair of intervals covers 12 ns; what comes too late is counted, if it lasts. */
static void test_busy(void **state)
{
	struct busy b = {0};

	for (uint32_t i = 0; i < COMPARE_BUSY / 2; i++) {
		assert_true(busy_add(&b, 20 * (int64_t)i, 20 * (int64_t)i + 10));
		assert_true(busy_add(&b, 20 * (int64_t)i + 4, 20 * (int64_t)i + 12));
	}
	assert_true(busy_add(&b, INT64_C(20) * COMPARE_BUSY, INT64_C(20) * COMPARE_BUSY + 5));
	assert_int_equal(b.late, 0);
	assert_true(busy_add(&b, 13, 13)); /* of no length: nothing is missing */
	assert_int_equal(b.late, 0);
	assert_true(busy_add(&b, 13, 15));
	assert_int_equal(b.late, 1);
	assert_int_equal(busy_sum(&b), INT64_C(12) * (COMPARE_BUSY / 2) + 5);
	busy_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distributions), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_ranks),         cmocka_unit_test(test_rank_least),
		cmocka_unit_test(test_ties),          cmocka_unit_test(test_many),
		cmocka_unit_test(test_means),         cmocka_unit_test(test_floor),
		cmocka_unit_test(test_holm),          cmocka_unit_test(test_detectable),
		cmocka_unit_test(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
