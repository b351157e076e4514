/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about copies to and from devices (analysis/rules), as in device_rules_test.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_rules_run.h"

static void pageable(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 0, false, 64 * MEGABYTE, 3000000, true, MEMORY_HOST_PAGEABLE);
		run_kernel(r, 0, 1, 300000, 100);
		run_finish(r);
	}
}

static void pinned(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 0, false, 64 * MEGABYTE, 1200000, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 1, 300000, 100);
		run_finish(r);
	}
}

/* The host prepares each, and the device waits for that: what holds the host costs as much. */
static void pageable_prepared(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_host(r, 4000000);
		run_copy(r, 0, false, 64 * MEGABYTE, 3000000, true, MEMORY_HOST_PAGEABLE);
		run_kernel(r, 0, 0, 300000, 100);
	}
	run_finish(r);
}

static void pinned_prepared(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_host(r, 4000000);
		run_copy(r, 0, false, 64 * MEGABYTE, 1200000, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 300000, 100);
	}
	run_finish(r);
}

/* What goes over once at the beginning is no loop. */
static void pageable_once(struct run *r)
{
	run_copy(r, 0, false, 64 * MEGABYTE, 3000000, true, MEMORY_HOST_PAGEABLE);
	run_copy(r, 0, false, 64 * MEGABYTE, 3000000, true, MEMORY_HOST_PAGEABLE);
	for (unsigned i = 0; i < 20; i++)
		run_kernel(r, 0, 0, 1000000, 100);
}

static void test_pageable_copy(void **state)
{
	uint64_t gain, before, after;

	(void)state;
	run_check("pageable-copy", pageable, pinned);
	run_length(pageable_once, NULL, NULL);
	gain = run_gain(pageable_prepared, "pageable-copy", &before);
	assert_int_equal(run_gain(pinned_prepared, "pageable-copy", &after), 0);
	assert_true(gain * 4 >= (before - after) * 3 && gain * 4 <= (before - after) * 5);
}

static void one_queue(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 0, false, 32 * MEGABYTE, 1200000, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 900000, 100);
	}
}

static void two_queues(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 1, false, 32 * MEGABYTE, 1200000, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 900000, 100);
	}
}

/* The next input is made of the result: it cannot go ahead. */
static void dependent(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 0, false, 32 * MEGABYTE, 400000, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 20000000, 100);
		run_copy(r, 0, true, 32 * MEGABYTE, 400000, true, MEMORY_HOST_PINNED);
		run_host(r, 900000);
	}
}

/* Small results come back behind large ones, and within the device something is copied besides. */
static void results(struct run *r, bool apart)
{
	for (unsigned i = 0; i < 50; i++) {
		run_kernel(r, 0, 0, 400000, 100);
		run_copy(r, apart, true, 32 * MEGABYTE, 900000, false, MEMORY_HOST_PINNED);
		run_copy(r, 0, true, 4000, 1000, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 500000, 100);
	}
}

static void results_in_one(struct run *r)
{
	results(r, false);
}

static void results_apart(struct run *r)
{
	results(r, true);
}

static void test_same_queue(void **state)
{
	uint64_t length;

	(void)state;
	run_check("same-queue", one_queue, two_queues);
	run_check("same-queue", results_in_one, results_apart);
	/* All of each copy but the last, behind which there is a shorter kernel. */
	assert_int_equal(run_gain(results_in_one, "same-queue", &length), 49 * 900000 + 500000);
	run_length(dependent, NULL, NULL);
}

static void blocking(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 1, false, 32 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 900000, 100);
		run_finish(r);
	}
}

/* What the host does behind the copy it does in any case: builds, and other calls. */
static void then_builds(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 1, false, 32 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_build(r, 1, 20000000);
		run_kernel(r, 0, 0, 900000, 100);
		run_finish(r);
	}
}

static void then_calls(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 1, false, 32 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_call(r, OP_BUILD, 20000000);
		run_kernel(r, 0, 0, 900000, 100);
		run_finish(r);
	}
}

