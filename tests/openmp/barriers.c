/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lines with regions of two threads: at the end of one() the first thread waits for 20 ms, ten times; at
 * the barrier in the middle of two() the second waits for 10 ms, five times.
 */
#include <omp.h>
#include <time.h>

/* What follows a region keeps its line in its function. */
static volatile int done;

static void rest(long ms)
{
	struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

static __attribute__((noinline)) void one(void)
{
#pragma omp parallel num_threads(2)
	rest(omp_get_thread_num() ? 22 : 2);
	done++;
}

static __attribute__((noinline)) void two(void)
{
#pragma omp parallel num_threads(2)
	{
		rest(omp_get_thread_num() ? 1 : 11);
#pragma omp barrier
		rest(1);
	}
	done++;
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		one();
	for (int i = 0; i < 5; i++)
		two();
	return 0;
}
