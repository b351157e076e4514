/* SPDX-License-Identifier: Apache-2.0 */
/* Spends 0.8 s of processor time in one function and 0.2 s in another, in turns. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#define WORK(name)                                                                                 \
	uint64_t name(unsigned n);                                                                 \
	__attribute__((noinline)) uint64_t name(unsigned n)                                        \
	{                                                                                          \
		uint64_t x = n;                                                                    \
		for (unsigned i = 0; i < n; i++)                                                   \
			__asm__ volatile("" : "+r"(x));                                            \
		return x;                                                                          \
	}
WORK(hot_function)
WORK(warm_function)

static __attribute__((noinline)) void spend(uint64_t (*work)(unsigned), uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		work(1000000);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		spend(hot_function, 80000000);
		spend(warm_function, 20000000);
	}
	puts("done");
	return 0;
}
