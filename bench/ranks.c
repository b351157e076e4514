/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of very many ranks, simulated on one machine.
 *
 *   ranks [RANKS [OPS]]     10,000 ranks, each of which called 40 ops, unless told otherwise
 *
 * "added up in the job": what the ranks do in MPI_Finalize in mode summary, with the code they do it
 * with: tables, bytes, the tree. "on the way": the longest chain of it, which is what the job waits
 * for when each rank has a processor; the network is not in it. "summary": of a trace that holds the
 * result; of one in which every rank has left its own tallies; of one with records of every rank, and
 * their merge in order of time. All for 100 ranks, 1,000 and so on, to show how they grow.
 * Each measurement is a process of its own, so that its time and its peak of memory are its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/summary.h"
#include "core/tally/job.h"
#include "formats/raw/read.h"
#include "support/synth.h"
#include "wire/job_tally.h"

enum { OPS_MAX = 400, OPS_CHUNK = 20, CALLS = 1000, RECORDS = 100 };

static void log_message(struct stream_log *l, int severity, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static struct stream_log bench_log = {log_message};
static const struct format_options options = {.log = &bench_log};

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s failed\n", what);
	_exit(1);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static kymo_domain_desc_t domain = {sizeof(kymo_domain_desc_t), "job", "Job", 1, 0, NULL};

static void make_domain(uint32_t ops)
{
	static kymo_op_desc_t list[OPS_MAX];
	static char names[OPS_MAX][16];

	for (uint32_t i = 0; i < ops; i++) {
		snprintf(names[i], sizeof(names[i]), "call_%" PRIu32, i);
		list[i] = (kymo_op_desc_t){.name = names[i]};
	}
	domain.ops = list;
	domain.op_count = ops;
}

/* Durations over three powers of two, as calls of one kind have them; ranks differ by a little. */
static void make_tally(struct wire_tally *y, uint32_t op, uint32_t rank)
{
	memset(y, 0, sizeof(*y));
	y->min = UINT64_MAX;
	y->op = op;
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t ticks = 200u * (op + 1) + i * (op + 1) + rank % 97;

		y->count++;
		y->total += ticks;
		y->self += ticks;
		y->min = ticks < y->min ? ticks : y->min;
		y->max = ticks > y->max ? ticks : y->max;
		y->histogram[wire_tally_bucket(ticks)]++;
	}
}

static void write_rank(const char *trace, uint32_t rank, uint32_t ops)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = trace, .pid = 1000 + rank, .rank = rank, .compress = true});
	uint16_t base = synth_domain(s, &domain);
	uint32_t thread = synth_thread(s, 1000 + rank, "main");
	struct wire_tally y[OPS_CHUNK];

	for (uint32_t op = 0; op < ops;) {
		uint32_t n = 0;

		for (; op < ops && n < OPS_CHUNK; op++)
			make_tally(&y[n++], base + op, rank);
		synth_tallies(s, thread, y, n);
	}
	synth_close(s, 0, 0, 1000000000);
}

/* What a rank leaves that records: calls that overlap with those of all others. */
static void write_records(const char *trace, uint32_t rank, uint32_t ops)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = trace, .pid = 1000 + rank, .rank = rank, .compress = true});
	uint16_t base = synth_domain(s, &domain);
	uint32_t thread = synth_thread(s, 1000 + rank, "main");

	for (uint32_t i = 0; i < RECORDS; i++) {
		synth_enter(s, thread, (uint16_t)(base + i % ops), 1000000 + i * 10000 + rank % 97,
			    0);
		synth_leave(s, thread, 1005000 + i * 10000 + rank % 97, 0, true, NULL);
	}
	synth_close(s, 0, 0, 1000000000);
}

