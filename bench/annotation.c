/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What foreign annotations cost: a range pushed and popped through NVTX and through ITT, by the
 * stand-ins of the tests, which call as the vendors' headers do. Prints the best of many rounds.
 */
#include <stdio.h>
#include <time.h>

#include "../tests/itt/stand_in.h"
#include "../tests/nvtx/stand_in.h"

enum { ROUNDS = 30, RANGES = 100000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void nvtx(void)
{
	nvtxRangePushA("step");
	nvtxRangePop();
}

static __itt_domain *domain;
static __itt_string_handle *name;

static void itt(void)
{
	__itt_task_begin(domain, __itt_null, __itt_null, name);
	__itt_task_end(domain);
}

static double best(void (*range)(void))
{
	double least = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		double begin = now(), each;

		for (int i = 0; i < RANGES; i++)
			range();
		each = (now() - begin) / RANGES;
		least = each < least ? each : least;
	}
	return least;
}

int main(void)
{
	domain = __itt_domain_create("bench");
	name = __itt_string_handle_create("step");
	printf("nvtx=%.2f\n", best(nvtx));
	printf("itt=%.2f\n", best(itt));
	return 0;
}
