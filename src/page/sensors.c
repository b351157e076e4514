/* SPDX-License-Identifier: Apache-2.0 */
/* See sensors.h. */
#include "page/sensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "stream/trace.h"

/* What is read of each call, thread, kernel: " of each call"; "": over time. */
static const char *each_of(const struct page_curve *c)
{
	const char *each = c->name ? strstr(c->name + c->base, " of each ") : NULL;

	return each ? each : "";
}

static bool alike(const struct page_data *d, const struct page_curve *a, const struct page_curve *b)
{
	return strcmp(d->t->counters[a->counter].name, d->t->counters[b->counter].name) == 0 &&
	       strcmp(a->unit, b->unit) == 0 && strcmp(each_of(a), each_of(b)) == 0;
}

static bool put_curve(struct sensors *s, const struct page_data *d, uint32_t curve)
{
	const struct page_curve *c = &d->curves[curve];
	uint32_t i = 0;

	while (i < s->count && !alike(d, &d->curves[s->list[i].curves[0]], c))
		i++;
	if (i == s->count) {
		if (!vec_reserve(&s->list, &s->room, s->count, 1))
			return false;
		s->list[s->count++] = (struct sensor){
			.unit = c->unit, .single = c->level || *each_of(c), .counted = !c->level};
	}
	if (!vec_reserve(&s->list[i].curves, &s->list[i].room, s->list[i].count, 1))
		return false;
	s->list[i].curves[s->list[i].count++] = curve;
	return true;
}

bool sensors_find(struct sensors *s, const struct page_data *d, enum page_curve_kind kind)
{
	bool ok = true;

	*s = (struct sensors){0};
	for (uint32_t i = 0; ok && i < d->curve_count; i++) {
		const struct page_curve *c = &d->curves[i];

		if (c->kind == kind && c->readings && c->name && c->unit &&
		    (c->min != 0 || c->max != 0))
			ok = put_curve(s, d, i);
	}
	return ok;
}

void sensors_release(struct sensors *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->list[i].curves);
	free(s->list);
	*s = (struct sensors){0};
}

void sensor_name(struct text *out, const struct page_data *d, const struct sensor *s)
{
	const struct page_curve *c = &d->curves[s->curves[0]];

	text_addf(out, "%.*s%s", (int)c->base, c->name, each_of(c));
}

static uint32_t root_of(const struct page_data *d, uint32_t track)
{
	while (d->tracks[track].parent != UINT32_MAX)
		track = d->tracks[track].parent;
	return track;
}

static bool of_several(const struct page_data *d, const struct sensor *s)
{
	for (uint32_t i = 1; i < s->count; i++)
		if (root_of(d, d->curves[s->curves[i]].track) !=
		    root_of(d, d->curves[s->curves[0]].track))
			return true;
	return false;
}

/* Of telemetry its host stands for its process. */
static void put_root(struct text *out, const struct page_data *d, uint32_t root)
{
	const struct t_process *p = &d->t->processes[d->tracks[root].process];

	text_add(out, p->telemetry ? p->hostname : d->tracks[root].label);
}

void sensor_of(struct text *out, const struct page_data *d, const struct sensor *s, uint32_t curve)
{
	const struct page_curve *c = &d->curves[curve];
	const uint32_t root = root_of(d, c->track);

	if (c->track == root || of_several(d, s))
		put_root(out, d, root);
	if (c->track != root)
		text_addf(out, "%s%s", out->length ? " \xe2\x80\xba " : "",
			  d->tracks[c->track].label);
	text_addf(out, "%.*s", (int)(strlen(c->name + c->base) - strlen(each_of(c))),
		  c->name + c->base);
}

void sensor_value(struct text *out, double v, const char *unit, bool whole)
{
	char number[UNITS_TEXT];
	size_t n = strlen(unit);

	if (whole && n >= 2 && strcmp(unit + n - 2, "/s") == 0)
		n -= 2;
	if (n == 2 && strncmp(unit, "ns", 2) == 0 && v >= 0)
		text_add(out, units_time((uint64_t)v, number));
	else if (n >= 5 && strncmp(unit, "bytes", 5) == 0 && v >= 0)
		text_addf(out, "%s%s", units_bytes(v, number), n > 5 ? "/s" : "");
	else if (fabs(v) >= 1e7 || v == floor(v))
		text_addf(out, "%.10g%s%.*s", v, n && *unit != '/' ? " " : "", (int)n, unit);
	else
		text_addf(out, "%.4g%s%.*s", v, n && *unit != '/' ? " " : "", (int)n, unit);
}

void sensor_told(struct text *out, const struct page_data *d, const struct sensor *s,
		 uint32_t curve)
{
	const struct page_curve *c = &d->curves[curve];

	if (s->single) {
		text_add(out, "min ");
		sensor_value(out, c->min, s->unit, false);
		text_add(out, ", mean ");
		sensor_value(out, c->sum / (double)c->readings, s->unit, false);
		text_add(out, ", max ");
		sensor_value(out, c->max, s->unit, false);
	}
	if (s->counted) {
		text_add(out, s->single ? ", total " : "total ");
		sensor_value(out, c->sum, s->unit, true);
	}
}

/* What holds, from the column behind the last one up to this one. */
static unsigned hold(struct sensor_column *out, unsigned from, unsigned to, double held)
{
	for (; from < to; from++)
		out[from] = (struct sensor_column){held, held, held};
	return from;
}

static void take_point(struct sensor_column *c, double value)
{
	c->low = fmin(c->low, value);
	c->high = fmax(c->high, value);
	c->last = value;
}

bool sensor_columns(const struct page *p, uint32_t curve, struct sensor_column *out,
		    unsigned columns)
{
	const struct page_data *d = &p->data;
	const struct page_chain *c = d->curves[curve].points;
	const struct timeline *tl = p->read.timeline;
	const double start = tl ? (double)(tl->start - d->origin) : 0;
	const uint64_t length = tl ? timeline_length(tl) : d->length;
	const double wide = (double)(length ? length : 1) / columns;
	struct page_point *points = malloc(PAGE_BLOCK_MOST * sizeof(*points));
	double held = NAN;
	unsigned filled = 0; /* columns */
	bool ok = points;

	for (uint32_t b = 0; ok && b < c->block_count; b++) {
		ok = page_chain_read(&d->store, c, b, points) == KYMO_OK;
		for (uint32_t i = 0; ok && i < c->blocks[b].count; i++) {
			const double x = floor(((double)points[i].time - start) / wide);

			if (x > columns)
				break; /* behind what is shown */
			if (x >= 0) {
				const unsigned at = (unsigned)fmin(columns - 1, x);

				filled = hold(out, filled, at + 1, held);
				take_point(&out[at], points[i].value);
			}
			held = points[i].value;
		}
	}
	hold(out, filled, columns, held);
	free(points);
	return ok;
}

void sensor_course(struct text *out, const struct page_curve *c, const struct sensor_column *at,
		   unsigned columns)
{
	static const char *const heights[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
					      "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
					      "\xe2\x96\x87", "\xe2\x96\x88"};
	enum { HEIGHTS = sizeof(heights) / sizeof(*heights) };
	const double least = fmin(0, c->min), span = c->max - least;

	for (unsigned i = 0; i < columns; i++) {
		double share = span > 0 ? (at[i].high - least) / span : 0;

		if (isnan(at[i].high))
			text_add(out, ".");
		else
			text_add(out, heights[(unsigned)fmin(HEIGHTS - 1, share * HEIGHTS)]);
	}
}