static void test_blocking_copy(void **state)
{
	uint64_t length;

	(void)state;
	run_check("blocking-copy", blocking, two_queues);
	assert_int_equal(run_gain(then_builds, "blocking-copy", &length), 50 * 900000);
	assert_int_equal(run_gain(then_calls, "blocking-copy", &length), 50 * 900000);
}

/* A copy and a kernel of two streams of CUDA, either of which waits for the other. */
static void streams(struct run *r, const char *copies, bool wait)
{
	r->trace.queues[1].domain = r->trace.queues[2].domain = "cuda";
	r->trace.queues[1].name = copies;
	r->trace.queues[2].name = "stream 13";
	for (unsigned i = 0; i < 50; i++) {
		run_copy(r, 0, false, 32 * MEGABYTE, 1000000, false, MEMORY_HOST_PINNED);
		if (wait)
			r->free[0][1] = r->free[0][0];
		run_kernel(r, 0, 1, 1000000, 100);
		if (wait)
			r->free[0][0] = r->free[0][1];
	}
}

static void in_default_stream(struct run *r)
{
	streams(r, "stream 7", true);
}

static void in_own_stream(struct run *r)
{
	streams(r, "stream 14", false);
}

/* Streams that wait for none but by an event that the program asks for. */
static void by_events(struct run *r)
{
	streams(r, "stream 14", true);
}

static void test_false_dependency(void **state)
{
	(void)state;
	run_check("false-dependency", in_default_stream, in_own_stream);
	run_length(by_events, NULL, NULL);
}

static void tiny(struct run *r)
{
	for (unsigned i = 0; i < 5000; i++)
		run_copy(r, 0, false, 64, 800, false, MEMORY_HOST_PINNED);
	run_kernel(r, 0, 0, 20000000, 100);
}

static void one_copy(struct run *r)
{
	run_copy(r, 0, false, 64 * 5000, 30000, false, MEMORY_HOST_PINNED);
	run_kernel(r, 0, 0, 20000000, 100);
}

/* One small one with each kernel: nothing to put together. */
static void parameters(struct run *r)
{
	for (unsigned i = 0; i < 500; i++) {
		run_copy(r, 0, false, 64, 800, false, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 300000, 100);
	}
}

static void test_tiny_transfers(void **state)
{
	(void)state;
	run_check("tiny-transfers", tiny, one_copy);
	run_length(parameters, NULL, NULL);
}

static void there_and_back(struct run *r)
{
	r->memory = 0x1000;
	for (unsigned i = 0; i < 60; i++) {
		run_copy(r, 0, true, 64 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_copy(r, 0, false, 64 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_kernel(r, 0, 0, 900000, 100);
	}
}

static void stays(struct run *r)
{
	for (unsigned i = 0; i < 60; i++)
		run_kernel(r, 0, 0, 900000, 100);
}

static void test_round_trip(void **state)
{
	struct run r;

	(void)state;
	run_check("round-trip", there_and_back, stays);
	run_begin(&r, false);
	for (unsigned i = 0; i < 60; i++) { /* what goes back is not what came */
		r.memory = 0x1000 + i % 3;
		run_copy(&r, 0, true, 64 * MEGABYTE, 1200000, false, MEMORY_HOST_PINNED);
		r.memory = 0x1000 + (i + 1) % 3;
		run_copy(&r, 0, false, 64 * MEGABYTE, 1200000, false, MEMORY_HOST_PINNED);
		run_kernel(&r, 0, 0, 900000, 100);
	}
	run_end(&r);
	assert_null(run_finding(&r, "round-trip"));
	run_release(&r);
	run_begin(&r, false);
	r.memory = 0x1000;
	for (unsigned i = 0; i < 60; i++) { /* the host changes it: it has the time */
		run_copy(&r, 0, true, 64 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_host(&r, 4000000);
		run_copy(&r, 0, false, 64 * MEGABYTE, 1200000, true, MEMORY_HOST_PINNED);
		run_kernel(&r, 0, 0, 900000, 100);
	}
	run_end(&r);
	assert_null(run_finding(&r, "round-trip"));
	run_release(&r);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pageable_copy),  cmocka_unit_test(test_same_queue),
		cmocka_unit_test(test_blocking_copy),  cmocka_unit_test(test_false_dependency),
		cmocka_unit_test(test_tiny_transfers), cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