/* ---- adding up in the job -------------------------------------------------------------------- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A rank's table, as cap_tally_take() makes it of its tallies. */
static void make_table(struct job_tally *t, uint32_t rank, uint32_t ranks, uint32_t ops)
{
	struct wire_tally y;

	job_tally_init(t);
	t->total[JOB_TALLY_RANKS] = 1;
	t->total[JOB_TALLY_WORLD] = ranks;
	t->total[JOB_TALLY_FIRST_RANK] = t->total[JOB_TALLY_LAST_RANK] = rank;
	t->total[JOB_TALLY_START] = 1000000;
	t->total[JOB_TALLY_END] = 1000000000;
	for (uint32_t op = 0; op < ops; op++) {
		struct job_tally_row key = {.kind = WIRE_TALLY_CALL,
					    .number = op,
					    .name = {domain.name, domain.title, domain.ops[op].name,
						     "", "", ""}},
				     *r;

		make_tally(&y, op, rank);
		r = job_tally_row(t, &key);
		need(r != NULL, "a row");
		r->n[JOB_TALLY_COUNT] = y.count;
		r->n[JOB_TALLY_TOTAL] = r->n[JOB_TALLY_SELF] = y.total;
		r->min = y.min;
		r->max = y.max;
		for (uint32_t b = 0; b < WIRE_TALLY_BUCKETS; b++)
			if (y.histogram[b])
				job_tally_bucket(t, r, b, y.histogram[b]);
		job_tally_load(t, &key, rank, y.total);
	}
}

/* Seconds of it: ranks that are simulated one by one do not wait for one another. */
static double processor(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t largest; /* bytes that one rank sends */

/* Returns how long rank 0 of this part of the tree has waited and worked, from when all have come. */
static double reduce(struct job_tally *t, uint32_t rank, uint32_t ranks, uint32_t reach,
		     uint32_t ops)
{
	double spent = 0;

	make_table(t, rank, ranks, ops);
	for (uint32_t step = 1; step < reach && rank + step < ranks; step *= 2) {
		struct job_tally child, received;
		double theirs = reduce(&child, rank + step, ranks, step, ops), begin = processor();
		size_t bytes;
		uint8_t *data = job_tally_encode(&child, &bytes);

		theirs += processor() - begin;
		spent = theirs > spent ? theirs : spent;
		begin = processor();
		need(data && job_tally_decode(&received, data, bytes), "a table");
		job_tally_merge(t, &received);
		job_tally_release(&received);
		spent += processor() - begin;
		largest = bytes > largest ? bytes : largest;
		job_tally_release(&child);
		free(data);
	}
	return spent;
}

static void write_table(const char *trace, const struct job_tally *t)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = trace, .pid = 1000, .rank = 0, .compress = true});
	size_t bytes;
	uint8_t *data = job_tally_encode(t, &bytes);

	for (size_t at = 0; at < bytes; at += DEF_JOB_TALLY_PIECE) {
		size_t n = bytes - at < DEF_JOB_TALLY_PIECE ? bytes - at : DEF_JOB_TALLY_PIECE;
		struct wire_def d;

		wire_def_init(&d, DEF_JOB_TALLY);
		wire_def_u64(&d, at);
		wire_def_u64(&d, bytes);
		wire_def_bytes(&d, data + at, n);
		synth_define(s, &d);
	}
	free(data);
	synth_close(s, 0, 0, 1000000000);
}

static void add_up(const char *trace, uint32_t ranks, uint32_t ops)
{
	struct job_tally t;
	double spent = reduce(&t, 0, ranks, 1u << 31, ops);

	need(!t.failed && t.count == 2 * ops && t.total[JOB_TALLY_RANKS] == ranks,
	     "the whole table");
	printf("  added up in the job: %.2f ms on the way, tables of at most %.1f KiB\n",
	       spent * 1e3, (double)largest / 1024);
	fflush(stdout);
	write_table(trace, &t);
	job_tally_release(&t);
}

/* ---- measurements ---------------------------------------------------------------------------- */

static bool has_rows(const struct report *r, uint32_t wanted)
{
	for (unsigned i = 0; i < r->table_count; i++)
		if (strcmp(r->tables[i]->name, "job") == 0)
			return r->tables[i]->row_count == wanted;
	return false;
}

static void summarise(const char *trace, unsigned by, uint32_t rows, uint64_t calls)
{
	struct report r = {0};
	struct summary s;
	uint64_t counted = 0;

	need(summary_read(&s, trace, SUMMARY_RAW, &options) == KYMO_OK, "reading");
	for (uint32_t i = 0; i < s.tallies->set[TALLY_CALL].count; i++)
		counted += s.tallies->set[TALLY_CALL].rows[i]->count;
	need(counted == calls, "all calls");
	need(summary_report(&r, &s, 1, by) == KYMO_OK, "the report");
	need(has_rows(&r, rows), "the table of calls");
	report_release(&r);
	summary_release(&s);
}

