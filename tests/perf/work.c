/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of one kind of work N times, and does nothing else: work N times recorded, recorded beside
 * calls that are counted (mode summary), or counted (mode summary, in a rank of a job). backends.py
 * runs it under callgrind with two values of N.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/domain.h"

int main(int argc, char **argv)
{
	struct bench_recording r = {.reader = BENCH_NOBODY, .bytes = 4u << 20};
	unsigned long n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	static char handle[64];
	bench_fn function;

	if (argc != 4) {
		fputs("usage: work default|summary|job "
		      "kernel|copy|wait|allocation|message|mark|range N\n",
		      stderr);
		return 2;
	}
	r.work = strcmp(argv[1], "job") == 0;
	r.tally = r.work || strcmp(argv[1], "summary") == 0;
	function = bench_record(&r) ? bench_work(argv[2]) : NULL;
	if (!function) {
		fputs("work: recording did not start\n", stderr);
		return 3;
	}
	for (unsigned long i = 0; i < n; i++)
		function(handle, (uint32_t)(i & 1), 0, NULL);
	if (bench_lost()) {
		fputs("work: records were lost\n", stderr);
		return 3;
	}
	return 0;
}
