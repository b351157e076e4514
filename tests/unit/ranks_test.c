/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ranks as users write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ranks.h"

static void lists(void **state)
{
	static const char *const good[] = {"0", "0-3,7", "7,0-3", "5-5", "0-4294967294"};
	static const char *const bad[] = {"",
					  ",",
					  "1,",
					  "-1",
					  "1-",
					  "3-2",
					  "a",
					  "1 ,2",
					  "1--2",
					  "1,,2",
					  "1-2-3",
					  "4294967295",
					  "99999999999999999999"};

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(ranks_valid(good[i]));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(ranks_valid(bad[i]));
}

static void members(void **state)
{
	const char *list = "7,1-3";

	assert_true(ranks_have(list, 1) && ranks_have(list, 3) && ranks_have(list, 7));
	assert_false(ranks_have(list, 0) || ranks_have(list, 4) || ranks_have(list, 8));
	assert_int_equal(ranks_first(list), 1);
	assert_int_equal(ranks_count(list, 100), 4);
	assert_int_equal(ranks_count(list, 3), 2);
	assert_int_equal(ranks_count(list, 1), 0);
}

static void everybody(void **state)
{
	assert_true(ranks_have(NULL, 12345));
	assert_int_equal(ranks_first(NULL), 0);
	assert_int_equal(ranks_count(NULL, 8), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lists), cmocka_unit_test(members),
					   cmocka_unit_test(everybody)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