struct in_order {
	struct stream_sink sink;
	uint64_t calls;
	int64_t last;
};

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	struct in_order *o = (struct in_order *)s;

	need(r->start >= o->last, "the order of time");
	o->last = r->start;
	o->calls++;
	return KYMO_OK;
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	return KYMO_OK;
}

static void merge(const char *trace, uint64_t calls)
{
	struct in_order o = {.sink = {.begin = on_end, .call = on_call, .end = on_end}};
	struct raw_trace *rt;

	need(raw_trace_open(trace, &bench_log, &rt) == KYMO_OK, "reading");
	need(raw_trace_read(rt, NULL, true, &o.sink, &options) == KYMO_OK, "merging");
	need(o.calls == calls, "all calls");
	raw_trace_close(rt);
}

struct job {
	const char *table, *tallies, *records; /* traces */
	uint32_t ranks, ops;
};

static void do_reduce(const struct job *j)
{
	add_up(j->table, j->ranks, j->ops);
}

static void do_table(const struct job *j)
{
	summarise(j->table, BY_OP, j->ops, (uint64_t)j->ranks * j->ops * CALLS);
}

static void do_tallies(const struct job *j)
{
	summarise(j->tallies, BY_OP, j->ops, (uint64_t)j->ranks * j->ops * CALLS);
}

static void do_by_rank(const struct job *j)
{
	summarise(j->tallies, BY_RANK, j->ranks, (uint64_t)j->ranks * j->ops * CALLS);
}

static void do_records(const struct job *j)
{
	summarise(j->records, BY_OP, j->ops < RECORDS ? j->ops : RECORDS,
		  (uint64_t)j->ranks * RECORDS);
}

static void do_merge(const struct job *j)
{
	merge(j->records, (uint64_t)j->ranks * RECORDS);
}

static void measure(const struct job *j, const char *what, void (*fn)(const struct job *j))
{
	double begin = now();
	struct rusage use;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fn(j);
		_exit(0);
	}
	need(pid > 0 && wait4(pid, &status, 0, &use) == pid && status == 0, what);
	printf("  %-36s %8.3f s, %.3f s of it processor; %8.1f MiB at most\n", what, now() - begin,
	       (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec * 1e-6 +
		       (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec * 1e-6,
	       (double)use.ru_maxrss / 1024);
	fflush(stdout);
}

static void run(const char *folder, uint32_t ranks, uint32_t ops)
{
	char table[64], tallies[64], records[64];
	struct job j = {table, tallies, records, ranks, ops};

	snprintf(table, sizeof(table), "%s/table-%" PRIu32, folder, ranks);
	snprintf(tallies, sizeof(tallies), "%s/tallies-%" PRIu32, folder, ranks);
	snprintf(records, sizeof(records), "%s/records-%" PRIu32, folder, ranks);
	for (uint32_t rank = 0; rank < ranks; rank++) {
		write_rank(tallies, rank, ops);
		write_records(records, rank, ops);
	}
	printf("%" PRIu32 " ranks, %" PRIu32 " ops each\n", ranks, ops);
	fflush(stdout);
	measure(&j, "all ranks' adding up, one by one", do_reduce);
	measure(&j, "summary: the job's table", do_table);
	measure(&j, "summary: each rank's tallies", do_tallies);
	measure(&j, "summary --by rank: the same", do_by_rank);
	measure(&j, "summary: 100 records of each rank", do_records);
	measure(&j, "merged in order of time: the same", do_merge);
}

int main(int argc, char **argv)
{
	uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
	uint32_t ops = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 40;
	char folder[] = "/tmp/kymo-bench-XXXXXX", command[96];

	if (!ranks || !ops || ops > OPS_MAX || !mkdtemp(folder))
		return 2;
	make_domain(ops);
	for (uint32_t n = 100; n < ranks; n *= 10)
		run(folder, n, ops);
	run(folder, ranks, ops);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0;
}
