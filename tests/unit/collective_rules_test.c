/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of devices that communicate (analysis/communication.h, rules/late_device.c): jobs whose waits are known;
 * what other rules make of such kernels; what bounds the run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/bound.h"
#include "collective_run.h"

static void about(uint64_t value, int64_t expected)
{
	assert_in_range(value, expected - expected / 100, expected + expected / 100);
}

/* The only finding; it has these words. */
static const struct finding *only(const char *rule, int64_t ns, const char *title)
{
	const struct finding *f = finding(rule);

	assert_int_equal(job.d.count, 1);
	assert_non_null(f);
	about(f->gain, ns);
	assert_true(says(&f->title, title));
	assert_true(f->title.length <= 76);
	assert_true(f->where.length && f->show.length && f->advice.length && f->evidence.length);
	return f;
}

static void nothing(void)
{
	judge();
	assert_int_equal(job.d.count, 0);
	assert_null(job.d.abstained.s);
	job_end();
}

/* No finding of the rule, but why not. */
static void unknown(const char *why)
{
	judge();
	assert_null(finding("late-device"));
	assert_true(says(&job.d.abstained, "late-device: "));
	assert_true(says(&job.d.abstained, why));
}

/* ---- late devices ------------------------------------------------------------------------------ */

static void steps_of(uint32_t number, int64_t first, int64_t second, int64_t together)
{
	uint32_t world = communicator(7, 0, 2);

	for (uint32_t i = 0; i < number; i++) {
		compute(0, first);
		compute(1, second);
		collective(world, 0, 2, together);
	}
}

static void steps(uint32_t number, int64_t first, int64_t second)
{
	steps_of(number, first, second, MS);
}

/* Shared evenly, a step takes half of what the one has more less. */
static void test_more_to_do(void **state)
{
	const struct finding *f;
	int64_t before;

	(void)state;
	job_begin(2);
	steps(100, 10 * MS, 20 * MS);
	judge();
	f = only("late-device", 500 * MS, "rank 0 waits 1.000 s for rank 1");
	assert_true(
		says(&f->evidence, "rank 1 is the last at 100 of 100 collectives of 2 devices"));
	assert_true(says(&f->evidence, "it computes for 2.000 s, the other for 1.000 s"));
	assert_true(
		says(&f->evidence, "rank 0 waits 1.000 s beside no other kernel, 1.000 s in all"));
	assert_true(says(&f->evidence, "the longest wait 10.00 ms at"));
	assert_false(says(&f->evidence, "is late from"));
	assert_true(says(&f->where, "ncclAllReduce") && says(&f->where, "X #0"));
	assert_true(says(&f->advice, "evenly"));
	assert_int_equal(f->count, 100);
	before = length();
	job_end();
	job_begin(2);
	steps(100, 15 * MS, 15 * MS);
	judge();
	assert_int_equal(job.d.count, 0);
	about((uint64_t)(before - length()), 500 * MS);
	job_end();
}

/* From the midst of the run on. */
static void test_late_from(void **state)
{
	const struct finding *f;
	uint32_t world;

	(void)state;
	job_begin(2);
	world = communicator(7, 0, 2);
	for (uint32_t i = 0; i < 200; i++) {
		compute(0, 10 * MS);
		compute(1, i < 100 ? 10 * MS : 20 * MS);
		collective(world, 0, 2, MS);
	}
	judge();
	f = only("late-device", 500 * MS, "rank 0 waits 1.000 s for rank 1");
	assert_true(says(&f->evidence, "rank 1 is the last at 100 of 200 collectives"));
	assert_true(says(&f->evidence, "rank 1 is late from 1.1"));
	job_end();
}

/* Its host comes late: in time, it costs nothing. */
static void test_late_host(void **state)
{
	const struct finding *f;
	uint32_t world;

	(void)state;
	job_begin(2);
	world = communicator(7, 0, 2);
	for (uint32_t i = 0; i < 100; i++) {
		host(1, 10 * MS);
		compute(0, 10 * MS);
		compute(1, 10 * MS);
		collective(world, 0, 2, MS);
	}
	judge();
	f = finding("late-device");
	assert_non_null(f);
	about(f->gain, 1000 * MS);
	assert_true(says(&f->title, "rank 0 waits 1.000 s for rank 1"));
	assert_true(says(&f->advice, "host code"));
	job_end();
}

