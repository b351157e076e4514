/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of MPI: order, handles that stand for several transfers, persistent ones, and that none
 * of it becomes dearer the more are under way.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "capture/mpi/backend.h"

enum { FEW = 1000, MANY = 100000, ROUNDS = 5 };

static struct mpi_module module = {.request_null = UINT64_MAX};

static int prepare(void **state)
{
	mpi_module = &module;
	return 0;
}

static void add(uint64_t handle, uint64_t correlation, bool persistent)
{
	struct mpi_transfer t = {
		.correlation = correlation, .persistent = persistent, .active = !persistent};

	assert_true(mpi_requests_add(handle, &t));
}

static uint64_t complete(uint64_t handle, uint64_t started)
{
	struct mpi_transfer t;
	uint64_t id;

	return mpi_requests_complete(handle, started, &t, &id) ? t.correlation : 0;
}

static void oldest_first(void **state)
{
	for (uint64_t i = 1; i <= FEW; i++)
		add(7, i, false);
	for (uint64_t i = 1; i <= FEW; i++)
		assert_int_equal(complete(7, 0), i);
	assert_int_equal(complete(7, 0), 0);
}

static void many_handles(void **state)
{
	for (uint64_t i = 1; i <= MANY; i++)
		add(i * 64, i, false);
	for (uint64_t i = MANY; i >= 1; i--)
		assert_int_equal(complete(i * 64, 0), i);
	assert_int_equal(complete(64, 0), 0);
}

static void only_of_one_call(void **state)
{
	add(5, 1, false);
	add(5, 1, false);
	add(5, 2, false);
	assert_int_equal(complete(5, 2), 0);
	assert_int_equal(complete(5, 1), 1);
	assert_int_equal(complete(5, 1), 1);
	assert_int_equal(complete(5, 1), 0);
	assert_int_equal(complete(5, 0), 2);
}

static void persistent_stays(void **state)
{
	struct mpi_transfer t;
	uint64_t id;

	add(9, 1, true);
	assert_int_equal(complete(9, 0), 0);
	for (uint64_t i = 10; i < 13; i++) {
		mpi_requests_start(9, i, i);
		assert_int_equal(complete(9, 0), i);
		assert_int_equal(complete(9, 0), 0);
	}
	assert_true(mpi_requests_drop(9, &t, &id));
	assert_false(t.active);
	assert_false(mpi_requests_drop(9, &t, &id));
}

static void handle_used_again(void **state)
{
	add(11, 1, false);
	add(11, 2, false);
	add(12, 3, false);
	assert_int_equal(complete(11, 0), 1);
	assert_int_equal(complete(11, 0), 2);
	add(11, 4, false);
	add(11, 5, false);
	assert_int_equal(complete(12, 0), 3);
	assert_int_equal(complete(11, 0), 4);
	assert_int_equal(complete(11, 0), 5);
}

/* ---- what it costs ------------------------------------------------------------------------------
 */

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of adding and completing one while `n` are under way, one handle for all or one for each. */
static double cost(uint64_t n, uint64_t step)
{
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = cpu(), each;

		for (uint64_t i = 0; i < n; i++)
			add(1 + i * step, i + 1, false);
		for (uint64_t i = 0; i < n; i++)
			if (!complete(1 + i * step, 0))
				fail();
		each = (cpu() - begin) / (double)n;
		best = each < best ? each : best;
	}
	return best;
}

/* A hundred times as many would cost a hundred times as much each if they were walked through. */
static void any_number(void **state)
{
	for (uint64_t step = 0; step <= 64; step += 64) {
		double few = cost(FEW, step), many = cost(MANY, step);

		if (many > 20 * few)
			fail_msg("%d under way: %.0f ns each, %d: %.0f ns", FEW, few * 1e9, MANY,
				 many * 1e9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_first),      cmocka_unit_test(many_handles),
		cmocka_unit_test(only_of_one_call),  cmocka_unit_test(persistent_stays),
		cmocka_unit_test(handle_used_again), cmocka_unit_test(any_number),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
