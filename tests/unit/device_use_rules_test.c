/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about devices (analysis/rules), as in device_rules_test.c: what is made again and again, how devices are used,
 * polling; and what holds for all rules.
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
		assert_non_null(strstr(f->title.s, "10000 times, 10.00 ms"));
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

/* ---- what is not there ---------------------------------------------------------------------------- */

static void nothing(struct run *r)
{
	(void)r;
}

static void host_only(struct run *r)
{
	for (unsigned i = 0; i < 100; i++)
		run_call(r, OP_ASK, 1000000 / 2);
}

static void test_nothing(void **state)
{
	(void)state;
	run_length(nothing, NULL, NULL);
	run_length(host_only, "polling", &(uint64_t){0});
}

/* Records of calls are missing: what the host did is not known, and not guessed. */
static void test_without_calls(void **state)
{
	struct run r;

	(void)state;
	run_begin(&r, false);
	for (unsigned i = 0; i < 100; i++) {
		struct rec_dispatch d = {
			.agent = 1, .queue = 1, .kernel = 1, .dims = 1, .global = {100}};

		d.base = (struct rec){.process = 1, .thread = 1, .op = OP_KERNEL, .ok = true};
		d.device.start = 2000000 + i * 1000000;
		d.device.end = d.device.start + 900000;
		d.base.start = d.device.start;
		d.base.end = d.device.end;
		r.sink.sink.dispatch(&r.sink.sink, &d);
	}
	r.now = 103000000;
	run_end(&r);
	assert_int_equal(r.diagnosis.count, 0);
	run_release(&r);
}

static void test_loss_is_told(void **state)
{
	struct rec_loss loss = {.process = 1, .thread = 1, .count = 12};
	struct run r;
	const struct finding *f;

	(void)state;
	run_begin(&r, false);
	run_launches(&r);
	r.sink.sink.loss(&r.sink.sink, &loss);
	run_end(&r);
	f = run_finding(&r, "launch-bound");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence.s, "12 records were lost"));
	run_release(&r);
}

/* ---- what reviews have found ------------------------------------------------------------------- */

static struct rec record_of(enum run_op op, int64_t start, int64_t end)
{
	return (struct rec){
		.process = 1, .thread = 1, .op = op, .ok = true, .start = start, .end = end};
}

/* Short calls that follow a query are none. */
static void test_polls_are_of_one_function(void **state)
{
	struct run r;
	const struct finding *f;

	(void)state;
	run_begin(&r, false);
	for (unsigned i = 0; i < 50; i++)
		run_kernel(&r, 0, 0, 100000, 8);
	run_finish(&r);
	for (unsigned i = 0; i < 30; i++) {
		run_call(&r, OP_ASK, 1000);
		for (unsigned k = 0; k < 200; k++)
			run_call(&r, OP_BUILD, 1000);
		run_host(&r, 100000);
	}
	run_end(&r);
	assert_null(run_finding(&r, "polling"));
	run_release(&r);

	/* What lies between queries is not spent in them. */
	run_begin(&r, false);
	run_kernel(&r, 0, 0, 460000000, 8);
	for (unsigned i = 0; i < 10000; i++) {
		run_call(&r, OP_ASK, 1000);
		run_host(&r, 45000);
	}
	run_finish(&r);
	run_end(&r);
	f = run_finding(&r, "polling");
	assert_true(!f || f->spent + f->gain <= 12000000);
	run_release(&r);
}

/* A call in which several allocations are made took its time once. */
static void test_one_call_counts_once(void **state)
{
	struct run r;
	const struct finding *f;
	uint64_t made = 0;

	(void)state;
	run_begin(&r, false);
	run_kernel(&r, 0, 0, 100000, 8);
	run_finish(&r);
	for (unsigned i = 0; i < 30; i++) {
		run_call(&r, OP_ALLOCATE, 100000);
		for (unsigned k = 0; k < 10; k++) {
			struct rec_allocation a = {
				.base = record_of(k % 2 ? OP_FREED : OP_ALLOCATED, r.now, r.now),
				.correlation = r.id,
				.agent = 1,
				.bytes = 1 << 20,
				.allocation = made += k % 2 == 0,
				.what = ALLOCATION_BUFFER};

			r.sink.sink.allocation(&r.sink.sink, &a);
		}
		run_host(&r, 100000);
		run_kernel(&r, 0, 0, 1000, 8);
		run_finish(&r);
	}
	run_end(&r);
	f = run_finding(&r, "allocation-churn");
	assert_non_null(f);
	assert_true(f->gain > 2000000 && f->gain <= 3000000);
	run_release(&r);
}

/* A call of a library that takes 2 ms, and allocates and releases 1 MiB so often, in 0.1 ms each. */
static void library_call(struct run *r, unsigned times)
{
	struct rec c = record_of(OP_BUILD, r->now, r->now + 2000000);
	uint64_t outer = ++r->id;

	for (unsigned i = 0; i < times; i++) {
		run_host(r, 100000);
		run_free(r, run_allocate(r, MEGABYTE, 100000), MEGABYTE, 100000);
	}
	r->now = c.end;
	c.id = outer;
	r->sink.sink.call(&r->sink.sink, &c);
}

