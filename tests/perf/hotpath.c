/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes N traced calls, unwanted or left out ones, or activities that are recorded or counted, and
 * nothing else. hotpath.py runs it under callgrind with two values of N: the difference is what one of
 * them executes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/domain.h"

static bench_fn choose(const char *what)
{
	struct bench_recording r = {.reader = BENCH_NOBODY, .bytes = 4u << 20};

	if (strcmp(what, "plain") == 0)
		return bench_plain;
	if (strcmp(what, "unwanted") == 0)
		return bench_traced();
	r.work = strcmp(what, "counted") == 0;
	r.tally = r.work || strcmp(what, "summary") == 0;
	r.left_out = strcmp(what, "left_out") == 0;
	if (!bench_record(&r))
		return NULL;
	if (strcmp(what, "range") == 0)
		return bench_range;
	return r.work || strcmp(what, "activity") == 0 ? bench_activity : bench_traced();
}

int main(int argc, char **argv)
{
	unsigned long calls = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	static char handle[64];
	double value = 0;
	bench_fn function;

	if (argc != 3) {
		fputs("usage: hotpath "
		      "plain|unwanted|left_out|summary|traced|activity|counted|range "
		      "CALLS\n",
		      stderr);
		return 2;
	}
	function = choose(argv[1]);
	if (!function) {
		fputs("hotpath: recording did not start\n", stderr);
		return 3;
	}
	for (unsigned long i = 0; i < calls; i++)
		function(handle, (uint32_t)(i & 7), sizeof(value), &value);
	if (strcmp(argv[1], "plain") != 0 && strcmp(argv[1], "unwanted") != 0 && bench_lost()) {
		fputs("hotpath: records were lost\n", stderr);
		return 3;
	}
	return 0;
}
