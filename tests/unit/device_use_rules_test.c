/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about devices (analysis/rules), as in device_rules_test.c: what is made again and again, how devices are used,
 * polling.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_rules_run.h"

/* ---- made again and again ------------------------------------------------------------------------ */

static void churn(struct run *r)
{
	for (unsigned i = 0; i < 400; i++) {
		uint64_t a = run_allocate(r, MEGABYTE, 60000);

		run_kernel(r, 0, 0, 30000, 100);
		run_finish(r);
		run_free(r, a, MEGABYTE, 80000);
	}
}

static void allocated_once(struct run *r)
{
	uint64_t a = run_allocate(r, MEGABYTE, 60000);

	for (unsigned i = 0; i < 400; i++)
		run_kernel(r, 0, 0, 30000, 100);
	run_finish(r);
	run_free(r, a, MEGABYTE, 80000);
}

static void allocated_at_first(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) /* of different sizes, and kept */
		run_allocate(r, MEGABYTE + i, 60000);
	for (unsigned i = 0; i < 50; i++)
		run_kernel(r, 0, 0, 300000, 100);
}

static void test_allocation_churn(void **state)
{
	(void)state;
	run_check("allocation-churn", churn, allocated_once);
	run_length(allocated_at_first, NULL, NULL);
}

static void queue_churn(struct run *r)
{
	for (unsigned i = 0; i < 100; i++) {
		run_call(r, OP_MAKE_QUEUE, 500000);
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
		run_call(r, OP_DROP_QUEUE, 200000);
	}
}

static void one_queue_made(struct run *r)
{
	run_call(r, OP_MAKE_QUEUE, 500000);
	for (unsigned i = 0; i < 100; i++) {
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
	}
	run_call(r, OP_DROP_QUEUE, 200000);
}

/* As many, for as many tasks at once; and a few that come and go. */
static void queues_for_all(struct run *r)
{
	for (unsigned i = 0; i < 100; i++)
		run_call(r, OP_MAKE_QUEUE, 500000);
	for (unsigned i = 0; i < 9; i++) {
		run_call(r, OP_MAKE_QUEUE, 500000);
		run_call(r, OP_DROP_QUEUE, 200000);
	}
	for (unsigned i = 0; i < 100; i++)
		run_kernel(r, 0, 0, 10000000, 100);
	run_finish(r);
}

static void test_queue_churn(void **state)
{
	(void)state;
	run_check("queue-churn", queue_churn, one_queue_made);
	run_length(queues_for_all, NULL, NULL);
}

static void rebuilds(struct run *r)
{
	for (unsigned i = 0; i < 50; i++) {
		run_build(r, i % 2 ? 1 : 3, 3000000);
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
	}
}

static void built_once(struct run *r)
{
	run_build(r, 1, 3000000);
	run_build(r, 2, 3000000);
	for (unsigned i = 0; i < 50; i++) {
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
	}
}

/* For each of two contexts, and for another program. */
static void built_twice(struct run *r, unsigned third)
{
	run_build(r, 1, 30000000);
	run_build(r, 3, 30000000);
	run_build(r, third, 30000000);
	run_build(r, 2, 30000000);
	run_kernel(r, 0, 0, 500000000, 100);
	run_finish(r);
}

static void test_rebuild_in_loop(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	run_check("rebuild-in-loop", rebuilds, built_once);
	run_begin(&r, false);
	built_twice(&r, 2);
	run_end(&r);
	assert_null(run_finding(&r, "rebuild-in-loop"));
	run_release(&r);
	run_begin(&r, false);
	built_twice(
		&r,
		1); /* a source is built a third time, the other's second build is none of a loop */
	run_end(&r);
	f = run_finding(&r, "rebuild-in-loop");
	assert_non_null(f);
	assert_int_equal(f->count, 2);
	run_release(&r);
}

static void build_amid(struct run *r)
{
	for (unsigned i = 0; i < 40; i++) {
		if (i == 25)
			run_build(r, 2, 30000000);
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
	}
}

static void nothing_amid(struct run *r)
{
	run_no_other_calls(r);
	run_no_other_calls(r);
}

