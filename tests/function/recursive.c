/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that call themselves, directly and by way of another, so many times, and two that do not; one of them is called by all. */
#include <stdlib.h>

#define KEPT __attribute__((noinline, noclone))

KEPT unsigned long even(unsigned n);

static volatile unsigned long leaves; /* no compiler makes one call of two */

KEPT unsigned long leaf(unsigned n)
{
	unsigned long x = n;

	leaves++;
	for (unsigned i = 0; i < 500; i++)
		x = x * 2654435761u + i;
	return x;
}

/* n + 1 calls, of which n have others inside. */
KEPT unsigned long chain(unsigned n)
{
	unsigned long x = leaf(n);

	return n ? x + chain(n - 1) : x;
}

/* 2 ** (n + 1) - 1 calls, of which 2 ** n - 1 have others inside. */
KEPT unsigned long tree(unsigned n)
{
	unsigned long x = leaf(n);

	return n ? x + tree(n - 1) + tree(n - 1) : x;
}

/* Of even(2n) there are n + 1 calls of it and n of odd(): all but the innermost have others inside. */
KEPT unsigned long odd(unsigned n)
{
	return leaf(n) + even(n - 1);
}

KEPT unsigned long even(unsigned n)
{
	return n ? leaf(n) + odd(n - 1) : 1;
}

KEPT unsigned long plain(unsigned n)
{
	return leaf(n) + 1;
}

int main(void)
{
	unsigned long x = 0;

	for (unsigned i = 0; i < 3; i++)
		x += chain(9) + tree(4) + even(8) + plain(i);
	return x == 42 ? EXIT_FAILURE : EXIT_SUCCESS;
}
