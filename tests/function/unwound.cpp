/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of known callers alone: recursion, and exceptions through functions of a library, in two threads, for a while of processor time.
 * Prints how often each was called. Built twice: with LIBRARY as the library.
 */
#include <pthread.h>
#include <stdexcept>
#include <stdio.h>
#include <string>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

extern thread_local unsigned long leaves, throwers, passers;
extern "C" unsigned long leaf(unsigned long x);
extern "C" unsigned long passer(int n);

#ifdef LIBRARY
thread_local unsigned long leaves, throwers, passers;

extern "C" KEPT unsigned long leaf(unsigned long x)
{
	leaves++;
	return x * 31 + 7;
}

extern "C" KEPT unsigned long thrower(int n)
{
	std::string gone(40, 'x');

	throwers++;
	if (n % 2)
		throw std::runtime_error(gone);
	return leaf(gone.size());
}

/* Has something to destroy when an exception passes. */
extern "C" KEPT unsigned long passer(int n)
{
	std::string kept(50, 'y');

	passers++;
	return thrower(n) + kept.size();
}
#else
static thread_local unsigned long fibs, catchers, workers;

extern "C" KEPT unsigned long fib(int n)
{
	fibs++;
	return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2);
}

extern "C" KEPT unsigned long catcher(int n)
{
	unsigned long caught = 0;

	catchers++;
	for (int i = 0; i < n; i++)
		try {
			caught += passer(i) == 0;
		} catch (const std::exception &) {
			caught++;
		}
	return caught;
}

extern "C" KEPT unsigned long worker(void)
{
	workers++;
	return fib(14) + catcher(3);
}

struct counts {
	unsigned long wrong, fib, catcher, worker, leaf, thrower, passer;
};

extern "C" KEPT void *beginner(void *data)
{
	struct counts *c = static_cast<struct counts *>(data);
	unsigned long first = worker();
	struct timespec t;

	do {
		c->wrong += worker() != first;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (!t.tv_sec && t.tv_nsec < 200000000);
	*c = {c->wrong, fibs, catchers, workers, leaves, throwers, passers};
	return nullptr;
}

int main()
{
	struct counts c[2] = {};
	pthread_t other;

	pthread_create(&other, nullptr, beginner, &c[1]);
	beginner(&c[0]);
	pthread_join(other, nullptr);
	printf("wrong %lu\nfib %lu\ncatcher %lu\nworker %lu\nleaf %lu\nthrower %lu\npasser %lu\nbeginner 2\n",
	       c[0].wrong + c[1].wrong, c[0].fib + c[1].fib, c[0].catcher + c[1].catcher,
	       c[0].worker + c[1].worker, c[0].leaf + c[1].leaf, c[0].thrower + c[1].thrower,
	       c[0].passer + c[1].passer);
	return c[0].wrong + c[1].wrong != 0;
}
#endif
