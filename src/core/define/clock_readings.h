/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings of a clock that is not the host's: what it showed between two host times. The latest are
 * kept, sorted; with them a time of the clock is told on the host's scale, and how far off that may
 * be. No lock: who keeps readings guards them.
 */
#ifndef CORE_DEFINE_CLOCK_READINGS_H
#define CORE_DEFINE_CLOCK_READINGS_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_READINGS_MAX 64u

struct clock_reading {
	uint64_t value;    /* ns of the clock */
	uint64_t host;     /* middle of the bracket, ns */
	double half_width; /* of the bracket, ns */
};

/* All zero is none. */
struct clock_readings {
	uint32_t count; /* by value */
	struct clock_reading readings[CLOCK_READINGS_MAX];
};

/* The clock showed `value` at some time from `before` to `after`; an earlier `after` is `before`. */
struct clock_reading clock_reading_between(uint64_t before, uint64_t value, uint64_t after);

/* Of too many the one with the lowest value gives way. */
void clock_readings_add(struct clock_readings *c, const struct clock_reading *r);

/*
 * The host's time when the clock showed `value`; `error` (may be NULL) is how far that may be off,
 * ns. False: there is no reading.
 */
bool clock_readings_host(const struct clock_readings *c, uint64_t value, uint64_t *host,
			 double *error);

#endif
