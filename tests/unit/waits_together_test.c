/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about ranks that wait in collective calls, and about work that is not the same for all: as in waits_test.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "waits_job.h"

/* ---- collective calls -------------------------------------------------------------------------- */

static void test_once_late(void **state)
{
	for (uint32_t ranks = 2; ranks <= 4; ranks += 2) {
		job_begin(ranks, 1);
		start_all();
		for (int i = 0; i < 40; i++) {
			for (uint32_t k = 0; k < ranks; k++)
				work(k, 20 * MS);
			work(1, i == 25 ? 400 * MS : 0);
			collective(OP_BARRIER);
		}
		expect_one("wait-at-collective", 400 * MS, "for rank 1");
	}
}

static void test_late_broadcast(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		work(0, 30 * MS);
		collective(OP_BCAST);
		for (uint32_t k = 0; k < 4; k++)
			work(k, 20 * MS);
		collective(OP_BARRIER);
	}
	expect_one("wait-at-collective", 600 * MS, "3 ranks wait");
}

/* The others wait for a seventeenth of the run: roots have something to do for a broadcast. */
static void test_broadcast_in_time(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		work(0, 3 * MS);
		collective(OP_BCAST);
		for (uint32_t k = 0; k < 4; k++)
			work(k, 48 * MS);
		collective(OP_BARRIER);
	}
	expect_nothing();
}

static void test_early_reduce(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		work(0, 10 * MS);
		work(1, 40 * MS);
		collective(OP_REDUCE);
	}
	expect_one("wait-at-collective", 600 * MS, "rank 0 waits");
}

/*
 * All work, the root gathers, does `alone` by itself, and gives out. It has waited before: rank 1 comes a little late to
 * the reduction, so that both are waited for.
 */
static void serial_part(int64_t alone)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 30; i++) {
		work(0, 10 * MS);
		work(1, 10 * MS + MS / 2);
		collective(OP_REDUCE);
		work(0, alone);
		collective(OP_BCAST);
	}
}

static void test_serial_root(void **state)
{
	serial_part(20 * MS);
	expect_one("wait-at-collective", 30 * 20 * MS, "in collective calls for rank 0");
	serial_part(MS / 2);
	expect_nothing();
}

/*
 * What the root does alone takes by turns 10 and 30 ms by chance, and it lacked a processor for longer than is waited for
 * it. If the other lacked its own for as long, which needs less of it, the root has more to do.
 */
static void test_serial_root_on_busy_machine(void **state)
{
	for (int both = 0; both < 2; both++) {
		int64_t sum = 0;

		job_begin(2, 1);
		start_all();
		srand(7);
		for (int i = 0; i < 30; i++) {
			int64_t alone = (rand() >> 4) % 2 ? 10 * MS : 30 * MS;

			work(0, 10 * MS);
			work(1, 10 * MS);
			collective(OP_REDUCE);
			work(0, alone);
			collective(OP_BCAST);
			sum += alone;
		}
		job.processes[1].delay_ns = (uint64_t)(sum + 30 * MS);
		job.processes[2].delay_ns = both ? (uint64_t)(sum + 30 * MS) : 0;
		if (both)
			expect_one("wait-at-collective", sum, "in collective calls for rank 0");
		else
			expect_nothing();
	}
}

/* Ranks are late by turns by what a machine does to equal work. */
static void test_jitter(void **state)
{
	job_begin(4, 1);
	start_all();
	srand(5);
	for (int i = 0; i < 400; i++) {
		for (uint32_t k = 0; k < 4; k++)
			work(k, 20 * MS + rand() % MS);
		collective(OP_BARRIER);
	}
	expect_nothing();
}