/* Of three, the one that waits least bounds what is won if the late one comes in time. */
static void test_three(void **state)
{
	const struct finding *f;
	uint32_t world;

	(void)state;
	job_begin(3);
	world = communicator(7, 0, 3);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 13 * MS);
		compute(2, 19 * MS);
		collective(world, 0, 3, MS);
	}
	judge();
	f = only("late-device", 500 * MS, "2 devices wait 750.0 ms on average for rank 2");
	assert_true(
		says(&f->evidence, "it computes for 1.900 s, the others for 1.150 s on average"));
	assert_true(says(&f->evidence, "rank 0 waits 900.0 ms beside no other kernel"));
	assert_true(says(&f->evidence, "rank 1 waits 600.0 ms beside no other kernel"));
	job_end();
	job_begin(3);
	world = communicator(7, 0, 3);
	for (uint32_t i = 0; i < 100; i++) {
		host(0, 4 * MS);
		host(2, 10 * MS);
		for (uint32_t r = 0; r < 3; r++)
			compute(r, 5 * MS);
		collective(world, 0, 3, MS);
	}
	judge();
	f = finding("late-device");
	assert_non_null(f);
	about(f->gain, 600 * MS);
	job_end();
}

/* Two of four have more to do; who of them is the last is chance. */
static void test_two_of_four(void **state)
{
	uint32_t world;

	(void)state;
	job_begin(4);
	world = communicator(7, 0, 4);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 10 * MS);
		compute(2, 20 * MS + i % 2 * MS / 5);
		compute(3, 20 * MS + (i + 1) % 2 * MS / 5);
		collective(world, 0, 4, MS);
	}
	judge();
	assert_int_equal(job.d.count, 1);
	about(finding("late-device")->gain, 505 * MS);
	job_end();
}

/* Two communicators of the same devices are one; each of two pairs has its own late rank. */
static void test_communicators(void **state)
{
	uint32_t one, other;

	(void)state;
	job_begin(2);
	one = communicator(7, 0, 2);
	other = communicator(8, 0, 2);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 20 * MS);
		collective(i % 2 ? one : other, 0, 2, MS);
	}
	judge();
	assert_true(says(&only("late-device", 500 * MS, "rank 0 waits 1.000 s")->evidence,
			 "100 of 100"));
	job_end();
	job_begin(4);
	one = communicator(7, 0, 2);
	other = communicator(8, 2, 2);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 20 * MS);
		compute(2, 20 * MS);
		compute(3, 14 * MS);
		collective(one, 0, 2, MS);
		collective(other, 2, 2, MS);
	}
	judge();
	assert_int_equal(job.d.count, 2);
	assert_true(says(&job.d.findings[0].title, "rank 0 waits 1.000 s for rank 1"));
	assert_true(says(&job.d.findings[1].title, "rank 3 waits 600.0 ms for rank 2"));
	job_end();
}

static void test_in_balance(void **state)
{
	(void)state;
	job_begin(2);
	steps(100, 10 * MS, 10 * MS + MS / 2); /* 4 % of the run, shared evenly 2 */
	nothing();
}

/* Each waits 4 us of 33: kernels of equal ranks differ by as much. */
static void test_too_short(void **state)
{
	(void)state;
	job_begin(2);
	steps_of(1000, 27000, 31000, 1000);
	judge();
	assert_null(finding("late-device"));
	job_end();
}

/* Each is late in turn: nobody is the cause. */
static void test_by_turns(void **state)
{
	uint32_t world;

	(void)state;
	for (uint32_t ranks = 2; ranks <= 3; ranks++) {
		job_begin(ranks);
		world = communicator(7, 0, ranks);
		for (uint32_t i = 0; i < 120; i++) {
			for (uint32_t r = 0; r < ranks; r++)
				compute(r, i % ranks == r ? 20 * MS : 10 * MS);
			collective(world, 0, ranks, MS);
		}
		unknown("by turns");
		assert_true(says(&job.d.abstained,
				 ranks == 2 ? "2 devices wait 600.0 ms on average for each other"
					    : "3 devices wait 800.0 ms on average for each other"));
		assert_true(says(&job.d.abstained,
				 ranks == 2 ? "the last at 60 of 120" : "the last at 40 of 120"));
		assert_int_equal(job.d.count, 0);
		job_end();
	}
	job_begin(2); /* so little that it is not worth a word */
	world = communicator(7, 0, 2);
	for (uint32_t i = 0; i < 120; i++) {
		for (uint32_t r = 0; r < 2; r++)
			compute(r, i % 2 == r ? 20 * MS : 19 * MS);
		collective(world, 0, 2, MS);
	}
	nothing();
}

/* What runs beside a wait is not held up by it. */
static void test_beside(void **state)
{
	uint32_t world;

	(void)state;
	job_begin(2);
	world = communicator(7, 0, 2);
	job.beside = true;
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, MS);
		compute(1, 16 * MS);
		collective(world, 0, 2, MS);
		compute(0, 20 * MS);
		compute(1, 5 * MS);
	}
	nothing();
}

/* ---- what belongs together ----------------------------------------------------------------------- */