/* What a library does while it is set up, in one call, is no loop of the program. */
static void set_up(struct run *r)
{
	library_call(r, 6);
	library_call(r, 6);
	library_call(r, 6);
	run_launches(r);
}

/* What it does in each of its calls is; the rest of these calls is not spent with allocations. */
static void workspaces(struct run *r)
{
	for (unsigned i = 0; i < 20; i++)
		library_call(r, 1);
	run_launches(r);
}

/* All that is released at the end was needed until then. */
static void released_at_the_end(struct run *r)
{
	uint64_t made[50];

	for (unsigned i = 0; i < 50; i++)
		made[i] = run_allocate(r, MEGABYTE, 60000);
	for (unsigned i = 0; i < 50; i++)
		run_kernel(r, 0, 0, 300000, 100);
	run_finish(r);
	for (unsigned i = 0; i < 50; i++)
		run_free(r, made[i], MEGABYTE, 60000);
}

static void test_libraries_allocate(void **state)
{
	struct run r;
	const struct finding *f;
	uint64_t length;

	(void)state;
	assert_int_equal(run_gain(set_up, "allocation-churn", &length), 0);
	assert_int_equal(run_gain(released_at_the_end, "allocation-churn", &length), 0);
	run_begin(&r, false);
	workspaces(&r);
	run_end(&r);
	f = run_finding(&r, "allocation-churn");
	assert_non_null(f);
	assert_int_equal(f->gain, 19 * 200000); /* neither the first nor the last release */
	assert_string_equal(f->title.s, "1.000 MiB allocated and freed 20 times, 3.800 ms");
	assert_non_null(strstr(f->evidence.s, "20 times 1.000 MiB there, 3.800 ms in these calls"));
	run_release(&r);
}

/* Many calls in one: to look for the outermost of each may not take the time of all of them. */
static void test_many_in_one_call(void **state)
{
	struct run r;
	int64_t begin;
	uint64_t outer;
	struct rec c;

	(void)state;
	run_begin(&r, false);
	begin = r.now;
	outer = ++r.id;
	for (unsigned i = 0; i < 200000; i++) {
		struct rec_dispatch d = {.agent = 1, .queue = 1, .kernel = 1, .dims = 1};

		c = record_of(OP_LAUNCH, r.now, r.now + 2000);
		c.id = ++r.id;
		c.parent = outer;
		r.sink.sink.call(&r.sink.sink, &c);
		d.base = record_of(OP_KERNEL, c.end + 100, c.end + 600);
		d.device = (struct rec_device){.start = c.end + 100,
					       .end = c.end + 600,
					       .submit = c.start,
					       .submitted = c.end,
					       .correlation = c.id};
		r.sink.sink.dispatch(&r.sink.sink, &d);
		r.now += 3000;
	}
	c = record_of(OP_BUILD, begin, r.now);
	c.id = outer;
	r.sink.sink.call(&r.sink.sink, &c);
	run_end(&r);
	assert_int_equal(r.sink.timeline->work_count, 200000);
	for (uint32_t i = 0; i < 200000; i += 20011)
		assert_int_equal(timeline_outermost(
					 r.sink.timeline,
					 timeline_call(r.sink.timeline, &r.sink.timeline->work[i]))
					 ->id,
				 outer);
	run_release(&r);
}

/*
 * Several queues' work of one device, each in order, told one queue after the other; ids of calls that are apart by
 * `step`: all is in order, and each piece has its call.
 */
static void check_order(uint64_t step)
{
	enum { LANES = 5, PIECES = 400 };
	const struct timeline *tl;
	struct run r;
	int64_t begin;

	run_begin(&r, false);
	begin = r.now;
	for (unsigned i = 0; i < LANES * PIECES; i++) {
		struct rec c = record_of(OP_LAUNCH, begin + 3000 * (int64_t)i,
					 begin + 3000 * (int64_t)i + 1000);

		c.id = 1 + step * i;
		r.sink.sink.call(&r.sink.sink, &c);
	}
	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned i = lane; i < LANES * PIECES; i += LANES) {
			struct rec_dispatch d = {.agent = 1, .queue = 1, .kernel = 1, .dims = 1};
			int64_t start = begin + 3000 * (int64_t)i + 2000;

			d.base = record_of(OP_KERNEL, start, start + 500);
			d.device = (struct rec_device){
				.start = start, .end = start + 500, .correlation = 1 + step * i};
			r.sink.sink.dispatch(&r.sink.sink, &d);
		}
	r.now = begin + 3000 * LANES * PIECES;
	run_end(&r);
	tl = r.sink.timeline;
	assert_int_equal(tl->devices[0].count, LANES * PIECES);
	assert_int_equal(intervals_length(&tl->devices[0].all), 500 * LANES * PIECES);
	for (uint32_t i = 0; i < LANES * PIECES; i++) {
		const struct tl_work *w = &tl->work[tl->order[i]];

		assert_int_equal(w->start, begin + 3000 * (int64_t)i + 2000);
		assert_int_equal(timeline_call(tl, w)->id, 1 + step * i);
	}
	assert_null(timeline_find(tl, 1, 2 + step * LANES * PIECES));
	run_release(&r);
}

