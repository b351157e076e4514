/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for all rules about devices (analysis/rules): what is not known is not told, nothing counts twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_rules_run.h"

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
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_without_calls),
		cmocka_unit_test(test_loss_is_told),
		cmocka_unit_test(test_polls_are_of_one_function),
		cmocka_unit_test(test_one_call_counts_once),
		cmocka_unit_test(test_libraries_allocate),
		cmocka_unit_test(test_many_in_one_call),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_before_its_call),
		cmocka_unit_test(test_waits_for_others),
		cmocka_unit_test(test_kernels_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
