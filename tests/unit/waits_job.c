/* SPDX-License-Identifier: Apache-2.0 */
/* See waits_job.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/large.h"
#include "waits_job.h"

const struct stream_sink whole_run = {.whole = true, .from = INT64_MIN, .to = INT64_MAX};

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

struct job job;

void job_begin(uint32_t ranks, uint32_t worlds)
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
	job.tl.calls = large_new(CALLS * sizeof(*job.tl.calls));
	job.tl.messages = calloc(CALLS, sizeof(*job.tl.messages));
	job.tl.threads = calloc(ranks + 1, sizeof(*job.tl.threads));
	job.tl.call_of = calloc(ranks + 1, sizeof(*job.tl.call_of));
	job.tl.trace = t;
	for (uint32_t i = 0; i < ranks; i++)
		job.now[i] = 1;
}

uint64_t call(uint32_t rank, uint32_t op, int64_t end)
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

void work(uint32_t rank, int64_t ns)
{
	job.now[rank] += ns;
}

void add_message(uint32_t rank, uint32_t op, int64_t end, int32_t peer, uint64_t id,
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

void message(uint32_t from, uint32_t to, bool waits)
{
	int64_t both = job.now[from] > job.now[to] ? job.now[from] : job.now[to];
	int64_t sent = waits ? both + LATENCY : job.now[from] + LATENCY / 2;

	job.match++;
	add_message(from, OP_M_SEND, sent, (int32_t)to, call(from, OP_SEND, sent), 1 + from);
	both += LATENCY;
	add_message(to, OP_M_RECEIVE, both, (int32_t)from, call(to, OP_RECV, both), 1 + to);
}

void collective_of(uint32_t op, uint32_t first, uint32_t count, uint32_t communicator)
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

void collective(uint32_t op)
{
	collective_of(op, 0, job.ranks, 1);
}

void start_all(void)
{
	for (uint32_t i = 0; i < job.ranks; i++) {
		call(i, OP_INIT, job.now[i] + 10 * MS);
		job.now[i] += 10 * MS;
	}
}

void finalize(uint32_t first, uint32_t count)
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

void judge(void)
{
	if (!job.trace.end)
		finalize(0, job.ranks);
	assert_true(timeline_finish(&job.tl, &whole_run));
	assert_true(diagnose(&job.d, "job.kymo", &job.tl, NULL, NULL));
}

void job_end(void)
{
	diagnosis_release(&job.d);
	for (uint32_t i = 0; i < job.trace.processes_count; i++)
		intervals_release(&job.tl.building[i]);
	free(job.tl.building);
	free(job.tl.devices);
	large_free(job.tl.calls);
	free(job.tl.messages);
	free(job.tl.threads);
	for (uint32_t i = 0; i <= job.ranks; i++)
		large_free(job.tl.call_of[i].at);
	free(job.tl.call_of);
	large_free(job.tl.order);
	large_free(job.tl.outer);
}

void expect_first(uint32_t count, const char *rule, int64_t ns, const char *text)
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

void expect_one(const char *rule, int64_t ns, const char *text)
{
	expect_first(1, rule, ns, text);
}

void expect_nothing(void)
{
	judge();
	for (uint32_t i = 0; i < job.d.count; i++)
		print_message("%s: %s\n", job.d.findings[i].rule->id, job.d.findings[i].title.s);
	assert_int_equal(job.d.count, 0);
	job_end();
}

void expect_silence(const char *reason)
{
	judge();
	assert_int_equal(job.d.count, 0);
	assert_non_null(job.d.abstained.s);
	assert_non_null(strstr(job.d.abstained.s, reason));
	job_end();
}