/* ncclBcast calls ncclBroadcast: both have a message. */
static void test_call_in_call(void **state)
{
	(void)state;
	job_begin(2);
	job.op = OP_BCAST;
	job.root = 0;
	steps(100, 10 * MS, 20 * MS);
	judge();
	assert_true(says(&only("late-device", 500 * MS, "rank 0 waits 1.000 s")->evidence,
			 "100 of 100 collectives"));
	job_end();
}

/* In a reduction to one rank others may be done before it has come: of more than two nothing is known. */
static void test_rooted(void **state)
{
	uint32_t world;

	(void)state;
	job_begin(2);
	job.op = OP_REDUCE;
	job.root = 0;
	steps(100, 10 * MS, 20 * MS);
	judge();
	only("late-device", 500 * MS, "rank 0 waits 1.000 s");
	job_end();
	job_begin(3);
	world = communicator(7, 0, 3);
	job.op = OP_REDUCE;
	job.root = 0;
	for (uint32_t i = 0; i < 100; i++) {
		for (uint32_t r = 0; r < 3; r++)
			compute(r, r == 1 ? 20 * MS : 10 * MS);
		collective(world, 0, 3, MS);
	}
	unknown("belong to no collective that is known in all its ranks");
	job_end();
}

static void grouped(uint64_t other, bool sends)
{
	uint32_t one, two;

	job_begin(2);
	job.sends = sends;
	one = communicator(7, 0, 2);
	two = other == 7 ? one : communicator(other, 0, 2);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 20 * MS);
		group(one, two, 2, MS);
	}
}

/* What the end of a group launches is one collective; of two communicators, or with a send, it is not known whose it is. */
static void test_groups(void **state)
{
	(void)state;
	grouped(7, false);
	judge();
	assert_true(says(&only("late-device", 500 * MS, "rank 0 waits 1.000 s")->evidence,
			 "100 of 100 collectives"));
	job_end();
	grouped(8, false);
	unknown("belong to no collective that is known in all its ranks");
	job_end();
	grouped(7, true);
	unknown("belong to no collective that is known in all its ranks");
	job_end();
}

/* Devices of one process have its name, not that of a rank. */
static void test_one_process(void **state)
{
	uint32_t world;

	(void)state;
	job_begin(2);
	job.one = true;
	world = communicator(7, 0, 2);
	job.communicators[world + 1].process = 1;
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 20 * MS);
		group_of_devices(world, MS);
	}
	judge();
	only("late-device", 500 * MS, "X #0 waits 1.000 s for X #1 in collectives on devices");
	job_end();
}

/* Launched in a call of NCCL, whatever its name. */
static void test_unnamed(void **state)
{
	(void)state;
	job_begin(2);
	job.kernel = KERNEL_UNNAMED;
	steps(100, 10 * MS, 20 * MS);
	judge();
	only("late-device", 500 * MS, "rank 0 waits 1.000 s");
	job_end();
}

/* ---- what is not known ------------------------------------------------------------------------------ */

static void test_graphs(void **state)
{
	(void)state;
	job_begin(2);
	job.no_call = true;
	steps(100, 10 * MS, 20 * MS);
	unknown("kernels that communicate for 600.0 ms on each device");
	job_end();
}

static void test_missing(void **state)
{
	uint32_t world;

	(void)state;
	job_begin(2);
	world = communicator_of(7, 0, 2, 3);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 20 * MS);
		collective(world, 0, 2, MS);
	}
	unknown("2 of 3 ranks of a communicator are in the trace");
	job_end();
	job_begin(2); /* of two processes with as many calls, one does what the other does not */
	world = communicator(7, 0, 2);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 20 * MS);
		collective(world, 0, 2, MS);
	}
	message(0, OP_COLLECTIVE, world, job.now[0], job.now[0] + MS, 99999, 0);
	unknown("belong to no collective that is known in all its ranks");
	job_end();
	job_begin(2);
	steps(100, 10 * MS, 20 * MS);
	job.processes[2].lost_records = 1;
	unknown("records are missing");
	job_end();
}

/* ---- other rules ------------------------------------------------------------------------------------ */

/* `rule` judges ordinary kernels so, and those that communicate not. */
static void judges(const char *rule, void (*program)(void))
{
	for (unsigned i = 0; i < 2; i++) {
		job_begin(2);
		communicates(!i);
		program();
		judge();
		communicates(true);
		assert_int_equal(finding(rule) != NULL, i);
		job_end();
	}
}

static void long_collectives(void)
{
	uint32_t world = communicator(7, 0, 2);

	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 10 * MS);
		compute(1, 10 * MS);
		collective(world, 0, 2, 5 * MS);
	}
}

/* Kernels of few blocks on one queue, collectives on another. */
static void few_blocks(void)
{
	uint32_t world = communicator(7, 0, 2);

	for (uint32_t i = 0; i < 200; i++) {
		computes(0, MS, 20);
		computes(1, MS, 20);
		collective(world, 0, 2, MS);
	}
}

