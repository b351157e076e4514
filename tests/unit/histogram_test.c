/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms (tally/histogram.h): of one bucket, which has no page, and of many. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "tally/histogram.h"

/* Values of `h` are those of `counts`, by bucket. */
static void check(const struct histogram_pool *p, const struct histogram *h, const uint64_t *counts)
{
	uint32_t bucket = 0;
	uint64_t n;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!counts[i])
			continue;
		n = histogram_next(p, h, &bucket);
		assert_int_equal(n, counts[i]);
		assert_int_equal(bucket++, i);
	}
	assert_int_equal(histogram_next(p, h, &bucket), 0);
}

static void test_buckets(void **state)
{
	static const uint32_t buckets[] = {40,   40,   0,   HISTOGRAM_BUCKETS - 1, 31, 32, 40,
					   1000, 1001, 1000};
	static uint64_t counts[HISTOGRAM_BUCKETS];
	struct histogram_pool p = {0};
	struct histogram h = {0};

	(void)state;
	check(&p, &h, counts);
	for (unsigned i = 0; i < sizeof(buckets) / sizeof(*buckets); i++) {
		assert_true(histogram_add(&p, &h, buckets[i], i + 1));
		counts[buckets[i]] += i + 1;
		check(&p, &h, counts);
		assert_int_equal(h.table != 0, i > 1); /* a page for more than one bucket alone */
	}
	histogram_pool_release(&p);
}

static void test_shares(void **state)
{
	struct histogram_pool p = {0};
	struct histogram h = {0};

	(void)state;
	assert_true(histogram_add(&p, &h, histogram_bucket(7), 10));
	assert_int_equal(histogram_at(&p, &h, 10, 0.5), 7);
	assert_int_equal(histogram_at(&p, &h, 10, 0.99), 7);
	assert_true(histogram_add(&p, &h, histogram_bucket(30), 10));
	assert_int_equal(histogram_at(&p, &h, 20, 0.5), 7);
	assert_int_equal(histogram_at(&p, &h, 20, 0.51), 30);
	histogram_pool_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
