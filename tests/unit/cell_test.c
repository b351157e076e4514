/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables as people read them. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_times)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
