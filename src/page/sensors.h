/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry and counters over the run: which there are, as plots and tables show them. */
#ifndef PAGE_SENSORS_H
#define PAGE_SENSORS_H

#include "base/text.h"
#include "page/page.h"

enum { SENSORS_MOST = 96, SENSOR_LINES = 8, SENSOR_SPARKS = 40 };

/* A counter with what is measured of it: curves of one name and unit. */
struct sensor {
	const char *unit; /* borrowed */
	uint32_t *curves; /* of page_data */
	uint32_t count, room;
	bool single; /* its readings stand for themselves: least, mean and greatest tell something */
	bool counted;
};

struct sensors {
	struct sensor *list;
	uint32_t count, room;
};

/* Those of the kind that were not 0 throughout. False: no memory; to be released in any case. */
bool sensors_find(struct sensors *s, const struct page_data *d, enum page_curve_kind kind);
void sensors_release(struct sensors *s);

/* "power": what all its curves are called. */
void sensor_name(struct text *out, const struct page_data *d, const struct sensor *s);
/* What tells a curve from the others of the counter. */
void sensor_of(struct text *out, const struct page_data *d, const struct sensor *s, uint32_t curve);
/* "300.5 W", also of what is counted rather than its rate. */
void sensor_value(struct text *out, double v, const char *unit, bool whole);

/* "min 80 W, mean 300.5 W, max 700 W", "total 12 J": as the table of the summary has it. */
void sensor_told(struct text *out, const struct page_data *d, const struct sensor *s,
		 uint32_t curve);

/* Least, greatest and last value of each of `columns` of the time that plots and their axes are of; NAN: not known, or not measured. False: errno, or no memory. */
struct sensor_column {
	double low, high, last;
};
bool sensor_columns(const struct page *p, uint32_t curve, struct sensor_column *out,
		    unsigned columns);
/* A character for each: how high its greatest value is; ".": not measured. */
void sensor_course(struct text *out, const struct page_curve *c, const struct sensor_column *at,
		   unsigned columns);

#endif
