/* SPDX-License-Identifier: Apache-2.0 */
/* What benchmarks of writers and readers of formats share. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Processor time of the process, ns. */
static inline double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void need(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

#endif
