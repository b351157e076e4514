/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables as people read them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/report.h"

static void check(uint64_t ns, const char *want)
{
	struct cell c = {.u = ns};
	char buffer[32];

	assert_string_equal(cell_show(&c, CELL_TIME, buffer), want);
}

static void test_times(void **state)
{
	const uint64_t s = 1000000000u;

	check(0, "0 ns");
	check(999, "999 ns");
	check(1234567, "1.235 ms");
	check(s, "1.000 s");
	check(1000 * s - 1000000, "1000 s");
	check(1000 * s, "16.67 min");
	check(6000 * s - 1, "100.0 min");
	check(6000 * s, "1.667 h");
	check(48 * 3600 * s, "2 d");
	check(16449247 * s, "190.4 d");
	check(UINT64_MAX, "213504 d");
}

/* What is no number is none: JSON has no word for it. */
static void test_no_numbers(void **state)
{
	const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
	char buffer[32];

	for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
		const struct cell c = {.f = none[i]};

		assert_string_equal(cell_raw(&c, CELL_NUMBER, buffer), "");
		assert_string_equal(cell_raw(&c, CELL_PERCENT, buffer), "");
	}
	assert_string_equal(cell_raw(&(struct cell){.f = 0.25}, CELL_NUMBER, buffer), "0.25");
}

static void test_numbers(void **state)
{
	static const struct {
		double v;
		const char *want;
	} known[] = {{0, "0"},
		     {12.345678, "12.3457"},
		     {-0.5, "-0.5"},
		     {99999.25, "99999.2"},
		     {131711000, "131,711,000"},
		     {-1234567.5, "-1,234,568"},
		     {999999999999999.0, "999,999,999,999,999"},
		     {1.5e20, "1.5e+20"}};
	char buffer[32];

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_string_equal(cell_show(&(struct cell){.f = known[i].v}, CELL_NUMBER, buffer),
				    known[i].want);
}

/* Numbers that count have their digits in groups, those that name something have not. */
static void test_ids(void **state)
{
	const struct cell c = {.u = 4194304};
	char buffer[32];

	assert_string_equal(cell_show(&c, CELL_COUNT, buffer), "4,194,304");
	assert_string_equal(cell_show(&c, CELL_ID, buffer), "4194304");
	assert_string_equal(cell_raw(&c, CELL_ID, buffer), "4194304");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_ids),
					   cmocka_unit_test(test_numbers),
					   cmocka_unit_test(test_no_numbers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
