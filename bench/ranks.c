/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of a job of very many ranks in mode "summary": every rank has left its tallies.
 *
 *   ranks [RANKS [OPS]]           10,000 ranks, each of which called 40 ops, unless told otherwise
 *
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
#include "support/synth.h"

enum { OPS_MAX = 400, OPS_CHUNK = 20, CALLS = 1000 };

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
	struct synth *s = synth_open(&(struct synth_options){.directory = trace, .pid = 1000 + rank,
							     .rank = rank, .compress = true});
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

/* ---- measurements ---------------------------------------------------------------------------- */

static void check(const struct report *r, unsigned by, uint32_t ranks, uint32_t ops)
{
	uint32_t wanted = by == BY_OP ? ops : ranks;

	for (unsigned i = 0; i < r->table_count; i++)
		if (strcmp(r->tables[i]->name, "job") == 0 && r->tables[i]->row_count == wanted)
			return;
	need(false, "the table of calls");
}

static void summarise(const char *trace, unsigned by, uint32_t ranks, uint32_t ops)
{
	struct report r = {0};
	struct summary s;

	need(summary_read(&s, trace, SUMMARY_RAW, &options) == KYMO_OK, "reading");
	need(s.tallies->set[TALLY_CALL].count == ranks * ops, "a row of each rank and op");
	need(summary_report(&r, &s, 1, by) == KYMO_OK, "the report");
	check(&r, by, ranks, ops);
	report_release(&r);
	summary_release(&s);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void measure(const char *trace, const char *what, unsigned by, uint32_t ranks, uint32_t ops)
{
	double begin = now();
	struct rusage use;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		summarise(trace, by, ranks, ops);
		_exit(0);
	}
	need(pid > 0 && wait4(pid, &status, 0, &use) == pid && status == 0, what);
	printf("%-22s %8.2f s  %8.1f MiB at most, %.1f us a rank\n", what, now() - begin,
	       (double)use.ru_maxrss / 1024, (now() - begin) * 1e6 / ranks);
}

int main(int argc, char **argv)
{
	uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
	uint32_t ops = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 40;
	char folder[] = "/tmp/kymo-bench-XXXXXX", trace[64], command[96];

	if (!ranks || !ops || ops > OPS_MAX || !mkdtemp(folder))
		return 2;
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	make_domain(ops);
	for (uint32_t rank = 0; rank < ranks; rank++)
		write_rank(trace, rank, ops);
	printf("%" PRIu32 " ranks, tallies of %" PRIu32 " ops each\n", ranks, ops);
	fflush(stdout);
	measure(trace, "summary", BY_OP, ranks, ops);
	measure(trace, "summary --by rank", BY_RANK, ranks, ops);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0;
}
