/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plots of telemetry and counters: panels below each other, one a counter, with a line for each of its curves; as many
 * pictures as they take.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/plot.h"
#include "page/sensors.h"

extern const struct plot plot_telemetry, plot_counters;

enum {
	COLUMNS = 820,
	LEFT = 150,
	TOP = 150,
	BOTTOM = 810,
	LINE_HIGH = 24, /* of a legend beside it */
	PANEL_LEAST = 86,
	PANEL_GAP = 46 /* name above, space below */
};

static bool has_kind(const struct page *p, enum page_curve_kind kind)
{
	for (uint32_t i = 0; i < p->data.curve_count; i++)
		if (p->data.curves[i].kind == kind && p->data.curves[i].readings &&
		    (p->data.curves[i].min != 0 || p->data.curves[i].max != 0))
			return true;
	return false;
}

static uint32_t lines_of(const struct sensor *s)
{
	return s->count < SENSOR_LINES ? s->count : SENSOR_LINES;
}

/* With what is between them. */
static double high_of(const struct sensor *s)
{
	return fmax(PANEL_LEAST, LINE_HIGH * lines_of(s)) + PANEL_GAP;
}

/* Which sensors the picture has: from *first to the one that is returned; picture < 0: how many pictures there are. */
static uint32_t place(const struct sensors *s, int picture, uint32_t *first)
{
	const uint32_t count = s->count < SENSORS_MOST ? s->count : SENSORS_MOST;
	uint32_t from = 0, number = 0;

	while (from < count) {
		double y = TOP;
		uint32_t to = from;

		while (to < count &&
		       (to == from || y + high_of(&s->list[to]) <= BOTTOM + PANEL_GAP))
			y += high_of(&s->list[to++]);
		if (picture >= 0 && number == (uint32_t)picture) {
			*first = from;
			return to;
		}
		from = to;
		number++;
	}
	return number;
}

static unsigned pictures_of(const struct page *p, enum page_curve_kind kind)
{
	struct sensors s;
	unsigned n = sensors_find(&s, &p->data, kind) ? place(&s, -1, NULL) : 0;

	sensors_release(&s);
	return n ? n : 1;
}

/* ---- a panel ----------------------------------------------------------------------------------- */

struct panel {
	struct plot_box box;
	double least, most;
};

static double height_of(const struct panel *a, double v)
{
	return a->box.bottom - (v - a->least) / (a->most - a->least) * (a->box.bottom - a->box.top);
}

static void draw_marks(struct draw *d, const struct panel *a, const char *unit)
{
	const bool bytes = strncmp(unit, "bytes", 5) == 0;
	const double step = plot_step(a->most - a->least, 3, bytes ? PLOT_BYTES : PLOT_PERCENT);

	for (double v = ceil(a->least / step) * step; v <= a->most + step * 1e-9; v += step) {
		const double y = height_of(a, v), xy[] = {a->box.left, y, a->box.right, y};
		struct text text = {0};

		sensor_value(&text, fabs(v) < step * 1e-9 ? 0 : v, unit, false);
		draw_line(d, xy, 2, DRAW_RULE, 1, 0, NULL);
		draw_text(d, a->box.left - 10, y + 5, 15, DRAW_PLAIN, DRAW_RIGHT, DRAW_TEXT,
			  text.s ? text.s : "");
		text_release(&text);
	}
}

/* From a gap to the next one. */
static void draw_piece(struct draw *d, const struct panel *a, const struct sensor_column *at,
		       unsigned from, unsigned to, unsigned series, const char *told)
{
	double xy[2 * 3 * COLUMNS];
	size_t n = 0;

	for (unsigned x = from; x < to; x++) {
		const double v[] = {at[x].low, at[x].high,
				    isnan(at[x].last) ? at[x].high : at[x].last};

		for (unsigned k = at[x].low == at[x].high ? 2 : 0; k < 3; k++) {
			xy[2 * n] = a->box.left + x + 0.5;
			xy[2 * n++ + 1] = height_of(a, v[k]);
		}
	}
	if (n == 1) { /* a moment is seen as well */
		xy[2] = xy[0] + 1;
		xy[3] = xy[1];
		n = 2;
	}
	if (n)
		draw_line(d, xy, n, plot_series[series], 2, plot_dash(series), told);
}

static void draw_curve(struct draw *d, const struct panel *a, const struct sensor_column *at,
		       unsigned series, const char *told)
{
	unsigned from = 0;

	for (unsigned x = 0; x <= COLUMNS; x++) {
		const bool known = x < COLUMNS && !isnan(at[x].high);

		if (!known || (x > from && isnan(at[x - 1].last))) {
			draw_piece(d, a, at, from, x, series, told);
			from = known ? x : x + 1;
		}
	}
}

