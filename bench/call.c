/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one call costs: plain, not wanted, context stopped, counted, traced, or the floor. Prints
 * one line of names and values; run.py makes the comparisons.
 *
 *   call [-t threads] [-s seconds] [-n calls] [-w work] [-c bytes] [-r drain|discard|nobody] [-b
 * bytes] MODE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "domain.h"
#include "loop.h"

struct options {
	struct loop loop;
	struct bench_recording recording;
	const char *mode;
};

static bench_fn function = bench_plain;
static uint64_t work_ticks; /* what the program does of its own between two calls */

static void work(uint64_t rounds, void *data)
{
	void *handle = data;
	double value = 0;

	for (uint64_t i = 0; i < rounds; i++)
		function(handle, (uint32_t)(i & 7), sizeof(value), &value);
}

/* A program that computes and calls at a steady rate; the work does not shrink when it is late. */
static void busy_work(uint64_t rounds, void *data)
{
	uint64_t x = 1;

	for (uint64_t i = 0; i < rounds; i++) {
		for (uint64_t n = 0; n < work_ticks; n++)
			__asm__ volatile("imul $3, %0, %0" : "+r"(x));
		function(data, (uint32_t)(i & 7), 8, &x);
	}
}

static size_t cold_bytes; /* what the program touches of its own between two calls */
static volatile uint8_t *cold_memory;

/* A program that uses its caches itself: what Kymo needs is not in them any more. */
static void cold_work(uint64_t rounds, void *data)
{
	double value = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		for (size_t n = 0; n < cold_bytes; n += 64)
			(void)cold_memory[n];
		function(data, (uint32_t)(i & 7), sizeof(value), &value);
	}
}

/* ---- the floor ---- */

struct fused {
	uint64_t start, end, handle, size, value;
};
_Static_assert(sizeof(struct fused) == 40, "a record of 40 bytes");

#define FLOOR_RECORDS 1024u

static _Thread_local struct {
	uint32_t next;
	struct fused ring[FLOOR_RECORDS];
} floor_ring;

static int floor_call(void *handle, uint32_t index, size_t size, const void *value)
{
	uint64_t start = tick_now(), end;
	struct fused *f;
	int result = bench_plain(handle, index, size, value);

	end = tick_now();
	f = &floor_ring.ring[floor_ring.next++ % FLOOR_RECORDS];
	*f = (struct fused){start, end, (uint64_t)(uintptr_t)handle, size | (uint64_t)index << 32,
			    (uint64_t)(uintptr_t)value};
	__asm__ volatile("" ::: "memory");
	return result;
}

/* What a profiler cannot do without: a call by a pointer, and the time before and after it. */
static bench_fn volatile pointer = bench_plain;

static int clocked_call(void *handle, uint32_t index, size_t size, const void *value)
{
	volatile uint64_t start = clock_ns(CLOCK_MONOTONIC), end;
	int result = pointer(handle, index, size, value);

	end = clock_ns(CLOCK_MONOTONIC);
	(void)start;
	(void)end;
	return result;
}

static int ticked_call(void *handle, uint32_t index, size_t size, const void *value)
{
	volatile uint64_t start = tick_now(), end;
	int result = pointer(handle, index, size, value);

	end = tick_now();
	(void)start;
	(void)end;
	return result;
}

/* ---- main ---- */

static void usage(void)
{
	fputs("usage: call [-t threads] [-s seconds] [-n calls] [-w work] [-r "
	      "drain|discard|nobody] "
	      "[-b bytes] plain|floor|clocked|ticked|unwanted|stopped|summary|traced|activity|"
	      "tools1 to tools8|exits|reads|external\n",
	      stderr);
	exit(2);
}

static void parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:s:n:w:c:r:b:")) != -1) {
		switch (c) {
		case 't':
			o->loop.threads = (unsigned)atoi(optarg);
			break;
		case 's':
			o->loop.seconds = atof(optarg);
			break;
		case 'n':
			o->loop.rounds = strtoull(optarg, NULL, 10);
			break;
		case 'w':
			work_ticks = strtoull(optarg, NULL, 10);
			break;
		case 'c':
			cold_bytes = strtoull(optarg, NULL, 10);
			break;
		case 'b':
			o->recording.bytes = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			o->recording.reader = strcmp(optarg, "drain") == 0    ? BENCH_DRAIN
					      : strcmp(optarg, "nobody") == 0 ? BENCH_NOBODY
									      : BENCH_DISCARD;
			break;
		default:
			usage();
		}
	}
	if (optind + 1 != argc || o->loop.threads == 0)
		usage();
	o->mode = argv[optind];
}

static bool prepare(struct options *o)
{
	const char *m = o->mode;

	tick_init();
	o->loop.work = cold_bytes ? cold_work : work_ticks ? busy_work : work;
	if (cold_bytes)
		cold_memory = calloc(1, cold_bytes);
	if (strcmp(m, "plain") == 0)
		return true;
	function = strcmp(m, "floor") == 0 ? floor_call : bench_traced();
	if (strcmp(m, "floor") == 0 || strcmp(m, "unwanted") == 0)
		return true;
	if (strcmp(m, "clocked") == 0 || strcmp(m, "ticked") == 0) {
		function = m[0] == 'c' ? clocked_call : ticked_call;
		return true;
	}
	if (strncmp(m, "tools", 5) == 0)
		return bench_tools((unsigned)atoi(m + 5), false, false);
	if (strcmp(m, "reads") == 0)
		return bench_tools(1, true, false);
	if (strcmp(m, "exits") == 0)
		return bench_tools(1, false, true);
	if (strcmp(m, "external") == 0) {
		function = bench_external;
		return bench_tools(1, false, false);
	}
	if (strcmp(m, "activity") == 0) {
		function = bench_activity;
		return bench_record(&o->recording);
	}
	o->recording.stopped = strcmp(m, "stopped") == 0;
	o->recording.tally = strcmp(m, "summary") == 0;
	if (!o->recording.stopped && !o->recording.tally && strcmp(m, "traced") != 0)
		usage();
	return bench_record(&o->recording);
}

int main(int argc, char **argv)
{
	struct options o = {.loop = {.threads = 1, .batch = 10000, .seconds = 1},
			    .recording = {.reader = BENCH_DISCARD, .bytes = 32u << 20}};
	struct loop_result r;

	parse(&o, argc, argv);
	o.loop.data = malloc(64); /* a handle as runtimes give them: on the heap */
	if (o.loop.rounds && o.loop.rounds < o.loop.batch)
		o.loop.batch = o.loop.rounds;
	if (!prepare(&o)) {
		fputs("call: recording did not start\n", stderr);
		return 3;
	}
	loop_run(&o.loop, &r);
	printf("calls=%llu seconds=%.3f ns=%.3f cpu_ns=%.3f lost=%llu\n",
	       (unsigned long long)r.rounds, r.seconds, r.ns, r.cpu_ns,
	       (unsigned long long)(function == bench_plain || function == floor_call
					    ? 0
					    : bench_lost()));
	return 0;
}
