/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer: the same call traced by LTTng-UST, entry and exit, as THAPI traces calls. run.py makes
 * the session around it. Prints what bench_call prints.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_lttng_tp.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop.h"

static __attribute__((noinline)) int real(void *handle, uint32_t index, size_t size,
					  const void *value)
{
	__asm__ volatile("" ::"r"(handle), "r"(index), "r"(size), "r"(value) : "memory");
	return 0;
}

static __attribute__((noinline)) int wrapper(void *handle, uint32_t index, size_t size,
					     const void *value)
{
	int result;

	lttng_ust_tracepoint(kymo_bench, call_entry, handle, index, size, value);
	result = real(handle, index, size, value);
	lttng_ust_tracepoint(kymo_bench, call_exit, handle, result, size, value);
	return result;
}

static int (*volatile function)(void *, uint32_t, size_t, const void *) = wrapper;

static void work(uint64_t rounds, void *data)
{
	double value = 0;

	for (uint64_t i = 0; i < rounds; i++)
		function(data, (uint32_t)(i & 7), sizeof(value), &value);
}

int main(int argc, char **argv)
{
	struct loop l = {.work = work, .threads = 1, .batch = 10000, .seconds = 1};
	struct loop_result r;
	int c;

	while ((c = getopt(argc, argv, "t:s:n:p")) != -1) {
		switch (c) {
		case 't':
			l.threads = (unsigned)atoi(optarg);
			break;
		case 's':
			l.seconds = atof(optarg);
			break;
		case 'n':
			l.rounds = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			function = real;
			break;
		default:
			return 2;
		}
	}
	l.data = malloc(64);
	loop_run(&l, &r);
	printf("calls=%llu seconds=%.3f ns=%.3f cpu_ns=%.3f\n", (unsigned long long)r.rounds,
	       r.seconds, r.ns, r.cpu_ns);
	return 0;
}
