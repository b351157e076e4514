/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private buffers at the end of a process: everything is delivered before tools are told, however
 * slow their callbacks are; what is not is counted; nothing is delivered while a tool hears of the
 * end. Each case is a process of its own, and most of its time somebody sleeps: all of them run at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tool_support.h"

#define BUFFERS 2 /* of the tool, with a pool of their own, or one for both */

static struct seen {
	_Atomic uint32_t ended;  /* calls of finalize */
	_Atomic uint32_t inside; /* callbacks that run */
	_Atomic uint32_t beside; /* those found in finalize */
	_Atomic uint64_t told[BUFFERS], lost[BUFFERS];
	kymo_buffer_info_t info[BUFFERS];
	kymo_status_t drained;
	uint64_t drain_ns;
} * seen; /* of one case */

/* What the tool of a case is like. */
struct how {
	uint64_t records;
	uint32_t each_us;                  /* a callback takes */
	uint32_t first_us;                 /* and the first of all; UINT32_MAX: for ever */
	bool drain, pool, parallel, leave; /* by pthread_exit() */
	kymo_policy_t policy;
};

enum {
	SLOW,
	SLOW_POOL,
	SLOW_PARALLEL,
	SLOW_OVERWRITE,
	LEAVES,
	LEAVES_POOL,
	LEAVES_PARALLEL,
	DRAINED,
	DRAINED_SLOW,
	TOO_SLOW,
	STUCK,
	STUCK_PARALLEL,
	CASES
};

static const struct how cases[CASES] = {
	[SLOW] = {.records = 20000, .each_us = 10000},
	[SLOW_POOL] = {.records = 10000, .each_us = 10000, .pool = true},
	[SLOW_PARALLEL] = {.records = 10000, .each_us = 10000, .pool = true, .parallel = true},
	[SLOW_OVERWRITE] = {.records = 10000, .each_us = 10000, .policy = KYMO_POLICY_OVERWRITE},
	[LEAVES] = {.records = 10000, .leave = true, .drain = true},
	[LEAVES_POOL] = {.records = 10000, .leave = true, .pool = true},
	[LEAVES_PARALLEL] = {.records = 10000, .leave = true, .pool = true, .parallel = true},
	[DRAINED] = {.records = 1000, .drain = true},
	[DRAINED_SLOW] = {.records = 20000, .each_us = 10000, .drain = true},
	[TOO_SLOW] = {.records = 5000, .first_us = 3000000, .drain = true},
	[STUCK] = {.records = 5000, .first_us = UINT32_MAX},
	[STUCK_PARALLEL] = {.records = 5000,
			    .first_us = UINT32_MAX,
			    .pool = true,
			    .parallel = true},
};

static struct seen *seen_by_case;
static pid_t pids[CASES];
static struct how how; /* of the case whose process this is */

static kymo_context_t contexts[BUFFERS];
static kymo_buffer_t buffers[BUFFERS];

static void take_time(void)
{
	static _Atomic uint32_t calls;

	if (atomic_fetch_add(&calls, 1) == 0 && how.first_us)
		while (how.first_us == UINT32_MAX)
			pause();
	usleep(atomic_load(&calls) == 1 && how.first_us ? how.first_us : how.each_us);
}

static void batch(kymo_buffer_t buffer, const kymo_batch_t *b, void *data)
{
	size_t n = (size_t)(uintptr_t)data;

	atomic_fetch_add(&seen->inside, 1);
	take_time();
	atomic_fetch_add(&seen->told[n], b->count);
	atomic_fetch_add(&seen->lost[n], b->lost);
	atomic_fetch_sub(&seen->inside, 1);
}

static kymo_status_t start(void *data)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "t"};
	kymo_pool_t pool = {0};
	kymo_status_t status = how.pool ? kymo_pool_create(2, &pool) : KYMO_OK;

	for (size_t i = 0; i < BUFFERS && !status; i++) {
		kymo_buffer_desc_t d = {.size = sizeof(d),
					.deliver_batch = batch,
					.bytes = 64 << 20,
					.watermark =
						how.policy == KYMO_POLICY_OVERWRITE ? 0 : 48 << 20,
					.data = (void *)i,
					.pool = pool,
					.parallel = how.parallel,
					.policy = how.policy};

		status = kymo_context_create(&contexts[i]);
		status = status ? status : kymo_buffer_create(contexts[i], &d, &buffers[i]);
		status = status ? status : kymo_buffer_service(contexts[i], &s, buffers[i]);
		status = status ? status : kymo_context_start(contexts[i]);
	}
	return status;
}

