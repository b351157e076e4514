/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of counters (analysis/formula.h): what they say, what is none, and anything at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/formula.h"

/* Counters have the values 2, 3, 5, 7, ... in the order in which they are named first. */
static const double primes[FORMULA_NAMES] = {2,  3,  5,  7,  11, 13, 17, 19,
					     23, 29, 31, 37, 41, 43, 47, 53};

static void is(const char *line, const char *names, double value)
{
	struct formula f;
	char error[200] = "", all[400] = "";
	double v = NAN;
	size_t n = 0;

	if (!formula_parse(&f, line, error, sizeof(error)))
		fail_msg("%s: %s", line, error);
	for (unsigned i = 0; i < f.name_count; i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? " " : "", f.names[i]);
	assert_string_equal(all, names);
	if (isnan(value)) {
		assert_false(formula_value(&f, primes, &v));
	} else {
		assert_true(formula_value(&f, primes, &v));
		assert_true(fabs(v - value) < 1e-9);
	}
	formula_release(&f);
}

static void test_values(void **state)
{
	is("x=a", "a", 2);
	is("x=a/b", "a b", 2.0 / 3);
	is("x=a+b*c", "a b c", 17);
	is("x=(a+b)*c", "a b c", 25);
	is("x=a - b - c", "a b c", -6);
	is("x=a/b/c", "a b c", 2.0 / 15);
	is("x=100*(a - b)/a", "a b", -50);
	is("x= -a * -(b)", "a b", 6);
	is("x=--a", "a", 2);
	is("x=a+a+b", "a b", 7);
	is("x=1e3*a + .5", "a", 2000.5);
	is("x=((((a))))", "a", 2);
	is("ipc=instructions/cycles", "instructions cycles", 2.0 / 3);
	/* Names have - : . in them, a minus has a space before it. */
	is("x=cache-misses/cache-references", "cache-misses cache-references", 2.0 / 3);
	is("x=a -b", "a b", -1);
	is("x=a-b", "a-b", 2);
	is("x=perf:cycles+rusage:minflt", "perf:cycles rusage:minflt", 5);
	is("x=sm__cycles_elapsed.avg*2", "sm__cycles_elapsed.avg", 4);
	is("x=\"msr/tsc/\"+\"a b\"", "msr/tsc/ a b", 5);
	is("x=sum(a)/avg(b)", "sum(a) avg(b)", 2.0 / 3);
	is("x=sum", "sum", 2);
	is("x=2", "", 2);
	is("x=MIN2(a, b) + MAX2(a,b)*ABS(-a)", "a b", 8);
	is("x=ROUND(a/b) + FLOOR(a/b) + CEIL(a/b) + TO_INT(-b/a) + MOD(b, a)", "a b", 2);
	is("x=a if a < b else b", "a b", 2);
	is("x=a if a > b else b if a == b else c", "a b c", 5);
	is("x=(a <= 2) + (a >= 2) + (a != b)", "a b", 3);
	is("x=1 if iffy > 1 else elsewhere", "iffy elsewhere", 1);
}

static void test_ratios(void **state)
{
	static const char *const ratios[] = {"x=a/b", "x=100*(a - b)/a", "x=a/b + c/d"},
				 *const others[] = {"x=a",   "x=4*a",     "x=a*b",
						    "x=1/a", "x=a/b + c", "x=a/0"};
	struct formula f;
	char error[200];

	for (size_t i = 0; i < 9; i++) {
		assert_true(
			formula_parse(&f, i < 3 ? ratios[i] : others[i - 3], error, sizeof(error)));
		assert_int_equal(formula_is_ratio(&f, primes), i < 3);
		formula_release(&f);
	}
}

static void test_no_value(void **state)
{
	is("x=a/0", "a", NAN);
	is("x=a/(b - b)", "a b", NAN);
	is("x=0/0", "", NAN);
	is("x=1/(a - a) + 1", "a", NAN);
	is("x=1e308*a*1e10", "a", NAN);
	is("x=1/(1/0)", "", NAN); /* not 0 */
	is("x=MAX2(1/0, a)", "a", NAN);
	is("x=a if 1/0 else a", "a", NAN);
	is("x=NA", "", NAN);
	is("x=a if b > 1 else 1/0", "a b", 2); /* of what is not taken nothing is asked */
}