/* Both ranks of a job send and receive in one call. Rank 0 is in it for `longer` ns more. */
static void swap(int64_t longer)
{
	int64_t begin[2] = {job.now[0], job.now[1]};
	int64_t both = begin[0] > begin[1] ? begin[0] : begin[1], end[2];
	uint64_t id[2];

	for (uint32_t i = 0; i < 2; i++) {
		end[i] = both + LATENCY + (i ? 0 : longer);
		id[i] = call(i, OP_RECV, end[i]);
	}
	job.match++;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t op = OP_M_SEND; op <= OP_M_RECEIVE; op++) {
			job.now[i] = begin[i];
			add_message(i, op, end[i], !i, id[i], 1 + i);
		}
}

/*
 * Ranks that have next to nothing to do, and of which one is in its calls longer, as another program has its processor:
 * that is no work that could be shared. If it is so long at work after them it is.
 */
static void test_long_calls(void **state)
{
	for (int outside = 0; outside < 2; outside++) {
		job_begin(2, 1);
		start_all();
		for (int i = 0; i < 200; i++) {
			swap(outside ? 0 : 8 * MS);
			work(0, outside ? 10 * MS : 2 * MS);
			work(1, 2 * MS);
		}
		if (outside)
			expect_one("imbalance-ranks", 200 * 4 * MS, "rank 0 has 67 % more");
		else
			expect_nothing();
	}
}

/* Who writes to a file is at work, whoever else is in MPI. */
static void test_writer(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		call(1, OP_FILE, job.now[1] + 40 * MS);
		work(1, 40 * MS);
		work(0, 10 * MS);
		collective(OP_BARRIER);
	}
	expect_one("imbalance-ranks", 20 * 15 * MS, "rank 1 has 60 % more");
}

/*
 * Rank 0 has half as much again to do, but the other waits for it because it is long in its calls; only once it is late
 * by what it does. No more than is waited for that can be won.
 */
static void test_gain_of_waits(void **state)
{
	for (int calls = 0; calls < 2; calls++) {
		job_begin(2, 1);
		start_all();
		for (int i = 0; i < 200; i++) {
			swap(calls ? 8 * MS : 0);
			work(0, 3 * MS + MS / 2 + (i == 100 ? 12 * MS : 0));
			work(1, (i == 100 ? 4 : 2) * MS);
		}
		if (calls)
			expect_nothing();
		else
			expect_one("imbalance-ranks", 155 * MS, "rank 0 has 28 % more");
	}
}

/* Now and then a rank waits for its processor, which another program has. */
static void test_busy_machine(void **state)
{
	job_begin(2, 1);
	start_all();
	srand(7);
	for (int i = 0; i < 200; i++) {
		work(0, 5 * MS);
		work(1, (rand() % 5 ? 5 : 13) * MS);
		message(1, 0, false);
	}
	expect_nothing();
}

/* Every other time, and once for long: told, unless that rank had no processor for as long; each time: told. */
static void test_no_processor(void **state)
{
	int64_t waited = 0;

	for (unsigned known = 0; known < 3; known++) {
		job_begin(2, 1);
		start_all();
		srand(7);
		waited = 0;
		for (int i = 0; i < 200; i++) {
			int64_t late = known == 2 ? (4 + rand() % 9) * MS : rand() % 2 * 8 * MS;

			late = i == 50 ? 300 * MS : late;

			work(0, 5 * MS);
			work(1, 5 * MS + late);
			message(1, 0, false);
			waited += late;
		}
		job.processes[2].delay_ns = (uint64_t)(known ? waited : waited / 2) + 20 * MS;
		if (known == 1)
			expect_nothing();
		else
			expect_one("late-sender", waited, "rank 0 waits");
	}
}

/*
 * Equal work, and each time one of two ranks is late, by chance: told, unless both had no processor for as long as both
 * are waited for.
 */
