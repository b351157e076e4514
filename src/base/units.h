/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with their units, for people: four significant digits. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

#define UNITS_TEXT 32 /* room that each needs; they return `buffer` */

/* "1,234,567" */
const char *units_count(uint64_t v, char buffer[UNITS_TEXT]);

/* The same as an argument of one call, in a buffer of the block that it is in. */
#define UNITS_COUNT(v) units_count((v), (char[UNITS_TEXT]){""})

/* "1.234 ms"; seconds up to 1000, then what people count in: "16.67 min", "2.500 h", "190.4 d". */
const char *units_time(uint64_t ns, char buffer[UNITS_TEXT]);

/* How long a run is: "15.710 s" up to 1000 s, then as units_time(). */
const char *units_span(uint64_t ns, char buffer[UNITS_TEXT]);

/* From now on all times are in this unit, to the nanosecond, so that columns can be compared and added up: "1234.567 us". */
enum units_time_unit {
	UNITS_TIME_FITTING,
	UNITS_TIME_NS,
	UNITS_TIME_US,
	UNITS_TIME_MS,
	UNITS_TIME_S
};
void units_time_in(enum units_time_unit unit);

/* From now on all sizes are in this unit: "1.500000 MiB". */
enum units_size_unit {
	UNITS_SIZE_FITTING,
	UNITS_SIZE_B,
	UNITS_SIZE_KB,
	UNITS_SIZE_MB,
	UNITS_SIZE_GB,
	UNITS_SIZE_TB,
	UNITS_SIZE_KIB,
	UNITS_SIZE_MIB,
	UNITS_SIZE_GIB,
	UNITS_SIZE_TIB
};
void units_size_in(enum units_size_unit unit);

/* "1.500 MiB", and by powers of 1000 a second: "12.30 GB/s" */
const char *units_bytes(double bytes, char buffer[UNITS_TEXT]);
const char *units_rate(double bytes, char buffer[UNITS_TEXT]);

/* What a noun ends with of which there are `n`. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
