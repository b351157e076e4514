/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that is spent in functions which the compiler has inlined, two deep: in this program and in a library in C++. Its
 * argument: seconds of processor time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t library_spend(uint64_t x, unsigned n);

static inline __attribute__((always_inline)) uint64_t inmost(uint64_t x)
{
	for (unsigned i = 0; i < 40; i++)
		__asm__ volatile("imul %1, %0\n add %2, %0"
				 : "+r"(x)
				 : "r"(x | 1), "r"((uint64_t)i));
	return x;
}

static inline __attribute__((always_inline)) uint64_t between(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		x ^= inmost(x + i);
	return x;
}

__attribute__((noinline)) uint64_t program_spend(uint64_t x, unsigned n);
__attribute__((noinline)) uint64_t program_spend(uint64_t x, unsigned n)
{
	x = between(x, n);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static double spent(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double most = argc > 1 ? strtod(argv[1], NULL) : 0.3;
	uint64_t x = 1;

	while (spent() < most) {
		x = program_spend(x, 2000);
		x = library_spend(x, 2000);
	}
	printf("%d\n", x == 0);
	return 0;
}