static void test_late_by_turns(void **state)
{
	for (unsigned known = 0; known < 2; known++) {
		job_begin(2, 1);
		start_all();
		srand(7);
		for (int i = 0; i < 200; i++) {
			uint32_t late = (uint32_t)(rand() >> 4) % 2;

			work(late, 11 * MS);
			work(!late, 5 * MS);
			collective(OP_BARRIER);
		}
		for (uint32_t i = 1; i <= 2; i++)
			job.processes[i].delay_ns = known ? 620 * MS : 0;
		if (known) {
			expect_nothing();
		} else {
			judge();
			assert_int_equal(job.d.count, 1);
			assert_string_equal(job.d.findings->rule->id, "wait-at-collective");
			job_end();
		}
	}
}

/*
 * Rank 0 has nearly all the work of a step, after which both exchange twice. It lacked a processor for longer than is
 * waited for it, but most of that time it was not at work.
 */
static void test_no_processor_in_calls(void **state)
{
	job_begin(2, 1);
	start_all();
	srand(7);
	for (int i = 0; i < 100; i++) {
		work(0, (rand() >> 4) % 2 * 10 * MS + 4 * MS + MS / 2);
		work(1, MS / 2);
		swap(0);
		work(1, 3 * MS);
		swap(4 * MS);
	}
	job.processes[1].delay_ns = 1300 * MS;
	/* It waits itself for what rank 1 does between. */
	expect_first(2, "late-receiver", 1276 * MS, "rank 1 waits");
}

/*
 * Both ranks of a job send and then receive. Rank 0 has all the work, and is back a little later: what the other waits
 * for next is no answer to what it sent, to which it has had one.
 */
static void test_idle_neighbour(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 60; i++) {
		int64_t both;

		work(0, 30 * MS);
		work(1, MS / 2);
		job.match++;
		for (uint32_t k = 0; k < 2; k++) {
			int64_t end = job.now[k] + LATENCY / 2;

			add_message(k, OP_M_SEND, end, !k, call(k, OP_SEND, end), 1 + k);
		}
		both = job.now[0] + LATENCY;
		for (uint32_t k = 0; k < 2; k++) {
			int64_t end = both + (k ? 0 : MS / 100);

			add_message(k, OP_M_RECEIVE, end, !k, call(k, OP_RECV, end), 1 + k);
		}
	}
	expect_one("late-sender", 60 * 30 * MS - 30 * MS, "rank 1 waits");
}

/* One rank after the other is late, each at every fourth step, and by other times: at each step the others wait. */
static void test_in_turn(void **state)
{
	job_begin(4, 1);
	start_all();
	srand(7);
	for (uint32_t i = 0; i < 80; i++) {
		for (uint32_t k = 0; k < 4; k++)
			work(k, 4 * MS);
		work(i % 4, 2 * MS + (rand() >> 4) % 13 * MS);
		collective(OP_BARRIER);
	}
	judge();
	assert_int_equal(job.d.count, 1);
	assert_string_equal(job.d.findings->rule->id, "wait-at-collective");
	job_end();
}

/* Equal delays at every fifth step are counted out: the program does something then. */
static void test_every_fifth(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 200; i++) {
		work(0, 5 * MS);
		work(1, (i % 5 ? 5 : 13) * MS);
		message(1, 0, false);
	}
	expect_one("late-sender", 320 * MS, "rank 0 waits 319.8");
}

/* Three ranks pass a block round. What each does before it passes it on, it could do while the others have it. */
static void test_round_by_turns(void **state)
{
	job_begin(3, 1);
	start_all();
	for (int i = 0; i < 60; i++)
		for (uint32_t k = 0; k < 3; k++) {
			work(k, 6 * MS);
			message(k, (k + 1) % 3, false);
		}
	expect_one("late-sender", 720 * MS, "for messages that");
}

/* Rank 0 only gives the block to two others that work on it one after the other: it waits by design. */
static void test_round_of_servants(void **state)
{
	job_begin(3, 1);
	start_all();
	for (int i = 0; i < 60; i++)
		for (uint32_t k = 0; k < 3; k++) {
			work(k, k == 2 ? 50 * MS : MS / 10);
			message(k, (k + 1) % 3, false);
		}
	expect_nothing();
}

