/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose stacks end in known ways, built without frame pointers: three threads spend processor time, "plain" a few calls below
 * its start, "deep" below more calls than a stack has entries, "big" below a function with more stack than is copied.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { CALLS = 600, BYTES = 200000, SPEND_MS = 300 };

static __attribute__((noinline, noclone)) void spend(void)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < SPEND_MS);
}

static __attribute__((noinline, noclone)) int plain(int n)
{
	spend();
	return n + 1;
}

static __attribute__((noinline, noclone)) int deep(int n)
{
	int sum = n;

	if (n)
		sum += deep(n - 1);
	else
		spend();
	__asm__ volatile("" : "+r"(sum)); /* no loop is made of it */
	return sum;
}

static __attribute__((noinline, noclone)) int big(int n)
{
	volatile char room[BYTES];

	memset((char *)room, n, sizeof(room));
	spend();
	return room[n];
}

static void *run_plain(void *data)
{
	prctl(PR_SET_NAME, "plain");
	return plain(1) ? data : NULL;
}

static void *run_deep(void *data)
{
	prctl(PR_SET_NAME, "deep");
	return deep(CALLS) ? data : NULL;
}

static void *run_big(void *data)
{
	prctl(PR_SET_NAME, "big");
	return big(1) ? data : NULL;
}

int main(void)
{
	void *(*const run[])(void *) = {run_plain, run_deep, run_big};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
