/* SPDX-License-Identifier: Apache-2.0 */
/* Which allocations are sampled: gaps with an exponential distribution, and what a sample stands for. Without libm. */
#include "capture/heap/heap.h"

#include <string.h>

/* xorshift64*: the upper bits are good. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* -ln(x) of 0 < x <= 1: by its exponent, and the series of artanh for a mantissa from 0.7 to 1.4. */
static double minus_log(double x)
{
	const double ln2 = 0.693147180559945309;
	uint64_t bits;
	double z, square, sum = 0;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((1ull << 52) - 1)) | 1023ull << 52;
	memcpy(&x, &bits, sizeof(x));
	if (x > 1.4142135623730951) {
		x /= 2;
		exponent++;
	}
	z = (x - 1) / (x + 1);
	square = z * z;
	for (int n = 13; n > 0; n -= 2)
		sum = sum * square + 1.0 / n;
	return -(2 * z * sum + exponent * ln2);
}

int64_t heap_gap(uint64_t *random, uint64_t interval)
{
	/* In (0, 1], by 53 bits. */
	const double u = ((double)(next_random(random) >> 11) + 1) / 9007199254740992.0;

	return interval <= 1 ? 1 : (int64_t)(minus_log(u) * (double)interval) + 1;
}

/* 1 - exp(-x): the series of a small part of x, doubled as 1 - (1 - p)^2. */
double heap_probability(uint64_t size, uint64_t interval)
{
	double x = (double)(size ? size : 1) / (double)interval, p = 0;
	int doubled = 0;

	if (interval <= 1 || x > 40)
		return 1;
	for (; x > 0.25; x /= 2)
		doubled++;
	for (int n = 12; n > 0; n--)
		p = x / n * (1 - p);
	for (; doubled > 0; doubled--)
		p *= 2 - p;
	return p;
}
