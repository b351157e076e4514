/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about ranks that wait (analysis/waits.h and the rules that use it): jobs made of work, messages and
 * collective calls whose times are known, what is lost in them, and jobs in which nothing is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/bound.h"
#include "waits_job.h"

/* ---- late senders ------------------------------------------------------------------------------ */

static void test_late_sender(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 5; i++) {
		work(1, 200 * MS);
		message(1, 0, false);
	}
	work(0, 300 * MS);
	collective(OP_BARRIER);
	expect_one("late-sender", 1000 * MS, "rank 0 waits 1000 ms for messages that rank 1");
}

/* Both work, but never at once: what the sender waits for at the barrier is the receiver's delay. */
static void test_serialised(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 10; i++) {
		work(0, 100 * MS);
		message(0, 1, false);
		work(1, 100 * MS);
		collective(OP_BARRIER);
	}
	expect_one("late-sender", 1000 * MS, "rank 1 waits");
}

static void test_late_receiver(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 10; i++) {
		work(1, 100 * MS);
		message(0, 1, true);
		work(0, 20 * MS);
	}
	expect_one("late-receiver", 820 * MS, "rank 0 waits");
}

/*
 * Two ranks work by turns. What the first does before it sends, it could do while the other works: then half of the
 * run is won, though each of them waits for half of it.
 */
static void test_by_turns(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 80; i++) {
		work(0, 6 * MS);
		message(0, 1, false);
		work(1, 6 * MS);
		message(1, 0, false);
	}
	expect_one("late-sender", 480 * MS, "waits 480.1 ms for messages");
}

/* A task takes 5 ms, its answer is looked at for 0.2 ms: who gives it waits by design. */
static void test_tasks(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 80; i++) {
		work(0, MS / 5);
		message(0, 1, false);
		work(1, 5 * MS);
		message(1, 0, false);
	}
	expect_nothing();
}

/*
 * The same, and both meet after so many tasks. Often: they run the same code, of which rank 1 has more; seldom: that is
 * an end of a phase, as masters and workers have it.
 */
static void test_tasks_and_barriers(void **state)
{
	static const int each[] = {4, 16};

	for (int k = 0; k < 2; k++) {
		job_begin(2, 1);
		start_all();
		for (int i = 0; i < 320; i++) {
			work(0, MS / 5);
			message(0, 1, false);
			work(1, 5 * MS);
			message(1, 0, false);
			if (i % each[k] == 0)
				collective(OP_BARRIER);
		}
		if (k)
			expect_nothing();
		else
			expect_one("imbalance-ranks", 320 * 12 * MS / 5, "rank 1 has 92 % more");
	}
}

/*
 * Rank 0 gives three others their part, which they look for after 4 ms; all are at work while it waits, and yet the
 * run would be shorter by what its own part is late: 3 ms of 9, as the others take 6.
 */
static void test_busy_workers(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 60; i++) {
		for (uint32_t k = 1; k < 4; k++)
			work(k, 4 * MS);
		for (uint32_t k = 1; k < 4; k++)
			message(0, k, true);
		work(0, 5 * MS);
		for (uint32_t k = 1; k < 4; k++) {
			work(k, 2 * MS);
			message(k, 0, false);
		}
		collective(OP_BARRIER);
	}
	expect_one("late-receiver", 180 * MS, "rank 0 waits");
}

/* The first three rounds of a hundred: whatever that was, it is no habit. */
static void test_busy_at_first(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 100; i++) {
		work(1, (i < 3 ? 15 : 0) * MS);
		for (uint32_t k = 1; k < 4; k++)
			message(0, k, true);
		for (uint32_t k = 0; k < 4; k++)
			work(k, 5 * MS);
		collective(OP_BARRIER);
	}
	expect_nothing();
}

/*
 * The receive is posted, and the send is held all the same until the receiver calls again: the library has no
 * thread of its own. `called`: it has, so the receiver's work holds nobody.
 */
static void held_sends(bool called)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		int64_t posted = job.now[1], sent;

		work(0, 5 * MS);
		work(1, 25 * MS);
		sent = (called ? job.now[0] : job.now[1]) + LATENCY;
		job.match++;
		add_message(0, OP_M_SEND, sent, 1, call(0, OP_SEND, sent), 1);
		add_message(1, OP_M_RECEIVE, job.now[1] + LATENCY, 0,
			    call(1, OP_RECV, job.now[1] + LATENCY), 2);
		job.tl.messages[job.tl.messages_count - 1].start = posted;
		work(0, 20 * MS);
		collective(OP_BARRIER);
	}
	if (called)
		expect_nothing();
	else
		expect_one("late-receiver", 400 * MS, "rank 0 waits");
}

static void test_held_send(void **state)
{
	held_sends(false);
	held_sends(true);
}

static void test_ping_pong(void **state)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 5000; i++) {
		message(0, 1, i % 2);
		message(1, 0, i % 2);
	}
	expect_nothing();
}

