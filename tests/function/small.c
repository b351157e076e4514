/* SPDX-License-Identifier: Apache-2.0 */
/* A function that does next to nothing, so that most of its time is Kymo's. */
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

static volatile long sum;

/* What the linker adds lies before it. */
KEPT void first(void)
{
	sum = 1;
}

KEPT void small(long n)
{
	sum += n * n + 3;
}

KEPT void calls(void)
{
	for (int i = 0; i < 10000; i++)
		small(i);
	__asm__ volatile("");
}

int main(void)
{
	struct timespec t;

	first();
	do {
		calls();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < 300);
	return 0;
}