/* The same source with other options is another program. */
static void test_options(void **state)
{
	struct run r;

	(void)state;
	run_begin(&r, false);
	for (unsigned i = 0; i < 3; i++) {
		run_build(&r, 1, 30000000);
		r.sink.timeline->builds[i].options = i;
	}
	for (unsigned i = 0; i < 50; i++)
		run_kernel(&r, 0, 0, 20000000, 100);
	run_end(&r);
	assert_null(run_finding(&r, "rebuild-in-loop"));
	run_release(&r);
}

/* A program for each value, used until the next is built; or all stay in use. */
static void variants(struct run *r, bool stay)
{
	static const uint32_t same[] = {1, 3, 4}; /* programs of one source */

	for (unsigned i = 0; i < 3; i++) {
		r->kernel = same[i];
		run_build(r, r->kernel, 30000000);
		r->sink.timeline->builds[i].options = 1 + i;
		r->launching = 8000000; /* the runtime builds the rest when it is launched first */
		for (unsigned k = 0; k < 20; k++) {
			run_kernel(r, 0, 0, 10000000, 100);
			run_finish(r);
			r->launching = 0;
		}
	}
	r->kernel = 1;
	if (stay)
		run_kernel(r, 0, 0, 10000000, 100);
}

static void test_variants(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	for (unsigned stay = 0; stay < 2; stay++) {
		run_begin(&r, false);
		variants(&r, stay);
		run_end(&r);
		f = run_finding(&r, "rebuild-in-loop");
		assert_true(stay ? !f : f && f->gain > 74000000 && f->gain < 78000000);
		run_release(&r);
	}
}

/* The runtime builds a kernel when it is launched first, and leaves no record of it. */
static void first_launches(struct run *r, int64_t first, int64_t ns)
{
	run_copy(r, 0, false, 4000, 1000, false, MEMORY_HOST_PINNED);
	for (unsigned i = 0; i < 60; i++) {
		r->kernel = 1 + i % 3;
		r->launching = i < 3 ? first : 0;
		run_kernel(r, 0, 0, ns, 100);
		run_finish(r);
	}
}

static void built_at_launch(struct run *r)
{
	first_launches(r, 20000000, 6000000);
}

static void built_before(struct run *r)
{
	first_launches(r, 0, 6000000);
}

/* Nothing is built in less than a millisecond. */
static void slower_at_first(struct run *r)
{
	first_launches(r, 900000, 100000);
}

static void test_first_touch(void **state)
{
	uint64_t length;

	(void)state;
	run_check("first-touch", build_amid, nothing_amid);
	run_check("first-touch", built_at_launch, built_before);
	assert_int_equal(run_gain(slower_at_first, "first-touch", &length), 0);
}

/* ---- on the device ------------------------------------------------------------------------------- */

static void small_grid(struct run *r)
{
	for (unsigned i = 0; i < 50; i++)
		run_kernel(r, 0, 0, 8000000, 1);
}

static void whole_grid(struct run *r)
{
	for (unsigned i = 0; i < 50; i++)
		run_kernel(r, 0, 0, 8000000 / UNITS, UNITS);
}

static void small_beside(struct run *r)
{
	r->beside = true;
	for (unsigned i = 0; i < 80; i++)
		run_kernel(r, 0, i % QUEUES, 8000000, 2);
}

static void test_small_grid(void **state)
{
	(void)state;
	run_check("small-grid", small_grid, whole_grid);
	run_length(small_beside, NULL, NULL);
}

static void serialised(struct run *r)
{
	for (unsigned i = 0; i < 80; i++)
		run_kernel(r, 0, i % 2, 1000000, UNITS / 2);
}

static void side_by_side(struct run *r)
{
	r->beside = true;
	serialised(r);
}

static void test_serialised_queues(void **state)
{
	uint64_t gain = 0, won;
	struct run r;
	const struct finding *f;

	(void)state;
	run_begin(&r, false);
	serialised(&r);
	won = run_end(&r);
	f = run_finding(&r, "serialised-queues");
	assert_non_null(f);
	gain = f->gain;
	run_release(&r);
	won -= run_length(side_by_side, NULL, NULL);
	assert_true(gain * 4 >= won * 3 && gain * 4 <= won * 5);
}

/* Kernels that fill the device alone: whether two of them would have room is not known, nor whether they may. */
static void filling(struct run *r)
{
	for (unsigned i = 0; i < 80; i++)
		run_kernel(r, 0, i % 2, 1000000, 4 * UNITS);
}

