/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of the corpus share: work that takes a known time on any machine, however busy
 * it is, so that what a planted mistake costs is known by construction. `compute_us()` keeps a
 * processor busy, `rest_us()` stands for work that is not this processor's: a disk, an instrument, a
 * core that this machine does not have.
 */
#ifndef DIAGNOSE_WORK_H
#define DIAGNOSE_WORK_H

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static inline void rest_us(double us)
{
	struct timespec t = {(time_t)(us / 1e6), 0};

	t.tv_nsec = (long)(1e3 * (us - 1e6 * (double)t.tv_sec));
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Returns something that depends on the seed alone. */
static inline double compute_us(double us, double seed)
{
	double end = now_us() + us, x = seed;
	volatile double kept = 0;

	while (now_us() < end) {
		for (int i = 0; i < 200; i++)
			x = 0.5 * x + sqrt(1.0 + x * x) * 0.1;
		kept = x;
	}
	(void)kept;
	return seed * 0.5;
}

/* A number for all bytes: twins must agree on it. */
static inline uint32_t fingerprint(uint32_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static inline void *memory(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(EXIT_FAILURE);
	}
	return p;
}

#endif
