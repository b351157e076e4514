/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with their units; see units.h. */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static enum units_time_unit time_unit;
static enum units_size_unit size_unit;

void units_time_in(enum units_time_unit unit)
{
	time_unit = unit;
}

void units_size_in(enum units_size_unit unit)
{
	size_unit = unit;
}

/* "1.234 ms": the largest unit that leaves a number of at least 1. */
static const char *print_scaled(double v, double step, const char *const *units, unsigned count,
				char buffer[UNITS_TEXT])
{
	unsigned u = 0;
	int decimals;

	while (u + 1 < count && v >= step) {
		v /= step;
		u++;
	}
	decimals = v >= 999.5 ? 0 : v >= 99.95 ? 1 : v >= 9.995 ? 2 : 3;
	if (u == 0 && v == (double)(uint64_t)v)
		decimals = 0;
	snprintf(buffer, UNITS_TEXT, "%.*f %s", decimals, v, units[u]);
	return buffer;
}

const char *units_count(uint64_t v, char buffer[UNITS_TEXT])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v), at = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buffer[at++] = ',';
		buffer[at++] = digits[i];
	}
	buffer[at] = '\0';
	return buffer;
}

static const char *print_fixed(uint64_t ns, char buffer[UNITS_TEXT])
{
	static const struct {
		uint64_t ns;
		int decimals;
		const char *name;
	} units[] = {{0}, {1, 0, "ns"}, {1000, 3, "us"}, {1000000, 6, "ms"}, {1000000000, 9, "s"}};
	uint64_t one = units[time_unit].ns;

	if (one == 1)
		snprintf(buffer, UNITS_TEXT, "%" PRIu64 " ns", ns);
	else
		snprintf(buffer, UNITS_TEXT, "%" PRIu64 ".%0*" PRIu64 " %s", ns / one,
			 units[time_unit].decimals, ns % one, units[time_unit].name);
	return buffer;
}

const char *units_time(uint64_t ns, char buffer[UNITS_TEXT])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	static const struct {
		uint64_t below_s, step_s;
		const char *unit;
	} long_ones[] = {{6000, 60, "min"}, {48 * 3600, 3600, "h"}, {UINT64_MAX, 86400, "d"}};
	unsigned i = 0;

	if (time_unit != UNITS_TIME_FITTING)
		return print_fixed(ns, buffer);
	if (ns < 1000000000000u)
		return print_scaled((double)ns, 1000, units, 4, buffer);
	while (ns / 1000000000u >= long_ones[i].below_s)
		i++;
	return print_scaled((double)ns / 1e9 / (double)long_ones[i].step_s, INFINITY,
			    &long_ones[i].unit, 1, buffer);
}

const char *units_span(uint64_t ns, char buffer[UNITS_TEXT])
{
	if (time_unit != UNITS_TIME_FITTING || ns >= 1000000000000u)
		return units_time(ns, buffer);
	snprintf(buffer, UNITS_TEXT, "%.3f s", (double)ns / 1e9);
	return buffer;
}

/* Without the library of mathematics, which what is loaded into programs does not link. */
static bool is_whole(double x)
{
	return x < -9e15 || x > 9e15 || x == (double)(int64_t)x;
}

const char *units_bytes(double bytes, char buffer[UNITS_TEXT])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	static const struct {
		double bytes;
		const char *name;
	} fixed[] = {{0, NULL},           {1, "B"},
		     {1e3, "kB"},         {1e6, "MB"},
		     {1e9, "GB"},         {1e12, "TB"},
		     {1024, "KiB"},       {1048576, "MiB"},
		     {1073741824, "GiB"}, {1099511627776, "TiB"}};

	if (size_unit == UNITS_SIZE_B && is_whole(bytes))
		snprintf(buffer, UNITS_TEXT, "%.0f B", bytes);
	else if (size_unit != UNITS_SIZE_FITTING)
		snprintf(buffer, UNITS_TEXT, "%.*f %s", size_unit == UNITS_SIZE_B ? 3 : 6,
			 bytes / fixed[size_unit].bytes, fixed[size_unit].name);
	if (size_unit != UNITS_SIZE_FITTING)
		return buffer;
	return print_scaled(bytes, 1024, units, 5, buffer);
}

const char *units_rate(double bytes, char buffer[UNITS_TEXT])
{
	static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};

	return print_scaled(bytes, 1000, units, 6, buffer);
}