static void filling_beside(struct run *r)
{
	r->beside = true;
	filling(r);
}

static bool says_by_turns(void (*work)(struct run *))
{
	struct run r;
	bool says;

	run_begin(&r, false);
	work(&r);
	run_end(&r);
	assert_null(run_finding(&r, "serialised-queues"));
	says = r.diagnosis.abstained.length &&
	       strstr(r.diagnosis.abstained.s, "80 times") == NULL &&
	       strstr(r.diagnosis.abstained.s, "40 times, 40") != NULL;
	run_release(&r);
	return says;
}

static void test_queues_by_turns(void **state)
{
	(void)state;
	assert_true(says_by_turns(filling));
	assert_false(says_by_turns(filling_beside));
}

/* The host gives each of two devices its half only when the other has done its own. */
static void in_turn(struct run *r, bool own)
{
	for (unsigned i = 0; i < 2; i++)
		run_copy(r, own ? i * QUEUES : 0, false, 4000, 1000, true, MEMORY_HOST_PINNED);
	for (unsigned i = 0; i < 80; i++) {
		run_kernel(r, i % 2, 0, 1000000, 100);
		run_finish(r);
	}
}

static void halves_in_turn(struct run *r)
{
	in_turn(r, true);
}

/* What one has made, the other goes on with: nothing else ever went there. */
static void needed_in_turn(struct run *r)
{
	in_turn(r, false);
}

static void halves_at_once(struct run *r)
{
	for (unsigned i = 0; i < 2; i++)
		run_copy(r, i * QUEUES, false, 4000, 1000, true, MEMORY_HOST_PINNED);
	for (unsigned i = 0; i < 80; i++) {
		run_kernel(r, i % 2, 0, 1000000, 100);
		if (i % 2)
			run_finish(r);
	}
}

static void test_devices_in_turn(void **state)
{
	(void)state;
	run_check("serialised-queues", halves_in_turn, halves_at_once);
	run_length(needed_in_turn, NULL, NULL);
}

/* Pages move in the first so many of 20 steps. */
static void fault(struct run *r, unsigned steps)
{
	for (unsigned i = 0; i < 20; i++) {
		int64_t start = r->now + CALL_NS + START_NS;

		run_kernel(r, 0, 0, 2000000, 100);
		for (unsigned k = 0; k < 19 && i < steps; k++)
			run_fault(r, start + k * 100000, 100000);
		run_finish(r);
		run_host(r, 1000000);
	}
}

static void test_managed_thrash(void **state)
{
	struct run r;
	const struct finding *f;

	(void)state;
	run_begin(&r, false);
	fault(&r, 20);
	run_end(&r);
	f = run_finding(&r, "managed-thrash");
	assert_non_null(f);
	assert_ptr_equal(f, r.diagnosis.findings);
	assert_int_equal(f->gain, 20 * 1900000);
	run_release(&r);

	for (unsigned steps = 2; steps <= 3; steps++) { /* first touch, there and back */
		run_begin(&r, false);
		fault(&r, steps);
		run_end(&r);
		assert_int_equal(run_finding(&r, "managed-thrash") != NULL, steps == 3);
		run_release(&r);
	}
}

static void uneven(struct run *r)
{
	for (unsigned i = 0; i < 40; i++)
		run_kernel(r, i % 4 == 0, 0, 1000000, 100);
}

static void even(struct run *r)
{
	for (unsigned i = 0; i < 40; i++)
		run_kernel(r, i % 2, 0, 1000000, 100);
}

/* Both have a step at once; the one with less of it waits for the other, not for the host. */
static void steps(struct run *r, int64_t first, int64_t second)
{
	for (unsigned i = 0; i < 40; i++) {
		run_kernel(r, 0, 0, first, 100);
		run_kernel(r, 1, 0, second, 100);
		run_finish(r);
	}
}

static void uneven_steps(struct run *r)
{
	steps(r, 3200000, 800000);
}

static void even_steps(struct run *r)
{
	steps(r, 2000000, 2000000);
}

/* 4 % of the run */
static void nearly_even_steps(struct run *r)
{
	steps(r, 2080000, 1920000);
}

static void test_imbalance_devices(void **state)
{
	(void)state;
	run_check("imbalance-devices", uneven, even);
	run_check("imbalance-devices", uneven_steps, even_steps);
	run_length(nearly_even_steps, NULL, NULL);
}

