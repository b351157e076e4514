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
#include "analysis/diagnose.h"

static const struct stream_sink whole_run = {.whole = true, .from = INT64_MIN, .to = INT64_MAX};

#define MS 1000000LL

enum { RANKS = 9, CALLS = 100000, LATENCY = 2000 };

enum {
	OP_NONE,
	OP_INIT,
	OP_SEND,
	OP_RECV,
	OP_BARRIER,
	OP_BCAST,
	OP_REDUCE,
	OP_FINALIZE,
	OP_TEST,
	OP_FILE,
	OP_M_SEND,
	OP_M_RECEIVE,
	OP_M_COLLECTIVE,
	OPS
};

static struct t_domain domains[] = {{"", ""}, {"mpi", "MPI"}, {"comm", "Messages"}};
static struct t_op ops[OPS] = {
	[OP_NONE] = {.name = ""},
	[OP_INIT] = {.name = "MPI_Init", .domain = 1},
	[OP_SEND] = {.name = "MPI_Send", .domain = 1},
	[OP_RECV] = {.name = "MPI_Recv", .domain = 1},
	[OP_BARRIER] = {.name = "MPI_Barrier", .domain = 1},
	[OP_BCAST] = {.name = "MPI_Bcast", .domain = 1},
	[OP_REDUCE] = {.name = "MPI_Reduce", .domain = 1},
	[OP_FINALIZE] = {.name = "MPI_Finalize", .domain = 1},
	[OP_TEST] = {.name = "MPI_Test", .domain = 1},
	[OP_FILE] = {.name = "MPI_File_write_at", .domain = 1},
	[OP_M_SEND] = {.name = "send", .domain = 2, .number = COMM_OP_SEND},
	[OP_M_RECEIVE] = {.name = "receive", .domain = 2, .number = COMM_OP_RECEIVE},
	[OP_M_COLLECTIVE] = {.name = "collective", .domain = 2, .number = COMM_OP_COLLECTIVE},
};

/* A job: ranks 0 to n-1 are processes and threads 1 to n. Communicator 1: all, 2: the first two. */
static struct job {
	struct trace trace;
	struct timeline tl;
	struct t_process processes[RANKS + 1];
	struct t_thread threads[RANKS + 1];
	struct t_communicator communicators[2 * RANKS + 3];
	int64_t now[RANKS];
	uint32_t ranks;
	uint64_t id, match;
	struct diagnosis d;
} job;

static void job_begin(uint32_t ranks, uint32_t worlds)
{
	struct trace *t = &job.trace;
	uint32_t each = ranks / worlds;

	memset(&job, 0, sizeof(job));
	job.ranks = ranks;
	t->worlds = worlds;
	t->origin = 1;
	t->domains = domains;
	t->domains_count = 3;
	t->ops = ops;
	t->ops_count = OPS;
	t->processes = job.processes;
	t->threads = job.threads;
	t->communicators = job.communicators;
	t->processes_count = t->threads_count = ranks + 1;
	t->communicators_count = 2 * ranks + 1;
	for (uint32_t i = 1; i <= ranks; i++) {
		uint32_t world = (i - 1) / each;

		job.processes[i] = (struct t_process){.rank = (i - 1) % each,
						      .ranks = each,
						      .world = world,
						      .hostname = "node",
						      .start = 1};
		job.threads[i] = (struct t_thread){.process = i, .main = true, .start = 1};
		job.communicators[i] =
			(struct t_communicator){.process = i, .key = 7 + world, .size = each};
		job.communicators[ranks + i] =
			(struct t_communicator){.process = i, .key = 70 + world, .size = 2};
	}
	job.tl.calls = calloc(CALLS, sizeof(*job.tl.calls));
	job.tl.messages = calloc(CALLS, sizeof(*job.tl.messages));
	job.tl.threads = calloc(ranks + 1, sizeof(*job.tl.threads));
	job.tl.call_of = calloc(ranks + 1, sizeof(*job.tl.call_of));
	job.tl.trace = t;
	for (uint32_t i = 0; i < ranks; i++)
		job.now[i] = 1;
}

static uint64_t call(uint32_t rank, uint32_t op, int64_t end)
{
	assert_true(job.tl.calls_count < CALLS);
	job.tl.calls[job.tl.calls_count++] = (struct tl_call){.start = job.now[rank],
							      .end = end,
							      .id = ++job.id,
							      .thread = rank + 1,
							      .op = op,
							      .count = 1,
							      .flags = CALL_MPI};
	return job.id;
}

static void work(uint32_t rank, int64_t ns)
{
	job.now[rank] += ns;
}

static void add_message(uint32_t rank, uint32_t op, int64_t end, int32_t peer, uint64_t id,
			uint32_t communicator)
{
	job.tl.messages[job.tl.messages_count++] =
		(struct tl_message){.start = job.now[rank],
				    .end = end,
				    .id = id,
				    .match = op == OP_M_COLLECTIVE ? 0 : job.match,
				    .process = rank + 1,
				    .thread = rank + 1,
				    .op = op,
				    .communicator = communicator,
				    .peer = peer,
				    .kind = (uint8_t)ops[op].number};
	job.now[rank] = end;
}