/* Shorter than their launches take, each awaited; the host of the second rank begins each so much later. */
static void short_collectives(int64_t late)
{
	uint32_t world;

	job_begin(2);
	world = communicator(7, 0, 2);
	for (uint32_t i = 0; i < 2000; i++) {
		host(0, 0);
		host(1, late);
		collective(world, 0, 2, 6000);
	}
	judge();
}

/* Kernels that communicate wait for launches as others do, unless they would wait for another rank instead. */
static void test_launches(void **state)
{
	(void)state;
	short_collectives(0);
	assert_true(says(&finding("launch-bound")->title, "waits for launches"));
	assert_int_equal(job.d.count, 2);
	job_end();
	short_collectives(50000);
	assert_int_equal(job.d.count, 2);
	assert_non_null(finding("late-device"));
	assert_true(says(&finding("launch-bound")->title, "X #1 waits"));
	job_end();
}

static void test_other_rules(void **state)
{
	(void)state;
	judges("small-grid", long_collectives);
	judges("serialised-queues", few_blocks);
}

/* A device that waits does not work: with as many kernels as the other it has less to do. */
static void test_imbalance(void **state)
{
	const struct finding *f;

	(void)state;
	job_begin(2);
	steps(100, 10 * MS, 20 * MS);
	job.processes[2].lost_records = 1;
	judge();
	f = finding("imbalance-devices");
	assert_non_null(f);
	about(f->gain, 500 * MS);
	assert_true(says(&f->title, "X #1 works 2.000 s, its like 1.500 s on average"));
	assert_true(says(&f->evidence, "X #0: kernels for 1.000 s"));
	job_end();
}

/* ---- what bounds the run ------------------------------------------------------------------------------ */

static void sentence(enum bound_by by, int64_t ns, const char *words)
{
	struct bound b = bound_find(job.sink.timeline, job.d.idle);
	struct text text = {0};

	assert_int_equal(b.by, by);
	about(b.ns, ns);
	bound_tell(&text, &b, job.sink.timeline, job.d.idle);
	print_message("  %s\n", text.s);
	assert_true(says(&text, words));
	text_release(&text);
}

static void test_bound(void **state)
{
	uint32_t world;

	(void)state;
	job_begin(2);
	world = communicator(7, 0, 2);
	for (uint32_t i = 0; i < 100; i++) {
		compute(0, 2 * MS);
		compute(1, 2 * MS);
		collective(world, 0, 2, 8 * MS);
	}
	judge();
	sentence(BOUND_COMMUNICATION, 800 * MS,
		 "Communication bounds the run: 800.0 ms, 80 %, in which the device's kernels only "
		 "communicate.");
	job_end();
	job_begin(
		2); /* the late device's own kernels bound it, not that the other waits for them */
	steps(100, 2 * MS, 10 * MS);
	judge();
	sentence(BOUND_KERNELS, 1000 * MS, "The device bounds the run: its kernels take 1.000 s");
	job_end();
}

/* Times of a device: its kernels, what of them communicates, and what of that no other runs beside. */
static void test_times(void **state)
{
	const struct tl_device *dev;
	uint32_t world;

	(void)state;
	job_begin(2);
	world = communicator(7, 0, 2);
	job.beside = true;
	compute(0, MS);
	compute(1, MS);
	collective(world, 0, 2, 10 * MS);
	compute(0, 4 * MS);
	judge();
	dev = &job.sink.timeline->devices[0];
	about(intervals_length(&dev->communication), 10 * MS);
	about(intervals_length(&dev->computing), 5 * MS);
	about(job.d.idle[0].communication, 6 * MS);
	about(job.d.idle[0].kernels, 11 * MS);
	about(job.d.idle[1].communication, 10 * MS);
	job_end();
	job_begin(2); /* none communicates */
	compute(0, MS);
	judge();
	assert_int_equal(job.sink.timeline->devices[0].computing.count, 0);
	assert_int_equal(job.d.idle[0].communication, 0);
	job_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_to_do),   cmocka_unit_test(test_late_from),
		cmocka_unit_test(test_late_host),    cmocka_unit_test(test_three),
		cmocka_unit_test(test_two_of_four),  cmocka_unit_test(test_communicators),
		cmocka_unit_test(test_in_balance),   cmocka_unit_test(test_too_short),
		cmocka_unit_test(test_by_turns),     cmocka_unit_test(test_beside),
		cmocka_unit_test(test_call_in_call), cmocka_unit_test(test_rooted),
		cmocka_unit_test(test_groups),       cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_unnamed),      cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_missing),      cmocka_unit_test(test_other_rules),
		cmocka_unit_test(test_launches),     cmocka_unit_test(test_imbalance),
		cmocka_unit_test(test_bound),        cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