static bool draw_line_of(const struct page *p, struct draw *d, const struct panel *a,
			 const struct sensor *s, uint32_t curve, unsigned n)
{
	struct sensor_column *at = calloc(COLUMNS, sizeof(*at));
	const double y = a->box.top + LINE_HIGH * (n + 0.5), left = a->box.right + 24;
	const double sample[] = {left, y, left + 46, y};
	struct text told = {0};
	bool ok = at && sensor_columns(p, curve, at, COLUMNS);

	sensor_of(&told, &p->data, s, curve);
	text_add(&told, ": ");
	sensor_told(&told, &p->data, s, curve);
	if (ok) {
		draw_curve(d, a, at, n, told.s ? told.s : "");
		draw_line(d, sample, 2, plot_series[n], 3, plot_dash(n), NULL);
		draw_text_fitted(d, left + 54, y + 5, 15, PLOT_WIDTH - 30 - (left + 54), DRAW_LEFT,
				 DRAW_TEXT, told.s ? told.s : "");
	}
	ok = ok && !told.failed;
	text_release(&told);
	free(at);
	return ok;
}

static void name_panel(const struct page *p, struct draw *d, const struct panel *a,
		       const struct sensor *s)
{
	struct text name = {0};

	sensor_name(&name, &p->data, s);
	if (*s->unit)
		text_addf(&name, ", %s", s->unit);
	if (s->count > SENSOR_LINES)
		text_addf(&name, " (the first %u of %" PRIu32 ")", SENSOR_LINES, s->count);
	draw_text(d, 40, a->box.top - 12, 17, DRAW_BOLD, DRAW_LEFT, DRAW_TEXT,
		  name.s ? name.s : "");
	text_release(&name);
}

static bool draw_panel(const struct page *p, struct draw *d, const struct sensor *s, double top)
{
	struct panel a = {{LEFT, top, LEFT + COLUMNS, top + PANEL_LEAST}, 0, -INFINITY};
	bool ok = true;

	for (uint32_t i = 0; i < lines_of(s); i++) {
		const struct page_curve *c = &p->data.curves[s->curves[i]];

		a.least = fmin(a.least, c->min);
		a.most = fmax(a.most, c->max);
	}
	a.most = a.most > a.least ? a.most : a.least + 1;
	name_panel(p, d, &a, s);
	draw_marks(d, &a, s->unit);
	for (uint32_t i = 0; ok && i < lines_of(s); i++)
		ok = draw_line_of(p, d, &a, s, s->curves[i], i);
	return ok;
}

static bool draw_kind(const struct page *p, struct draw *d, enum page_curve_kind kind,
		      unsigned picture)
{
	struct plot_box box = {LEFT, TOP, LEFT + COLUMNS, TOP};
	struct sensors s;
	bool ok = sensors_find(&s, &p->data, kind);
	uint32_t first = 0, end = ok ? place(&s, (int)picture, &first) : 0;

	for (uint32_t i = first; ok && i < end; i++) {
		ok = draw_panel(p, d, &s.list[i], box.bottom);
		box.bottom += high_of(&s.list[i]);
	}
	if (s.count > SENSORS_MOST)
		plot_note(d, "the first %u of %" PRIu32 " counters; kymo summary has all",
			  SENSORS_MOST, s.count);
	box.bottom -= PANEL_GAP - 8;
	plot_axis_time(d, &box, p);
	sensors_release(&s);
	return ok;
}

/* ---- plots ------------------------------------------------------------------------------------- */

static bool has_telemetry(const struct page *p)
{
	return has_kind(p, CURVE_TELEMETRY);
}

static unsigned telemetry_pictures(const struct page *p)
{
	return pictures_of(p, CURVE_TELEMETRY);
}

static bool draw_telemetry(const struct page *p, struct draw *d, unsigned picture)
{
	return draw_kind(p, d, CURVE_TELEMETRY, picture);
}

const struct plot plot_telemetry = {
	"telemetry",   "Telemetry",    "what sensors read over the run; gaps: nothing was measured",
	has_telemetry, draw_telemetry, telemetry_pictures};

static bool has_counters(const struct page *p)
{
	return has_kind(p, CURVE_COUNTER);
}

static unsigned counter_pictures(const struct page *p)
{
	return pictures_of(p, CURVE_COUNTER);
}

static bool draw_counters(const struct page *p, struct draw *d, unsigned picture)
{
	return draw_kind(p, d, CURVE_COUNTER, picture);
}

const struct plot plot_counters = {
	"counters",   "Counters",    "values of counters over the run, as they were read",
	has_counters, draw_counters, counter_pictures};
