/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each microkernel once on each OpenCL device here, with as much time as it takes: they build, their results are those of the
 * closed form (else a roof is not measured, with the reason), and what they are said to have moved fits their sizes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "roofs/measure.h"

static struct runner runners[RUNNERS_MOST];
static unsigned count;

static bool may_lack(const struct roof *r)
{
	return strcmp(r->type, "fp16") == 0 || strcmp(r->type, "fp64") == 0 ||
	       strstr(r->why, "a quarter of it") || strstr(r->why, "does not tell");
}

static void check_device(const struct roofs *r)
{
	assert_true(r->count > 10);
	for (unsigned i = 0; i < r->count; i++) {
		const struct roof *x = &r->roofs[i];

		if (isnan(x->value) && !may_lack(x))
			fail_msg("%s: %s", x->name, x->why);
		if (isnan(x->value))
			continue;
		assert_true(x->value > 0 && x->interval >= 0);
		assert_true(x->experiments + x->dropped >= 10);
	}
	assert_false(isnan(roofs_value(r, "memory")));
	assert_false(isnan(roofs_value(r, "fp32")));
}

static void test_devices(void **state)
{
	const struct measure_limits limits = {.seconds = 60};

	(void)state;
	for (unsigned i = 0; i < count; i++) {
		struct roofs *r = calloc(1, sizeof(*r));

		assert_non_null(r);
		measure_device(&runners[i], &limits, r);
		check_device(r);
		free(r);
	}
}

/* A time of the device counts where it fits into the host's. */
static void test_bracket(void **state)
{
	struct runner r = {0};

	(void)state;
	assert_true(runner_seconds(&r, 1, 2) == 1 && r.doubtful == 0);
	assert_true(runner_seconds(&r, 3, 2) == 2 && runner_seconds(&r, 0, 2) == 2);
	assert_int_equal(r.doubtful, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_devices),
					   cmocka_unit_test(test_bracket)};
	char why[ROOF_WHY] = "";

	opencl_runners(runners, &count, why);
	if (!count) {
		printf("skipped: %s\n", why);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