static void test_order(void **state)
{
	(void)state;
	check_order(1);
	check_order(3);
	check_order(1ull << 40);
}

/* What begins before its call was submitted by another: nothing is said of the host then. */
static void test_before_its_call(void **state)
{
	struct run r;

	(void)state;
	run_begin(&r, false);
	for (unsigned i = 0; i < 100; i++) {
		struct rec c = record_of(OP_LAUNCH, r.now + 2000000, r.now + 2004000);
		struct rec_dispatch d = {.agent = 1, .queue = 1, .kernel = 1, .dims = 1};

		c.id = ++r.id;
		r.sink.sink.call(&r.sink.sink, &c);
		d.base = record_of(OP_KERNEL, r.now + 1000000, r.now + 1100000);
		d.device = (struct rec_device){.start = r.now + 1000000,
					       .end = r.now + 1100000,
					       .submit = c.start,
					       .correlation = c.id,
					       .causal_violation = true};
		r.sink.sink.dispatch(&r.sink.sink, &d);
		r.now += 3000000;
	}
	run_end(&r);
	assert_int_equal(r.sink.timeline->early, 100);
	for (uint32_t i = 0; i < r.sink.timeline->work_count; i++)
		assert_null(timeline_call(r.sink.timeline, &r.sink.timeline->work[i]));
	assert_int_equal(r.diagnosis.idle[0].cause[IDLE_HOST], 0);
	assert_null(run_finding(&r, "host-late"));
	run_release(&r);
}

/* A kernel that has the rest of the device for itself is not alone, whatever begins between the two. */
/* A wait for two other devices, of which the first one begins late: it was for one of them all the time. */
static void test_waits_for_others(void **state)
{
	const struct idle *idle;
	struct run r;

	run_begin(&r, false);
	run_kernel(&r, 0, 0, 100000, 1000);
	run_finish(&r);
	r.free[1][0] = r.now + 1000000;
	run_kernel(&r, 1, 0, 1000000, 1000);
	run_kernel(&r, 2, 0, 1900000, 1000);
	run_finish(&r);
	run_kernel(&r, 0, 0, 100000, 1000);
	run_finish(&r);
	run_end(&r);
	idle = &r.diagnosis.idle[0];
	/* Device 2 from its launch on, until device 1 is done. */
	assert_in_range(idle->cause[IDLE_DEVICE], 1980000, 2010000);
	assert_in_range(idle->cause[IDLE_WAIT], 1, 4 * RETURN_NS);
	run_release(&r);
}

static void test_kernels_side_by_side(void **state)
{
	struct run r;

	(void)state;
	run_begin(&r, false);
	for (unsigned i = 0; i < 100; i++) {
		int64_t s = r.now += 10000;

		for (unsigned k = 0; k < 2; k++) {
			struct rec c = record_of(OP_LAUNCH, s + k, s + k + 1);
			struct rec_dispatch d = {.agent = 1,
						 .queue = 1 + k,
						 .kernel = 1,
						 .dims = 1,
						 .global = {4},
						 .local = {1}};
			struct rec_copy y = {.queue = 1, .bytes = 4};

			c.id = ++r.id;
			r.sink.sink.call(&r.sink.sink, &c);
			d.base = record_of(OP_KERNEL, s + 100, s + 100100);
			d.device = (struct rec_device){.start = s + 100 + 10 * k,
						       .end = s + 100100,
						       .submit = s,
						       .submitted = s + 2,
						       .correlation = c.id};
			r.sink.sink.dispatch(&r.sink.sink, &d);
			y.base = record_of(OP_WRITE, s + 105, s + 106);
			y.device = (struct rec_device){.start = s + 105,
						       .end = s + 106,
						       .submit = s,
						       .submitted = s + 2,
						       .correlation = c.id};
			if (!k)
				r.sink.sink.copy(&r.sink.sink, &y);
		}
		r.now = s + 100100;
	}
	run_end(&r);
	assert_null(run_finding(&r, "small-grid"));
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variants),
		cmocka_unit_test(test_devices_in_turn),
		cmocka_unit_test(test_late_polling),
		cmocka_unit_test(test_allocation_churn),
		cmocka_unit_test(test_queue_churn),
		cmocka_unit_test(test_rebuild_in_loop),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_small_grid),
		cmocka_unit_test(test_serialised_queues),
		cmocka_unit_test(test_queues_by_turns),
		cmocka_unit_test(test_managed_thrash),
		cmocka_unit_test(test_imbalance_devices),
		cmocka_unit_test(test_polling),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_without_calls),
		cmocka_unit_test(test_loss_is_told),
		cmocka_unit_test(test_polls_are_of_one_function),
		cmocka_unit_test(test_one_call_counts_once),
		cmocka_unit_test(test_libraries_allocate),
		cmocka_unit_test(test_many_in_one_call),
		cmocka_unit_test(test_waits_for_others),
		cmocka_unit_test(test_kernels_side_by_side),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_before_its_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