/* ---- imbalance --------------------------------------------------------------------------------- */

static void test_imbalance(void **state)
{
	for (uint32_t ranks = 2; ranks <= 4; ranks += 2) {
		job_begin(ranks, 1);
		start_all();
		for (int i = 0; i < 20; i++) {
			for (uint32_t k = 0; k < ranks; k++)
				work(k, (k == ranks - 1 ? 180 : 100) * MS);
			collective(OP_BARRIER);
		}
		/* max - mean of 100, ..., 180 */
		expect_one("imbalance-ranks", 20 * 80 * MS * (ranks - 1) / ranks,
			   ranks == 2 ? "rank 1 has 29 % more" : "rank 3 has 50 % more");
	}
}

/* The same where ranks meet by messages alone: the late messages are not a finding of their own. */
/* Rank 1 takes `ns` longer in half of the steps of 20 ms, of which it had no processor for this share. */
static int64_t uneven(int64_t ns, double share)
{
	int64_t more = 0;

	job_begin(2, 1);
	start_all();
	srand(7);
	for (int i = 0; i < 40; i++) {
		int64_t late = (rand() >> 4) % 2 * ns;

		work(0, 20 * MS);
		work(1, 20 * MS + late);
		collective(OP_BARRIER);
		more += late;
	}
	job.processes[2].delay_ns = (uint64_t)(share * (double)more);
	return more;
}

static void test_uneven_machine(void **state)
{
	int64_t more = uneven(10 * MS, 1);

	expect_silence("rank 1 was busy for 95.00 ms more than the mean, for want of");
	uneven(10 * MS, 0.05);
	expect_one("imbalance-ranks", more / 2 - more / 40, "rank 1 has");
	uneven(60 * MS, 0.85);
	expect_silence("for want of a processor: rather the machine");
	uneven(10 * MS, 0.3);
	judge();
	assert_int_equal(job.d.count, 1);
	assert_non_null(strstr(job.d.findings->evidence.s,
			       "rank 1 was busy for 964.0 ms, the mean of 2 ranks is 895.0 ms\n"
			       "that is without 26.04 ms more than the others"));
	job_end();
}

static void test_imbalance_by_messages(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 30; i++) {
		for (uint32_t k = 0; k < 4; k++)
			work(k, (k == 2 ? 180 : 100) * MS);
		for (uint32_t k = 0; k < 4; k += 2) {
			message(k, k + 1, true);
			message(k + 1, k, true);
		}
		for (uint32_t k = 1; k < 4; k += 2) {
			message(k, (k + 1) % 4, true);
			message((k + 1) % 4, k, true);
		}
	}
	expect_one("imbalance-ranks", 30 * 60 * MS, "rank 2 has 50 % more");
}

static void test_small_imbalance(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		for (uint32_t k = 0; k < 4; k++)
			work(k, (k == 3 ? 104 : 100) * MS);
		collective(OP_BARRIER);
	}
	expect_nothing();
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_late),
		cmocka_unit_test(test_late_broadcast),
		cmocka_unit_test(test_broadcast_in_time),
		cmocka_unit_test(test_early_reduce),
		cmocka_unit_test(test_serial_root),
		cmocka_unit_test(test_serial_root_on_busy_machine),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_long_calls),
		cmocka_unit_test(test_writer),
		cmocka_unit_test(test_gain_of_waits),
		cmocka_unit_test(test_busy_machine),
		cmocka_unit_test(test_no_processor),
		cmocka_unit_test(test_late_by_turns),
		cmocka_unit_test(test_no_processor_in_calls),
		cmocka_unit_test(test_idle_neighbour),
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_every_fifth),
		cmocka_unit_test(test_round_by_turns),
		cmocka_unit_test(test_round_of_servants),
		cmocka_unit_test(test_imbalance),
		cmocka_unit_test(test_uneven_machine),
		cmocka_unit_test(test_imbalance_by_messages),
		cmocka_unit_test(test_small_imbalance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
