/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of tools in the process against the recorder's shared one: what a record costs its thread
 * and what it costs in all, one producer against eight, and memory over a long run. The sides take
 * turns within one process. Prints one line of names and values for each; run.py compares.
 *
 *   buffer [-r drain|discard] [-s seconds of a turn] [-n turns] [-c calls of the long run]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "domain.h"
#include "loop.h"

enum { SHARED, PRIVATE, BATCH, SIDES, TURNS_MAX = 99, MANY = 8 };

static const char *const names[SIDES] = {"shared", "private", "batch"};
static int recordings[SIDES];
static bench_fn function;

struct turn {
	double ns, cpu_ns; /* of the thread, a record */
	double all_ns;     /* of the process, delivery included */
};

static void work(uint64_t rounds, void *data)
{
	double value = 0;

	for (uint64_t i = 0; i < rounds; i++)
		function(data, (uint32_t)(i & 7), sizeof(value), &value);
}

static double process_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "buffer: %s\n", what);
	exit(3);
}

/* Delivery of what the turn recorded is part of it. */
static struct turn take_turn(int side, unsigned threads, double seconds, uint64_t calls)
{
	struct loop l = {.work = work,
			 .data = malloc(64),
			 .threads = threads,
			 .batch = 10000,
			 .seconds = seconds,
			 .rounds = calls};
	double before = process_cpu();
	struct loop_result r;
	struct turn t;

	if (!bench_start(recordings[side]))
		fail("recording did not start");
	loop_run(&l, &r);
	if (!bench_stop(recordings[side]))
		fail("not everything was delivered");
	t = (struct turn){r.ns, r.cpu_ns, (process_cpu() - before) / (double)r.rounds};
	free(l.data);
	return t;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(const struct turn *t, unsigned n, size_t member)
{
	double v[TURNS_MAX];

	for (unsigned i = 0; i < n; i++)
		memcpy(&v[i], (const char *)&t[i] + member, sizeof(v[i]));
	qsort(v, n, sizeof(v[0]), by_value);
	return v[n / 2];
}

static void compare(unsigned threads, unsigned turns, double seconds)
{
	static struct turn all[SIDES][TURNS_MAX];

	for (unsigned i = 0; i < turns; i++)
		for (int side = 0; side < SIDES; side++)
			all[side][i] = take_turn(side, threads, seconds, 0);
	for (int side = 0; side < SIDES; side++)
		printf("%s_%u_ns=%.2f %s_%u_cpu=%.2f %s_%u_all=%.2f\n", names[side], threads,
		       median(all[side], turns, offsetof(struct turn, ns)), names[side], threads,
		       median(all[side], turns, offsetof(struct turn, cpu_ns)), names[side],
		       threads, median(all[side], turns, offsetof(struct turn, all_ns)));
}

static double resident_mib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*s %ld", &pages) != 1)
		fail("/proc/self/statm cannot be read");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* The first tenth fills what there is to fill. */
static void long_run(uint64_t calls)
{
	double early, late;

	take_turn(PRIVATE, 1, 0, calls / 10);
	early = resident_mib();
	take_turn(PRIVATE, 1, 0, calls - calls / 10);
	late = resident_mib();
	printf("long_calls=%llu long_early_mib=%.2f long_late_mib=%.2f\n",
	       (unsigned long long)calls, early, late);
}

int main(int argc, char **argv)
{
	struct bench_recording shared = {.reader = BENCH_DISCARD, .bytes = 32u << 20};
	struct bench_recording private = {.reader = BENCH_PRIVATE, .bytes = 32u << 20};
	struct bench_recording batch = {.reader = BENCH_BATCH, .bytes = 32u << 20};
	unsigned turns = 7;
	double seconds = 0.3;
	uint64_t calls = 50000000;
	int c;

	while ((c = getopt(argc, argv, "r:s:n:c:")) != -1) {
		if (c == 'r')
			shared.reader = strcmp(optarg, "drain") == 0 ? BENCH_DRAIN : BENCH_DISCARD;
		else if (c == 's')
			seconds = atof(optarg);
		else if (c == 'n')
			turns = (unsigned)atoi(optarg);
		else if (c == 'c')
			calls = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	if (turns == 0 || turns > TURNS_MAX)
		return 2;
	tick_init();
	function = bench_traced();
	recordings[SHARED] = bench_make(&shared);
	recordings[PRIVATE] = bench_make(&private);
	recordings[BATCH] = bench_make(&batch);
	if (recordings[SHARED] < 0 || recordings[PRIVATE] < 0 || recordings[BATCH] < 0)
		fail("recordings could not be made");
	compare(1, turns, seconds);
	compare(MANY, turns, seconds);
	if (calls)
		long_run(calls);
	printf("delivered=%llu\n", (unsigned long long)bench_delivered());
	return 0;
}
