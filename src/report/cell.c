/* SPDX-License-Identifier: Apache-2.0 */
/* Cells as text: four significant digits and a unit for people, base units for programs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "report/report.h"

/* "-1,234,567", and what is below 100,000 with six digits: "12.3457"; of what no whole number holds "1.5e+20". */
static const char *show_number(double v, char buffer[32])
{
	const double size = fabs(v);

	if (!(size >= 1e5 && size < 1e15)) {
		snprintf(buffer, 32, "%.6g", v);
		return buffer;
	}
	buffer[0] = '-';
	units_count((uint64_t)(size + 0.5), buffer + (v < 0));
	return buffer;
}

const char *cell_show(const struct cell *c, enum cell_unit unit, char buffer[32])
{
	if (c->none || c->quiet)
		return "";
	switch (unit) {
	case CELL_TEXT:
		return c->s;
	case CELL_COUNT:
		return units_count(c->u, buffer);
	case CELL_ID:
		snprintf(buffer, 32, "%" PRIu64, c->u);
		return buffer;
	case CELL_TIME:
		return units_time(c->u, buffer);
	case CELL_TIMESTAMP:
		snprintf(buffer, 32, "%.6f s", (double)c->u / 1e9);
		return buffer;
	case CELL_BYTES:
		return units_bytes((double)c->u, buffer);
	case CELL_BYTES_MEAN:
		return units_bytes(c->f, buffer);
	case CELL_RATE:
		return units_rate(c->f, buffer);
	case CELL_PERCENT:
		snprintf(buffer, 32, "%.1f", c->f);
		return buffer;
	default:
		return show_number(c->f, buffer);
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
		if (!isfinite(c->f)) /* no number that programs read */
			return "";
		snprintf(buffer, 32, "%.15g", c->f);
		return buffer;
	default:
		snprintf(buffer, 32, "%" PRIu64, c->u);
		return buffer;
	}
}
