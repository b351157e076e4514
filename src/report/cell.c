/* SPDX-License-Identifier: Apache-2.0 */
/* Cells as text: four significant digits and a unit for people, base units for programs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/report.h"

/* "1.234 ms": the largest unit that leaves a number of at least 1. */
static const char *print_scaled(double v, double step, const char *const *units, unsigned count,
				char buffer[32])
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
	snprintf(buffer, 32, "%.*f %s", decimals, v, units[u]);
	return buffer;
}

/* Seconds up to 1000, then what people count in: "16.67 min", "2.500 h", "190.4 d". */
static const char *show_time(uint64_t ns, char buffer[32])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	static const struct {
		uint64_t below_s, step_s;
		const char *unit;
	} long_ones[] = {{6000, 60, "min"}, {48 * 3600, 3600, "h"}, {UINT64_MAX, 86400, "d"}};
	unsigned i = 0;

	if (ns < 1000000000000u)
		return print_scaled((double)ns, 1000, units, 4, buffer);
	while (ns / 1000000000u >= long_ones[i].below_s)
		i++;
	return print_scaled((double)ns / 1e9 / (double)long_ones[i].step_s, INFINITY,
			    &long_ones[i].unit, 1, buffer);
}

const char *cell_show(const struct cell *c, enum cell_unit unit, char buffer[32])
{
	static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	static const char *const rates[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};

	if (c->none || c->quiet)
		return "";
	switch (unit) {
	case CELL_TEXT:
		return c->s;
	case CELL_COUNT:
		return count_text(c->u, buffer);
	case CELL_TIME:
		return show_time(c->u, buffer);
	case CELL_TIMESTAMP:
		snprintf(buffer, 32, "%.6f s", (double)c->u / 1e9);
		return buffer;
	case CELL_BYTES:
		return print_scaled((double)c->u, 1024, bytes, 5, buffer);
	case CELL_BYTES_MEAN:
		return print_scaled(c->f, 1024, bytes, 5, buffer);
	case CELL_RATE:
		return print_scaled(c->f, 1000, rates, 6, buffer);
	case CELL_PERCENT:
		snprintf(buffer, 32, "%.1f", c->f);
		return buffer;
	default:
		snprintf(buffer, 32, "%.6g", c->f);
		return buffer;
	}
}

const char *cell_raw(const struct cell *c, enum cell_unit unit, char buffer[32])
{
	if (c->none)
		return "";
	switch (unit) {
	case CELL_TEXT:
		return c->s;
	case CELL_RATE:
	case CELL_PERCENT:
	case CELL_NUMBER:
	case CELL_BYTES_MEAN:
		snprintf(buffer, 32, "%.15g", c->f);
		return buffer;
	default:
		snprintf(buffer, 32, "%" PRIu64, c->u);
		return buffer;
	}
}
