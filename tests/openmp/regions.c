/* SPDX-License-Identifier: Apache-2.0 */
/* Target regions that are told apart by their places; says at which lines they are, and how often. */
#include <stdio.h>

enum { N = 1000 };

static double b[N];

#define TOLD(name, times) printf("%s %d %d\n", name, __LINE__ + 1, times)

static __attribute__((noinline)) void one(int first)
{
	if (first)
		TOLD("one", 5);
#pragma omp target map(tofrom : b [0:N])
	for (int i = 0; i < N; i++)
		b[i] += 1;
}

static __attribute__((noinline)) void two(int first)
{
	if (first)
		TOLD("two", 3);
#pragma omp target teams distribute parallel for map(tofrom : b [0:N])
	for (int i = 0; i < N; i++)
		b[i] *= 2;
}

static __attribute__((noinline)) void three(int first)
{
	if (first)
		TOLD("three", 2);
#pragma omp target map(tofrom : b [0:N]) nowait
	for (int i = 0; i < N; i++)
		b[i] -= 1;
#pragma omp taskwait
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		one(i == 0);
	for (int i = 0; i < 3; i++)
		two(i == 0);
#pragma omp parallel num_threads(2)
#pragma omp single
	for (int i = 0; i < 2; i++)
		three(i == 0);
	printf("sum %g\n", b[0]);
	return 0;
}
