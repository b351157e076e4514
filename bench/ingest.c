/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary from raw, ingest into the store, its size and a query over it, on a synthetic trace:
 *
 *   ingest [CALLS [THREADS]]      5,000,000 calls of 8 threads unless told otherwise
 *
 * Everything is timed on one core (process CPU time), best of three where it is cheap. Peers and
 * marks: THAPI's tally reads 1.28 M events/s; the marks are 20 M calls/s, 1.2 M calls/s and 40 B.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analysis/summary.h"
#include "analysis/trace_store.h"
#include "support/synth.h"

static void log_message(struct stream_log *l, int severity, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static struct stream_log bench_log = {log_message};
static const struct format_options options = {.log = &bench_log};

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(kymo_status_t status, const char *what)
{
	if (status == KYMO_OK)
		return;
	fprintf(stderr, "%s failed: %d\n", what, status);
	exit(1);
}

static double time_summary(const char *trace, enum summary_source from)
{
	double best = 1e9, begin, took;
	struct summary s;

	for (int i = 0; i < 3; i++) {
		begin = cpu();
		need(summary_read(&s, trace, from, &options), "summary");
		took = cpu() - begin;
		best = took < best ? took : best;
		summary_release(&s);
	}
	return best;
}

static double time_sql(struct store *s, const char *sql)
{
	double begin = cpu();

	if (sqlite3_exec(store_database(s), sql, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(store_database(s)));
		exit(1);
	}
	return cpu() - begin;
}

static int64_t table_bytes(struct store *s, const char *table)
{
	sqlite3_stmt *q = NULL;
	char sql[128];
	int64_t n = 0;

	snprintf(sql, sizeof(sql), "SELECT sum(length(data)) FROM %s", table);
	if (sqlite3_prepare_v2(store_database(s), sql, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW)
		n = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return n;
}

static void print_store(const char *trace, double calls)
{
	char file[512];
	struct store *s = NULL;
	struct stat st;
	double begin = cpu(), took;
	int64_t args;

	need(trace_store_open(trace, true, &options, &s), "ingest");
	took = cpu() - begin;
	snprintf(file, sizeof(file), "%s/%s", trace, STORE_FILE);
	if (stat(file, &st) != 0)
		exit(1);
	args = table_bytes(s, "call_args");
	printf("ingest                 %8.2f M calls/s\n", calls / took / 1e6);
	printf("store                  %8.1f B/call, of these %.1f B arguments\n",
	       (double)st.st_size / calls, (double)args / calls);
	printf("GROUP BY op            %8.2f s\n",
	       time_sql(s,
			"SELECT op, count(*), sum(duration), max(duration) FROM call GROUP BY op"));
	printf("GROUP BY name, regions %8.2f s\n",
	       time_sql(s, "SELECT name, count(*), sum(duration) FROM regions GROUP BY name"));
	printf("all arguments as JSON  %8.2f s\n",
	       time_sql(s, "SELECT sum(length(kymo_args(id))) FROM call"));
	printf("top                    %8.4f s\n", time_sql(s, "SELECT * FROM top"));
	store_close(s);
}

int main(int argc, char **argv)
{
	uint32_t calls = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 5000000;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 8;
	char folder[] = "/tmp/kymo-bench-XXXXXX", trace[64], command[96];
	double took;

	if (!calls || !threads || threads > SYNTH_THREADS || !mkdtemp(folder))
		return 2;
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	synth_bulk(trace, threads, calls / threads, false);
	calls = calls / threads * threads;
	took = time_summary(trace, SUMMARY_RAW);
	printf("%" PRIu32 " calls of %" PRIu32 " threads\n", calls, threads);
	printf("summary from raw       %8.2f M calls/s (%.3f s)\n", calls / took / 1e6, took);
	print_store(trace, calls);
	took = time_summary(trace, SUMMARY_STORE);
	printf("summary from the store %8.4f s\n", took);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0;
}
