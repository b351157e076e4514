/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that counts its own calls: recursion, two threads, longjmp out of nested calls, inlined functions, a function that ends with
 * another one, one that a signal's handler calls. Prints what it counted, one line a function, and a sum of what it computed. It knows nothing of Kymo.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define KEPT  __attribute__((noinline, noclone))

static _Atomic unsigned long fibs, leaves, jumpers, inlineds, tails, ends, handled, deeps, sums;

KEPT unsigned long fib(unsigned n)
{
	fibs++;
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

KEPT unsigned long leaf(unsigned long x)
{
	leaves++;
	return x * 2654435761u + 1;
}

static inline __attribute__((always_inline)) unsigned long inlined(unsigned long x)
{
	inlineds++;
	return leaf(x) ^ 5;
}

KEPT unsigned long sum(unsigned n)
{
	unsigned long s = 0;

	sums++;
	for (unsigned i = 0; i < n; i++)
		s += inlined(i);
	return s;
}

static _Thread_local jmp_buf back;

KEPT void jumper(unsigned n)
{
	jumpers++;
	leaf(n);
	if (!n)
		longjmp(back, 1);
	jumper(n - 1);
}

KEPT unsigned long deep(unsigned n)
{
	deeps++;
	return n ? deep(n - 1) + leaf(n) : 1;
}

KEPT unsigned long end(unsigned long x)
{
	ends++;
	return x + 1;
}

KEPT unsigned long tail(unsigned long x)
{
	tails++;
	return end(x * 3);
}

KEPT double mixed(double a, float b, long c, long d, long e, long f, long g, long h, long on_stack,
		  double i, double j, double k, double l, double m, double n, double also_there)
{
	return a + (double)b + (double)(c + d * e - f + g - h + on_stack) + i - j + k * l - m + n +
	       also_there;
}

KEPT void handler(int sig)
{
	handled++;
	leaf((unsigned long)sig);
}

PLAIN static void *work(void *arg)
{
	unsigned long *out = arg, s = 0;

	for (int i = 0; i < 20; i++) {
		if (!setjmp(back))
			jumper(9);
		s += sum(10) + fib(12) + tail(s);
	}
	s += deep(600);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	s += (unsigned long)mixed(1.5, 2.5f, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
	*out = s;
	return NULL;
}

PLAIN int main(void)
{
	pthread_t thread[2];
	unsigned long out[3];

	signal(SIGUSR1, handler);
	work(&out[2]);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, &out[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("fib %lu\nleaf %lu\njumper %lu\ninlined %lu\nsum %lu\ntail %lu\nend %lu\nhandler "
	       "%lu\ndeep %lu\nmixed 3\n",
	       fibs, leaves, jumpers, inlineds, sums, tails, ends, handled, deeps);
	printf("result %lx %lx %lx\n", out[0], out[1], out[2]);
	return 0;
}
