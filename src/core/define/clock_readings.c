/* SPDX-License-Identifier: Apache-2.0 */
/* A clock's readings and the line through them; see clock_readings.h. */
#include "core/define/clock_readings.h"

#include <string.h>

#define APART_NS 10000000 /* closer readings say nothing of the rate */
#define DRIFT    1e-4     /* of a clock whose rate is not known: the bound that is told */
#define FAR_NS   9e18     /* no distance is longer: readings may be anything */

struct clock_reading clock_reading_between(uint64_t before, uint64_t value, uint64_t after)
{
	after = after > before ? after : before;
	return (struct clock_reading){value, before + (after - before) / 2,
				      (double)(after - before) / 2};
}

void clock_readings_add(struct clock_readings *c, const struct clock_reading *r)
{
	uint32_t at;

	if (c->count == CLOCK_READINGS_MAX) {
		if (r->value <= c->readings[0].value)
			return;
		c->count--;
		memmove(c->readings, c->readings + 1, c->count * sizeof(*r));
	}
	for (at = c->count; at && c->readings[at - 1].value > r->value; at--)
		c->readings[at] = c->readings[at - 1];
	c->readings[at] = *r;
	c->count++;
}

static double distance(uint64_t a, uint64_t b)
{
	return (double)(int64_t)(a - b);
}

static double widest(double a, double b)
{
	return a > b ? a : b;
}

static double within(double distance, double most)
{
	if (distance > most)
		return most;
	return distance < -most ? -most : distance;
}

/* Between two readings the clock is on the line between them, as far as each is right. */
static bool between(const struct clock_readings *c, uint64_t value, double *host, double *error)
{
	for (uint32_t i = 1; i < c->count; i++) {
		const struct clock_reading *a = &c->readings[i - 1], *b = &c->readings[i];
		double length = distance(b->value, a->value);

		if (value < a->value || value > b->value)
			continue;
		*host = length > 0 ? distance(value, a->value) * distance(b->host, a->host) / length
				   : 0;
		*host += distance(a->host, c->readings[0].host);
		*error = widest(a->half_width, b->half_width);
		return true;
	}
	return false;
}

/* Before the first or behind the last: by the rate between them if they are far enough apart. */
static void beyond(const struct clock_readings *c, uint64_t value, double *host, double *error)
{
	const struct clock_reading *a = &c->readings[0], *b = &c->readings[c->count - 1];
	const struct clock_reading *near = value < a->value ? a : b;
	double length = distance(b->value, a->value), away = distance(value, near->value);
	double rate = 1, doubt = DRIFT;

	if (length >= APART_NS) {
		rate = distance(b->host, a->host) / length;
		doubt = (a->half_width + b->half_width) / length;
	}
	*host = distance(near->host, a->host) + away * rate;
	*error = near->half_width + (away < 0 ? -away : away) * doubt;
}

bool clock_readings_host(const struct clock_readings *c, uint64_t value, uint64_t *host,
			 double *error)
{
	double since_first, off;

	if (!c->count)
		return false;
	if (!between(c, value, &since_first, &off))
		beyond(c, value, &since_first, &off);
	*host = c->readings[0].host + (uint64_t)(int64_t)within(since_first, FAR_NS);
	if (error)
		*error = within(off, FAR_NS);
	return true;
}
