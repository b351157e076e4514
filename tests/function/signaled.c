/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is interrupted by a timer all the time, whose handler calls functions as well: in the middle of anything. Prints how often
 * each function was entered, one line each.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define PLAIN    __attribute__((no_instrument_function, noinline))
#define KEPT     __attribute__((noinline, noclone))
#define HANDLERS 1500

static volatile unsigned long leaves, nesters, handled;

/* One instruction: a handler may come anywhere. */
PLAIN static void count(volatile unsigned long *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

KEPT unsigned long leaf(unsigned long x)
{
	count(&leaves);
	return x * 2654435761u + 1;
}

KEPT unsigned long nester(unsigned n)
{
	count(&nesters);
	return n ? nester(n - 1) + leaf(n) : 1;
}

KEPT void handler(int sig)
{
	count(&handled);
	leaf((unsigned long)sig);
}

PLAIN int main(void)
{
	struct itimerval timer = {{0, 100}, {0, 100}};
	unsigned long sum = 0;

	nester(300); /* deeper than frames: all has been met once */
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (handled < HANDLERS)
		sum += nester(50) + nester(300);
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	fprintf(stderr, "sum %lx\n", sum);
	printf("leaf %lu\nnester %lu\nhandler %lu\n", leaves, nesters, handled);
	return 0;
}
