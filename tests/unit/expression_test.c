/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over rows (analysis/expression.h); those of one row are in formula_test.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/expression.h"

enum { ROWS = 4 };

static const double a[ROWS] = {1, 2, 3, 10}, b[ROWS] = {2, NAN, 4, 5}, zero[ROWS];

static const double *column_of(void *data, const char *name)
{
	return strcmp(name, "a") == 0      ? a
	       : strcmp(name, "b") == 0    ? b
	       : strcmp(name, "zero") == 0 ? zero
					   : NULL;
}

/* $two is 2, $column is a column, others have no value. */
static bool variable_of(void *data, const char *name, struct expression_value *out)
{
	out->number = 2;
	if (strcmp(name, "column") == 0) {
		out->column = malloc(sizeof(a));
		assert_non_null(out->column);
		memcpy(out->column, a, sizeof(a));
		return true;
	}
	return strcmp(name, "two") == 0;
}

static const struct expression_rules rules = {
	.names = EXPRESSION_NAMES, .steps = EXPRESSION_STEPS, .rows = true};

static void is_of(const char *text, const uint8_t *chosen, double value, uint32_t used)
{
	struct expression e;
	struct expression_source s = {
		.rows = ROWS, .chosen = chosen, .column = column_of, .variable = variable_of};
	struct expression_value v;
	char error[200] = "";

	if (!expression_parse(&e, text, &rules, error, sizeof(error)))
		fail_msg("%s: %s", text, error);
	assert_true(e.reduced);
	assert_true(expression_compute(&e, &s, &v));
	assert_null(v.column);
	if (isnan(value) ? !isnan(v.number) : !(fabs(v.number - value) < 1e-9))
		fail_msg("%s is %.9g, not %.9g", text, v.number, value);
	if (s.used != used)
		fail_msg("%s used %u rows, not %u", text, s.used, used);
	expression_release(&e);
}

static void is(const char *text, double value, uint32_t used)
{
	is_of(text, NULL, value, used);
}

static void test_over_rows(void **state)
{
	is("SUM(a)", 16, 4);
	is("AVG(a)", 4, 4);
	is("MIN(a) + 100 * MAX(a)", 1001, 4);
	is("MEDIAN(a)", 2.5, 4);
	is("MEDIAN(b)", 4, 3);
	is("STD(a)", sqrt((9 + 4 + 1 + 36) / 3.0), 4);
	is("COUNT(a)", 4, 4);
	is("COUNT(b)", 3, 3);
	is("QUANTILE(a, 0)", 1, 4);
	is("QUANTILE(a, 1)", 10, 4);
	is("QUANTILE(a, 0.25)", 1.75, 4);
	is("QUANTILE(a, 2)", NAN, 4);
	is("SUM(1)", 4, 4);
	is("SUM(a * $two)", 32, 4);
	is("SUM($column) / $two", 8, 4);
	is("SUM(a - AVG(a))", 0, 4);
	is("SUM(a if a > 2 else 0)", 13, 4);
	is("SUM(a if a > 2 else NA)", 13, 2);
	is("100 * SUM(a) / SUM(a + a)", 50, 4);
}

/* What has no value is left out, and what has none at all has none. */
static void test_missing(void **state)
{
	static const uint8_t chosen[ROWS] = {1, 0, 1, 0}, none[ROWS];

	is("SUM(b)", 11, 3);
	is("SUM(a / b)", 0.5 + 0.75 + 2, 3);
	is("SUM(a / zero)", NAN, 0);
	is("SUM(nobody)", NAN, 0);
	is("COUNT(nobody)", 0, 0);
	is("$nobody", NAN, 4);
	is("SUM(a) / SUM(zero)", NAN, 4);
	is_of("SUM(a)", chosen, 4, 2);
	is_of("SUM(a) / SUM(b)", chosen, 4.0 / 6, 2);
	is_of("SUM(a)", none, NAN, 0);
	is_of("STD(a)", (const uint8_t[ROWS]){1, 0, 0, 0}, NAN, 1);
}

static void test_reduced(void **state)
{
	static const struct {
		const char *text;
		bool reduced;
	} cases[] = {{"a", false},
		     {"a + SUM(a)", false},
		     {"SUM(a) + 1", true},
		     {"a if SUM(a) > 1 else 2", false},
		     {"1 if a > 2 else 3", false},
		     {"MIN2(a, 1)", false},
		     {"MIN2(SUM(a), 1)", true},
		     {"-a", false},
		     {"$x", true}};
	struct expression e;
	char error[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(expression_parse(&e, cases[i].text, &rules, error, sizeof(error)));
		if (e.reduced != cases[i].reduced)
			fail_msg("%s", cases[i].text);
		expression_release(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_over_rows),
					   cmocka_unit_test(test_missing),
					   cmocka_unit_test(test_reduced)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
