/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lines with regions of two threads: at the end of one() the first thread waits for 20 ms, ten times; at
 * the barrier in the middle of two() the second waits for 10 ms, five times. That begins when the one that waits
 * is about to, however late a busy machine lets it come.
 */
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int arrived;

static void await_other(void)
{
	while (!atomic_load(&arrived))
		sched_yield();
}

static void rest(long ms)
{
	struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

static __attribute__((noinline)) void one(void)
{
	atomic_store(&arrived, 0);
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		atomic_store(&arrived, 1);
	} else {
		await_other();
		rest(20);
	}
	atomic_store(&arrived, 0); /* what follows a region keeps its line in its function */
}

static __attribute__((noinline)) void two(void)
{
	atomic_store(&arrived, 0);
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 1) {
			atomic_store(&arrived, 1);
		} else {
			await_other();
			rest(10);
		}
#pragma omp barrier
		rest(1);
	}
	atomic_store(&arrived, 0);
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		one();
	for (int i = 0; i < 5; i++)
		two();
	return 0;
}