/* `waits`: the send does not end before the receive has begun. */
static void message(uint32_t from, uint32_t to, bool waits)
{
	int64_t both = job.now[from] > job.now[to] ? job.now[from] : job.now[to];
	int64_t sent = waits ? both + LATENCY : job.now[from] + LATENCY / 2;

	job.match++;
	add_message(from, OP_M_SEND, sent, (int32_t)to, call(from, OP_SEND, sent), 1 + from);
	both += LATENCY;
	add_message(to, OP_M_RECEIVE, both, (int32_t)from, call(to, OP_RECV, both), 1 + to);
}

/* Ranks first to first + count - 1. For OP_BCAST the first is the root. */
static void collective_of(uint32_t op, uint32_t first, uint32_t count, uint32_t communicator)
{
	int64_t last = 0;

	for (uint32_t i = first; i < first + count; i++)
		last = job.now[i] > last ? job.now[i] : last;
	for (uint32_t i = first; i < first + count; i++) {
		int64_t end = last;

		if (op == OP_BCAST)
			end = job.now[i] > job.now[first] ? job.now[i] : job.now[first];
		else if (op == OP_REDUCE && i != first)
			end = job.now[i];
		end += LATENCY;
		if (op == OP_BCAST && i > first && job.now[first] > end) /* the root has gone on */
			end = job.now[first] + LATENCY;
		add_message(i, OP_M_COLLECTIVE, end, op == OP_BARRIER ? -1 : 0, call(i, op, end),
			    communicator + i);
	}
}

static void collective(uint32_t op)
{
	collective_of(op, 0, job.ranks, 1);
}

static void start_all(void)
{
	for (uint32_t i = 0; i < job.ranks; i++) {
		call(i, OP_INIT, job.now[i] + 10 * MS);
		job.now[i] += 10 * MS;
	}
}

static void finalize(uint32_t first, uint32_t count)
{
	int64_t last = 0;

	for (uint32_t i = first; i < first + count; i++)
		last = job.now[i] > last ? job.now[i] : last;
	for (uint32_t i = first; i < first + count; i++) {
		call(i, OP_FINALIZE, last + LATENCY);
		job.now[i] = last + LATENCY;
		job.processes[i + 1].end = job.threads[i + 1].end = job.now[i];
		job.trace.end = job.now[i] > job.trace.end ? job.now[i] : job.trace.end;
	}
}

static void judge(void)
{
	if (!job.trace.end)
		finalize(0, job.ranks);
	assert_true(timeline_finish(&job.tl, &whole_run));
	assert_true(diagnose(&job.d, "job.kymo", &job.tl, NULL, NULL));
}

static void job_end(void)
{
	diagnosis_release(&job.d);
	for (uint32_t i = 0; i < job.trace.processes_count; i++)
		intervals_release(&job.tl.building[i]);
	free(job.tl.building);
	free(job.tl.devices);
	free(job.tl.calls);
	free(job.tl.messages);
	free(job.tl.threads);
	for (uint32_t i = 0; i <= job.ranks; i++)
		free(job.tl.call_of[i].at);
	free(job.tl.call_of);
	free(job.tl.order);
	free(job.tl.outer);
}

/* Of so many findings the first is of this rule, is worth `ns` within a hundredth, and has `text` in its title. */
static void expect_first(uint32_t count, const char *rule, int64_t ns, const char *text)
{
	const struct finding *f = job.d.findings;

	judge();
	f = job.d.findings;
	for (uint32_t i = 0; i < job.d.count; i++)
		print_message("%s %lld us: %s\n", f[i].rule->id, (long long)f[i].gain / 1000,
			      f[i].title.s);
	assert_int_equal(job.d.count, count);
	assert_string_equal(f->rule->id, rule);
	assert_in_range(f->gain, ns - ns / 100, ns + ns / 100);
	assert_non_null(strstr(f->title.s, text));
	assert_true(f->title.length <= 76);
	assert_true(f->where.length && f->show.length && f->advice.length && f->evidence.length);
	job_end();
}

static void expect_one(const char *rule, int64_t ns, const char *text)
{
	expect_first(1, rule, ns, text);
}

static void expect_nothing(void)
{
	judge();
	for (uint32_t i = 0; i < job.d.count; i++)
		print_message("%s: %s\n", job.d.findings[i].rule->id, job.d.findings[i].title.s);
	assert_int_equal(job.d.count, 0);
	job_end();
}

static void expect_silence(const char *reason)
{
	judge();
	assert_int_equal(job.d.count, 0);
	assert_non_null(job.d.abstained.s);
	assert_non_null(strstr(job.d.abstained.s, reason));
	job_end();
}

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
		cmocka_unit_test(test_ping_pong),
		cmocka_unit_test(test_master),
		cmocka_unit_test(test_collector),
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
		cmocka_unit_test(test_no_processor_in_calls),
		cmocka_unit_test(test_idle_neighbour),
		cmocka_unit_test(test_late_by_turns),
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_every_fifth),
		cmocka_unit_test(test_round_by_turns),
		cmocka_unit_test(test_round_of_servants),
		cmocka_unit_test(test_held_send),
		cmocka_unit_test(test_naps),
		cmocka_unit_test(test_two_naps),
		cmocka_unit_test(test_no_naps),
		cmocka_unit_test(test_imbalance),
		cmocka_unit_test(test_uneven_machine),
		cmocka_unit_test(test_imbalance_by_messages),
		cmocka_unit_test(test_small_imbalance),
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
