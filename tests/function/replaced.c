/* SPDX-License-Identifier: Apache-2.0 */
/* A function that two places call by turns, each for something else to be done in it. */
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

#define SPEND(name)                                                                                \
	KEPT void name(void)                                                                       \
	{                                                                                          \
		struct timespec t;                                                                 \
		long until = 0, now;                                                               \
                                                                                                   \
		do {                                                                               \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);                                \
			now = t.tv_sec * 1000000 + t.tv_nsec / 1000;                               \
			until = until ? until : now + 4000;                                        \
		} while (now < until);                                                             \
	}

SPEND(spend_one)
SPEND(spend_two)

KEPT void work(void (*spend)(void))
{
	spend();
	__asm__ volatile("");
}

KEPT void one(void)
{
	work(spend_one);
	__asm__ volatile("");
}

KEPT void two(void)
{
	work(spend_two);
	__asm__ volatile("");
}

int main(void)
{
	for (int i = 0; i < 75; i++) {
		one();
		two();
	}
	return 0;
}
