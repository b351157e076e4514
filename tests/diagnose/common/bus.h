/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bus between host and device: PoCL copies with memcpy(), which this program gives it. A large
 * copy takes 4 ms for each MiB, whoever else uses the memory of this machine. To be included by one
 * source of a program.
 */
#ifndef DIAGNOSE_BUS_H
#define DIAGNOSE_BUS_H

#include "work.h"

#define BUS_US_PER_MIB 4000.0

enum { BUS_LARGE = 1 << 17 };

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	double until = size >= BUS_LARGE ? now_us() + BUS_US_PER_MIB * (double)size / (1 << 20) : 0;
	void *rest = to;
	size_t n = size;

	__asm__ volatile("rep movsb" : "+D"(rest), "+S"(from), "+c"(n) : : "memory");
	if (until > now_us())
		rest_us(until - now_us());
	return to;
}

#endif