/* The master has nothing to do but wait for those it gave work to. */
static void master(uint32_t ranks)
{
	job_begin(ranks, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		for (uint32_t k = 1; k < ranks; k++)
			message(0, k, false);
		for (uint32_t k = 1; k < ranks; k++)
			work(k, (50 + (int)k) * MS);
		for (uint32_t k = 1; k < ranks; k++)
			message(k, 0, false);
	}
	expect_nothing();
}

static void test_master(void **state)
{
	master(2);
	master(4);
	master(8);
}

/* Those who collect what all others make on their own wait by design as well. */
static void test_collector(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 20; i++)
		for (uint32_t k = 1; k < 4; k++) {
			work(k, 50 * MS);
			message(k, 0, false);
		}
	expect_nothing();
}

/* ---- questions --------------------------------------------------------------------------------- */

/*
 * Two ranks pass a token that takes 4 ms, and ask for it every 10 ms; `used`: processor time of either's thread.
 * `asked` is false where the question that sees it is the first.
 */
static void token(uint64_t used, bool asked)
{
	job_begin(2, 1);
	start_all();
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t from = i % 2, to = !from;
		int64_t posted = job.now[to], sent, seen = posted + 10 * MS;
		struct tl_message *m;

		call(to, asked ? OP_TEST : OP_SEND, posted + 1000);
		work(from, 4 * MS);
		sent = job.now[from] + LATENCY / 2;
		job.match++;
		add_message(from, OP_M_SEND, sent, (int32_t)to, call(from, OP_SEND, sent),
			    1 + from);
		job.now[to] = seen;
		add_message(to, OP_M_RECEIVE, seen + LATENCY, (int32_t)from,
			    call(to, OP_TEST, seen + LATENCY), 1 + to);
		m = &job.tl.messages[job.tl.messages_count - 1];
		m->start = posted;
		m->request = 5;
		m->completed_by = m->id;
		job.now[from] = seen + LATENCY;
	}
	for (uint32_t i = 0; i < job.tl.calls_count; i++)
		if (job.tl.calls[i].op == OP_TEST)
			job.tl.calls[i].flags |= CALL_ASKS;
	job.threads[1].processor_ns = job.threads[2].processor_ns = used;
}

/* A message that takes two questions, 10 ms apart, has waited from when it was sent. */
static void test_two_naps(void **state)
{
	job_begin(2, 1);
	start_all();
	for (uint32_t i = 0; i < 50; i++) {
		int64_t posted = job.now[0], seen = posted + 20 * MS;
		struct tl_message *m;

		call(0, OP_TEST, posted + 1000);
		job.now[0] += 10 * MS;
		call(0, OP_TEST, job.now[0] + 1000);
		work(1, 4 * MS);
		job.match++;
		add_message(1, OP_M_SEND, job.now[1] + LATENCY / 2, 0,
			    call(1, OP_SEND, job.now[1] + LATENCY / 2), 2);
		job.now[0] = seen;
		add_message(0, OP_M_RECEIVE, seen + LATENCY, 1, call(0, OP_TEST, seen + LATENCY),
			    1);
		m = &job.tl.messages[job.tl.messages_count - 1];
		m->start = posted;
		m->request = 5;
		m->completed_by = m->id;
		job.now[1] = job.now[0];
	}
	for (uint32_t i = 0; i < job.tl.calls_count; i++)
		if (job.tl.calls[i].op == OP_TEST)
			job.tl.calls[i].flags |= CALL_ASKS;
	job.threads[1].processor_ns = 20 * MS;
	expect_one("mpi-late-polling", 50 * 16 * MS, "see 50 messages late");
}

static void test_naps(void **state)
{
	token(300 * MS, true);
	expect_one("mpi-late-polling", 100 * 6 * MS, "see 100 messages late");
}

/* Who computes between its questions loses nothing by that, as far as is known; nor who asks once. */
static void test_no_naps(void **state)
{
	token(350 * MS, true);
	expect_nothing();
	token(0, true);
	expect_nothing();
	token(20 * MS, false);
	expect_nothing();
}

/* ---- two of a kind ----------------------------------------------------------------------------- */

/* Calls of two communicators are counted apart: those of the first two ranks come in between. */
static void test_two_communicators(void **state)
{
	job_begin(4, 1);
	start_all();
	for (int i = 0; i < 20; i++) {
		for (uint32_t k = 0; k < 4; k++)
			work(k, (k == 3 ? 180 : 100) * MS);
		for (int n = 0; n < i % 3; n++)
			collective_of(OP_BARRIER, 0, 2, 5);
		collective(OP_BARRIER);
	}
	expect_one("imbalance-ranks", 20 * 60 * MS, "rank 3 has");
}

/* Two jobs in one trace, one after the other; rank 1 of the second is late, equal keys or not. */
static void test_two_worlds(void **state)
{
	job_begin(4, 2);
	start_all();
	for (int i = 0; i < 20; i++) {
		for (uint32_t k = 0; k < 4; k++)
			work(k, 50 * MS);
		work(3, i == 9 ? 500 * MS : 0);
		collective_of(OP_BARRIER, 0, 2, 1);
		collective_of(OP_BARRIER, 2, 2, 1);
	}
	finalize(0, 2);
	finalize(2, 2);
	expect_one("wait-at-collective", 500 * MS, "for rank 1.1");
}