static void end(void *data)
{
	uint64_t before = kymo_time();

	atomic_fetch_add(&seen->ended, 1);
	atomic_fetch_add(&seen->beside, atomic_load(&seen->inside));
	for (size_t i = 0; i < BUFFERS; i++) {
		if (how.drain)
			seen->drained |= kymo_drain(contexts[i], 600000000000u);
		seen->info[i].size = sizeof(seen->info[i]);
		kymo_buffer_info(buffers[i], &seen->info[i]);
	}
	seen->drain_ns = kymo_time() - before;
}

static const kymo_tool_t *configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "end", start, end, NULL, NULL};

	return &tool;
}

static void child(void)
{
	alarm(110);
	t_register();
	if (kymo_force_configure(configure) != KYMO_OK)
		_exit(3);
	for (uint64_t i = 0; i < how.records; i++)
		t_call(T_CALL, i, NULL, NULL);
	if (how.leave)
		pthread_exit(NULL);
	exit(0);
}

static int begin_all(void **state)
{
	for (int i = 0; i < CASES; i++) {
#ifdef __SANITIZE_THREAD__ /* whose own thread keeps such a process alive, without Kymo as well */
		if (cases[i].leave)
			continue;
#endif
		how = cases[i];
		seen = &seen_by_case[i];
		fflush(NULL);
		pids[i] = fork();
		if (pids[i] == 0)
			child();
		if (pids[i] < 0)
			return -1;
	}
	return 0;
}

static void finish(int number)
{
	int status = -1;

	seen = &seen_by_case[number];
	assert_int_equal(waitpid(pids[number], &status, 0), pids[number]);
	assert_int_equal(status, 0);
	assert_int_equal(seen->beside, 0);
}

static void expect_all(int number)
{
	finish(number);
	assert_int_equal(seen->ended, 1);
	for (size_t i = 0; i < BUFFERS; i++) {
		assert_int_equal(seen->told[i], cases[number].records);
		assert_int_equal(seen->info[i].delivered, cases[number].records);
		assert_int_equal(seen->info[i].lost, 0);
	}
}

/* Far longer than the time that a callback which does not come back is given. */
static void test_slow(void **state)
{
	expect_all(SLOW);
	expect_all(SLOW_POOL);
	expect_all(SLOW_PARALLEL);
	expect_all(SLOW_OVERWRITE);
}

/* The process ends on a thread of Kymo's, one that delivers among others. */
static void test_main_leaves(void **state)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
	expect_all(LEAVES);
	assert_int_equal(seen->drained, KYMO_OK);
	expect_all(LEAVES_POOL);
	expect_all(LEAVES_PARALLEL);
}

/* All is delivered by then, and said to be at once. */
static void test_drain_at_the_end(void **state)
{
	expect_all(DRAINED);
	assert_int_equal(seen->drained, KYMO_OK);
	assert_true(seen->drain_ns < 60000000000u);
	expect_all(DRAINED_SLOW);
	assert_int_equal(seen->drained, KYMO_OK);
	assert_true(seen->drain_ns < 60000000000u);
}

/* It comes back, but not soon: the rest is lost, and counted. */
static void test_too_slow(void **state)
{
	finish(TOO_SLOW);
	assert_int_equal(seen->ended, 1);
	assert_int_equal(seen->drained, KYMO_OK);
	for (size_t i = 0; i < BUFFERS; i++) {
		assert_int_equal(seen->info[i].delivered, seen->told[i]);
		assert_int_equal(seen->info[i].delivered + seen->info[i].lost,
				 cases[TOO_SLOW].records);
	}
	assert_true(seen->info[0].lost + seen->info[1].lost > 0);
}

/* It never comes back: the process ends, and the tool is not told beside it. */
static void test_stuck(void **state)
{
	finish(STUCK);
	assert_int_equal(seen->ended, 0);
	finish(STUCK_PARALLEL);
	assert_int_equal(seen->ended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_main_leaves),
		cmocka_unit_test(test_drain_at_the_end),
		cmocka_unit_test(test_too_slow),
		cmocka_unit_test(test_stuck),
	};

	seen_by_case = mmap(NULL, CASES * sizeof(*seen), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen_by_case == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, begin_all, NULL);
}