/* The host sleeps until it asks for the end of a kernel that is over by then. */
static void test_late_polling(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		/* Too few to have seen each end; so many that ends are seen at once. */
		struct t_left_out counted = {.process = 1,
					     .thread = 1,
					     .op = OP_ASK,
					     .calls = k == 0   ? 60
						      : k == 1 ? 20
							       : 60000};

		run_begin(&r, false);
		r.trace.left_out = &counted;
		r.trace.left_out_count = 1;
		for (unsigned i = 0; i < 60; i++) {
			run_kernel(&r, 0, 0, 6000000, 100);
			run_host(&r, 10000000 + i * 1000);
		}
		run_end(&r);
		f = run_finding(&r, "late-polling");
		assert_true(k ? !f : f && f->gain > 59 * 3900000ull && f->gain < 60 * 4100000ull);
		assert_true(k || !run_finding(&r, "host-late"));
		run_release(&r);
	}
}

static void polls(struct run *r, unsigned number, int64_t pause)
{
	run_kernel(r, 0, 0, number * (pause + 1000), 100);
	for (unsigned i = 0; i < number; i++) {
		run_call(r, OP_ASK, 1000);
		run_host(r, pause);
	}
}

static void test_polling(void **state)
{
	struct run r;
	const struct finding *f;

	(void)state;
	run_begin(&r, false);
	polls(&r, 10000, 200);
	run_end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	f = run_finding(&r, "polling");
	assert_non_null(f);
	assert_int_equal(f->gain, 0);
	assert_true(f->spent >= 10000 * 1000);
	run_release(&r);

	for (unsigned cpu = 0; cpu < 2; cpu++) { /* the thread had a processor for a part of it */
		run_begin(&r, cpu);
		r.trace.threads[1].processor_ns = 6000000;
		polls(&r, 10000, 200);
		run_end(&r);
		r.trace.threads[1].processor_ns = 0;
		f = run_finding(&r, "polling");
		assert_int_equal(cpu ? f->gain : f->spent, cpu ? 6000000 / (UNITS + 1) : 6000000);
		assert_non_null(strstr(f->title.s, "10,000 times, 10.00 ms"));
		assert_non_null(strstr(f->evidence.s, "6.000 ms of a processor"));
		run_release(&r);
	}

	run_begin(&r, false);
	polls(&r, 50, 200000); /* now and then */
	run_end(&r);
	assert_int_equal(r.diagnosis.count, 0);
	run_release(&r);

	/* Calls that the mode left out: counted, and what they take is seen beside the device. */
	for (unsigned k = 0; k < 3; k++) {
		struct t_left_out counted = {
			.process = 1, .thread = 1, .op = OP_ASK, .calls = k == 1 ? 50 : 100000};

		run_begin(&r, k == 2);
		r.trace.left_out = &counted;
		r.trace.left_out_count = 1;
		run_kernel(&r, 0, 0, 90000000, 100);
		run_host(&r, 100000000); /* later than the end by much: nobody follows */
		run_call(&r, OP_ALLOCATE, 1000);
		run_end(&r);
		f = run_finding(&r, "polling");
		assert_true(k == 1 ? !f : f != NULL);
		if (k == 2) /* a device of the host's processors lacks one of them */
			assert_int_equal(f->gain, 90000000 / (UNITS + 1));
		run_release(&r);
	}

	run_begin(&r, false); /* asked by calls that nobody recorded */
	for (unsigned i = 0; i < 50; i++) {
		run_kernel(&r, 0, 0, 1000000, 100);
		run_host(&r, run_done(&r, 0, 0) - r.now + 500);
	}
	run_end(&r);
	assert_non_null(run_finding(&r, "polling"));
	run_release(&r);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocation_churn), cmocka_unit_test(test_queue_churn),
		cmocka_unit_test(test_rebuild_in_loop),  cmocka_unit_test(test_options),
		cmocka_unit_test(test_variants),         cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_small_grid),       cmocka_unit_test(test_serialised_queues),
		cmocka_unit_test(test_queues_by_turns),  cmocka_unit_test(test_devices_in_turn),
		cmocka_unit_test(test_managed_thrash),   cmocka_unit_test(test_imbalance_devices),
		cmocka_unit_test(test_late_polling),     cmocka_unit_test(test_polling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