/* ---- what bounds the run ----------------------------------------------------------------------- */

/* Two ranks are there for a part of the run: for the rest a launcher was, which is recorded as well. */
static void expect_bound(enum bound_by by, int64_t run, int64_t ns, const char *sentence)
{
	struct text text = {0};
	struct bound b;

	finalize(0, job.ranks);
	assert_true(timeline_finish(&job.tl, &whole_run));
	job.tl.start = 0;
	job.tl.end = run;
	b = bound_find(&job.tl, NULL);
	bound_tell(&text, &b, &job.tl, NULL);
	print_message("%s\n", text.s);
	assert_int_equal(b.by, by);
	if (ns)
		assert_in_range(b.ns, ns - MS / 10, ns + MS / 10);
	if (ns)
		assert_true(b.share > 0.999 * (double)ns / (double)run &&
			    b.share < 1.01 * (double)ns / (double)run);
	assert_non_null(strstr(text.s, sentence));
	text_release(&text);
	job_end();
}

/* Seconds of communication are those of the ranks, however long the run. */
static void test_bound_by_communication(void **state)
{
	job_begin(2, 1);
	start_all();
	work(0, 100 * MS);
	message(0, 1, false);
	work(1, 40 * MS);
	/* Rank 0 is in MPI for 10 ms and the last 40, rank 1 for 10 and 100 ms. */
	expect_bound(BOUND_COMMUNICATION, 155 * MS, 80 * MS,
		     "Communication bounds the run: 80.00 ms, 52 % of it in MPI");
}

static void test_bound_by_set_up(void **state)
{
	job_begin(2, 1);
	for (uint32_t i = 0; i < 2; i++) {
		call(i, OP_INIT, job.now[i] + 300 * MS);
		job.now[i] += 300 * MS;
	}
	work(0, 5 * MS);
	message(0, 1, false);
	work(0, 40 * MS);
	/* Rank 1 waits for it in MPI_Finalize. */
	expect_bound(BOUND_COMMUNICATION, 600 * MS, 322500000,
		     "of 322.5 ms, 54 %, in MPI, 320.0 ms are in MPI_Init and MPI_Finalize");
}

static void test_bound_by_host(void **state)
{
	job_begin(2, 1);
	start_all();
	work(0, 200 * MS);
	work(1, 100 * MS);
	expect_bound(BOUND_HOST, 250 * MS, 150 * MS, "its own code takes 150.0 ms, 60 %");
}

/* A launcher that takes longer than what it launches. */
static void test_bound_by_launcher(void **state)
{
	job_begin(2, 1);
	start_all();
	work(0, 50 * MS);
	work(1, 50 * MS);
	expect_bound(BOUND_STARTUP, 600 * MS, 540 * MS,
		     "540.0 ms, 90 %, pass before its ranks begin and after they end");
}

/* ---- what cannot be known ---------------------------------------------------------------------- */

static void late_job(void)
{
	job_begin(2, 1);
	start_all();
	for (int i = 0; i < 5; i++) {
		work(1, 200 * MS);
		message(1, 0, false);
		work(0, 50 * MS);
	}
}

static void test_unknown(void **state)
{
	late_job();
	job.tl.lost = 3;
	expect_silence("records were lost");
	late_job();
	job.processes[2].hostname = "other";
	expect_silence("not compared");
}

/* Clocks that may be apart by more than what is waited say nothing; closer ones do. */
static void test_clock_error(void **state)
{
	for (int close = 0; close < 2; close++) {
		late_job();
		job.processes[2].hostname = "other";
		for (int i = 1; i <= 2; i++) {
			job.processes[i].aligned = true;
			job.processes[i].job_error_ns = close ? 1e4 : 110e6;
		}
		if (close)
			expect_one("late-sender", 950 * MS - 150 * MS, "rank 0 waits");
		else
			expect_nothing();
	}
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_sender),
		cmocka_unit_test(test_serialised),
		cmocka_unit_test(test_late_receiver),
		cmocka_unit_test(test_by_turns),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_tasks_and_barriers),
		cmocka_unit_test(test_busy_workers),
		cmocka_unit_test(test_busy_at_first),
		cmocka_unit_test(test_held_send),
		cmocka_unit_test(test_ping_pong),
		cmocka_unit_test(test_master),
		cmocka_unit_test(test_collector),
		cmocka_unit_test(test_two_naps),
		cmocka_unit_test(test_naps),
		cmocka_unit_test(test_no_naps),
		cmocka_unit_test(test_two_communicators),
		cmocka_unit_test(test_two_worlds),
		cmocka_unit_test(test_bound_by_communication),
		cmocka_unit_test(test_bound_by_set_up),
		cmocka_unit_test(test_bound_by_host),
		cmocka_unit_test(test_bound_by_launcher),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_clock_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