static void test_parts(void **state)
{
	struct formula f;
	char error[200];

	assert_true(formula_parse(&f, "  a-b.c { % of x } =  d / e   # what it is # all of it \r",
				  error, sizeof(error)));
	assert_string_equal(f.name, "a-b.c");
	assert_string_equal(f.unit, "% of x");
	assert_string_equal(f.expression, "d / e");
	assert_string_equal(f.description, "what it is # all of it");
	assert_int_equal(formula_counter(&f, "perf", "e"), 1);
	assert_int_equal(formula_counter(&f, "perf", "f"), -1);
	formula_release(&f);
	assert_true(formula_parse(&f, "x=perf:e+f", error, sizeof(error)));
	assert_int_equal(formula_counter(&f, "perf", "e"), 0);
	assert_int_equal(formula_counter(&f, "rusage", "e"), -1);
	assert_int_equal(formula_counter(&f, "rusage", "f"), 1);
	formula_release(&f);
	assert_true(formula_begins("ipc=a/b"));
	assert_true(formula_begins("ipc{%}=a"));
	assert_true(formula_begins("a-b = 2"));
	assert_false(formula_begins("NAME[DIM=2]"));
	assert_false(formula_begins("NAME:device=0"));
	assert_false(formula_begins("NAME:cpu=0"));
	assert_false(formula_begins("cpu/event=0x3c/"));
	assert_false(formula_begins("=a"));
	assert_false(formula_begins(""));
}

static void repeat(char *out, const char *what, unsigned times, const char *end)
{
	strcpy(out, "x=");
	for (unsigned i = 0; i < times; i++)
		strcat(out, what);
	strcat(out, end);
}

static void refused(const char *line)
{
	struct formula f;
	char error[120] = "";

	if (formula_parse(&f, line, error, sizeof(error)))
		fail_msg("%s is taken", line);
	assert_true(error[0]);
	formula_release(&f);
}

static void test_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"x",
		"=",
		"x=",
		"=a",
		"1x=a",
		"x y=a",
		"x=a b",
		"x=a+",
		"x=*a",
		"x=(a",
		"x=a)",
		"x=()",
		"x=a//b",
		"x=a b c",
		"x={a}",
		"x{=a",
		"x}=a",
		"x{u}y=a",
		"x=\"a",
		"x=\"\"",
		"x=1e999",
		"x=0x1p",
		"x=1a",
		"x=a^b",
		"x=a,b",
		"x=a;b",
		"x=\xff",
		"x=sum(a",
		"x=f(a)",
		"x=a=b",
		"x=#a",
		"x{u}a=b",
		"x:y=a",
		"x=1.2.3",
		"x=a\x01b",
		"x=(a)(b)",
		"x=$a",
		"x=-",
		"x=a if b",
		"x=a if b else",
		"x=MIN2(a)",
		"x=MIN2(a,b,c)",
		"x=SUM(a)",
		"x=a<b<c",
		"x=if",
		"x=a else b",
	};
	static char line[4096];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		refused(lines[i]);
	repeat(line, "(", 1000, "a");
	refused(line);
	repeat(line, "-", 1000, "a");
	refused(line);
	repeat(line, "1+", 1000, "1");
	refused(line);
	strcpy(line, "x=a0");
	for (unsigned i = 1; i <= FORMULA_NAMES; i++)
		sprintf(line + strlen(line), "+a%u", i);
	refused(line);
}

/* Strings of what formulas are made of, and of anything: each is refused with a reason, or can be computed. */
static void test_anything(void **state)
{
	static const char pieces[] = "ab1.0e-+*/() \"#{}=:,_x\t\xff%sum(";
	uint32_t seed = 1;

	for (unsigned n = 0; n < 200000; n++) {
		char line[48] = "x=", error[100] = "";
		struct formula f;
		double v = 0;

		for (unsigned i = n % 2 ? 2 : 0; i < sizeof(line) - 1; i++) {
			seed = seed * 1664525u + 1013904223u;
			line[i] = n % 3 ? pieces[(seed >> 16) % (sizeof(pieces) - 1)]
					: (char)(seed >> 16);
			if ((seed >> 8) % 24 == 0) {
				line[i] = '\0';
				break;
			}
		}
		if (!formula_parse(&f, line, error, sizeof(error)))
			assert_true(error[0]);
		else if (formula_value(&f, primes, &v))
			assert_true(isfinite(v));
		formula_release(&f);
	}
}

static void test_known(void **state)
{
	for (size_t i = 0; formulas_known[i]; i++) {
		struct formula f;
		char error[200];

		assert_true(formula_parse(&f, formulas_known[i], error, sizeof(error)));
		assert_int_equal(f.name_count, 2);
		assert_true(*f.unit && *f.description);
		formula_release(&f);
	}
}

static void test_lines(void **state)
{
	unsigned count;
	struct formula *f = formulas_of("a=b/c\nnonsense\n\n d=e", &count);

	assert_int_equal(count, 2);
	assert_string_equal(f[1].name, "d");
	assert_string_equal(f[1].names[0], "e");
	for (unsigned i = 0; i < count; i++)
		formula_release(&f[i]);
	free(f);
	assert_null(formulas_of("", &count));
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),   cmocka_unit_test(test_ratios),
		cmocka_unit_test(test_no_value), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_refused),  cmocka_unit_test(test_anything),
		cmocka_unit_test(test_known),    cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
