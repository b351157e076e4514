/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of an ordinary function, which knows nothing of Kymo: bursts of 2,000 with pauses, in which the drain keeps up. Prints the median
 * and the least of the bursts, ns a call.
 */
#include <stdlib.h>

#include "measure.h"

enum { BURSTS = 300, CALLS = 2000, PAUSE_NS = 300000 };

unsigned long bench_leaf(unsigned long x);

__attribute__((noinline, noclone)) unsigned long bench_leaf(unsigned long x)
{
	__asm__ volatile("" ::: "memory");
	return x * 3 + 1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double burst(unsigned long *sum)
{
	double start = cpu();

	for (int i = 0; i < CALLS; i++)
		*sum = bench_leaf(*sum);
	return (cpu() - start) / CALLS;
}

int main(void)
{
	static double ns[BURSTS];
	const struct timespec pause = {0, PAUSE_NS};
	unsigned long sum = 1;

	for (int i = 0; i < BURSTS; i++) {
		ns[i] = burst(&sum);
		nanosleep(&pause, NULL);
	}
	qsort(ns, BURSTS, sizeof(*ns), by_value);
	printf("median=%.2f least=%.2f sum=%lu\n", ns[BURSTS / 2], ns[0], sum % 10);
	return 0;
}
