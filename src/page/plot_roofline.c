/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See plot_roofline.h. Names of roofs stand along their lines, turned as these are; kernels have a number and a colour,
 * levels of memory a shape. What they mean is told right of the axes, where nothing is drawn.
 */
#include "page/plot_roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "page/plot.h"

enum {
	TITLE = 32,
	ABOUT = 20,
	LABEL = 18,
	SMALL = 16,
	MARK = 9, /* half of a shape */
	ROW = 26
};

struct ink {
	uint32_t ground, text, muted, rule, roof, flat;
};

static const struct ink inks[2] = {
	{DRAW_WHITE, DRAW_TEXT, DRAW_MUTED, 0xececea, 0x1c1f23, 0x5b6269},
	{0x16181c, 0xe8eaed, 0xa7adb5, 0x2a2d33, 0xe8eaed, 0xa7adb5},
};

struct roofline_picture {
	struct draw *d;
	const struct roofline *l;
	const struct ink *ink;
	bool dark;
	struct plot_box b;
};

static double x_of(const struct roofline_picture *p, double v)
{
	return p->b.left + log(v / p->l->x0) / log(p->l->x1 / p->l->x0) * (p->b.right - p->b.left);
}

static double y_of(const struct roofline_picture *p, double v)
{
	return p->b.bottom -
	       log(v / p->l->y0) / log(p->l->y1 / p->l->y0) * (p->b.bottom - p->b.top);
}

/* Colours of plot_series[] that are seen on dark ground as they are on light; the dark ones are lightened. */
static uint32_t kernel_colour(const struct roofline_picture *p, unsigned number)
{
	uint32_t c = plot_series[number % PLOT_SERIES], out = 0;

	for (unsigned bits = 0; p->dark && bits < 24; bits += 8) {
		unsigned v = c >> bits & 255;

		out |= (v + (255 - v) / 3) << bits;
	}
	return p->dark ? out : c;
}

/* ---- axes ---------------------------------------------------------------------------------------- */

static void power_text(double v, const char *unit, char out[40])
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
	unsigned at = 0;

	for (; *unit && v >= 1000 && at < 5; at++)
		v /= 1000;
	snprintf(out, 40, "%g%s%s%s", v, *unit ? " " : "", *unit ? prefixes[at] : "", unit);
}

static void draw_axes(const struct roofline_picture *p)
{
	const struct plot_box *b = &p->b;
	char text[40];

	for (double v = p->l->x0; v <= p->l->x1 * 1.01; v *= 10) {
		const double x = x_of(p, v), xy[] = {x, b->top, x, b->bottom};

		draw_line(p->d, xy, 2, p->ink->rule, 1, 0, NULL);
		power_text(v, "", text);
		draw_text(p->d, x, b->bottom + 30, LABEL, DRAW_PLAIN, DRAW_MIDDLE, p->ink->text,
			  text);
	}
	for (double v = p->l->y0; v <= p->l->y1 * 1.01; v *= 10) {
		const double y = y_of(p, v), xy[] = {b->left, y, b->right, y};

		draw_line(p->d, xy, 2, p->ink->rule, 1, 0, NULL);
		power_text(v, "FLOP/s", text);
		draw_text(p->d, b->left - 12, y + 6, LABEL, DRAW_PLAIN, DRAW_RIGHT, p->ink->text,
			  text);
	}
	draw_text(p->d, (b->left + b->right) / 2, b->bottom + 60, LABEL, DRAW_PLAIN, DRAW_MIDDLE,
		  p->ink->muted, "arithmetic intensity: FLOP for each byte moved at that level");
}

/* ---- roofs --------------------------------------------------------------------------------------- */

static const char *level_name(const char *name)
{
	static const char *const names[][2] = {{"memory", "memory"}, {"l1", "L1"},
					       {"l2", "L2"},         {"l3", "L3"},
					       {"cache", "cache"},   {"local", "local memory"}};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], name) == 0)
			return names[i][1];
	return name;
}

static void roof_label(const struct roof *r, char out[96])
{
	char value[ROOF_TEXT];

	snprintf(out, 96, "%s  %s", level_name(r->type), roof_text(r, true, value));
}

/*
 * Where names of slanted roofs stand, in the lines' own directions: all are parallel. Along: from the left end of its line.
 * Across: upwards, from the line of the highest one.
 */
struct place {
	double along, across, width;
};

/* All lines have one angle. */
static double angle_of(const struct roofline_picture *p)
{
	const double x = x_of(p, 10) - x_of(p, 1), y = y_of(p, 10) - y_of(p, 1);

	return atan2(y, x);
}

/* How far the line of a roof is below that of the highest one, square to both. */
static double across_of(const struct roofline_picture *p, unsigned i)
{
	double down = y_of(p, p->l->slanted[i]->value) - y_of(p, p->l->slanted[0]->value);

	return -down * cos(angle_of(p));
}

/* Left end of a roof's line. */
static double first_x(const struct roofline_picture *p, unsigned i)
{
	return fmax(p->l->x0, p->l->y0 / p->l->slanted[i]->value);
}

/* Of the line `own`: no other one goes through it or between it and that; `others` are the names before. */
static bool is_free(const struct roofline_picture *p, const struct place *at,
		    const struct place *others, unsigned own)
{
	const double line = across_of(p, own);
	const double low = fmin(line, at->across - 3), high = fmax(line, at->across + LABEL);

	for (unsigned i = 0; i < p->l->slanted_count; i++)
		if (i != own && across_of(p, i) >= low && across_of(p, i) <= high)
			return false;
	for (unsigned i = 0; i < own; i++)
		if (fabs(others[i].across - at->across) < LABEL + 2 &&
		    at->along < others[i].along + others[i].width + 12 &&
		    others[i].along < at->along + at->width + 12)
			return false;
	return true;
}

/* Above or below its line, below all flat ones; the ends of lines are measured from where the axes meet. */
static bool find_place(const struct roofline_picture *p, unsigned i, const char *label,
		       const struct place *others, struct place *out)
{
	const struct roofline *l = p->l;
	const double angle = angle_of(p), line = across_of(p, i), from = first_x(p, i);
	const double begin = (x_of(p, from) - p->b.left) * cos(angle) +
			     (y_of(p, from * l->slanted[i]->value) - p->b.bottom) * sin(angle);
	const double lowest = l->flat[l->flat_count - 1]->value;
	const double end = (y_of(p, lowest) - y_of(p, from * l->slanted[i]->value)) / sin(angle);
	const double width = draw_width(label, LABEL);

	for (double s = 14; s + width < end; s += 20)
		for (unsigned below = 0; below < 2; below++) {
			*out = (struct place){begin + s, line + (below ? -LABEL - 4 : 8), width};
			if (is_free(p, out, others, i))
				return true;
		}
	*out = (struct place){.across = INFINITY};
	return false;
}

static void draw_label(const struct roofline_picture *p, unsigned i, const struct place *at,
		       const char *label)
{
	const double angle = angle_of(p), up = at->across - across_of(p, i), from = first_x(p, i);
	const double begin = (x_of(p, from) - p->b.left) * cos(angle) +
			     (y_of(p, from * p->l->slanted[i]->value) - p->b.bottom) * sin(angle);
	const double along = at->along - begin;
	const double x = x_of(p, from) + along * cos(angle) + up * sin(angle);
	const double y =
		y_of(p, from * p->l->slanted[i]->value) + along * sin(angle) - up * cos(angle);

	draw_turn(p->d, x, y, angle * 180 / M_PI);
	draw_text(p->d, x, y, LABEL, DRAW_PLAIN, DRAW_LEFT, p->ink->text, label);
	draw_turn_back(p->d);
}

/* Names that find no place along their lines are told right of the axes. */
static void draw_slanted(const struct roofline_picture *p, double *legend)
{
	struct place places[ROOFLINE_LINES];

	for (unsigned i = 0; i < p->l->slanted_count; i++) {
		const struct roof *r = p->l->slanted[i];
		const double from = first_x(p, i), to = roofline_ridge(p->l, r);
		const double xy[] = {x_of(p, from), y_of(p, from * r->value), x_of(p, to),
				     y_of(p, to * r->value)};
		const double x = p->b.right + 14, swatch[] = {x, *legend - 6, x + 70, *legend - 6};
		char label[96];

		draw_line(p->d, xy, 2, p->ink->roof, 2.5, plot_dash(i), NULL);
		roof_label(r, label);
		if (find_place(p, i, label, places, &places[i])) {
			draw_label(p, i, &places[i], label);
			continue;
		}
		draw_line(p->d, swatch, 2, p->ink->roof, 2.5, plot_dash(i), NULL);
		draw_text(p->d, x + 78, *legend, LABEL, DRAW_PLAIN, DRAW_LEFT, p->ink->text, label);
		*legend += ROW;
	}
}

/* Names of flat ones stand behind their right ends, apart from each other. Where the last one does. */
static double draw_flats(const struct roofline_picture *p)
{
	double above = p->b.top - 100;

	for (unsigned i = 0; i < p->l->flat_count; i++) {
		const struct roof *r = p->l->flat[i];
		const double from = fmax(p->l->x0, r->value / p->l->slanted[0]->value);
		const double y = y_of(p, r->value), xy[] = {x_of(p, from), y, p->b.right, y};
		const double at = fmax(y - 7, above + LABEL + 4);
		char label[96];

		draw_line(p->d, xy, 2, p->ink->flat, 2.5, plot_dash(i), NULL);
		roof_label(r, label);
		draw_text(p->d, p->b.right + 14, at + 13, LABEL, DRAW_PLAIN, DRAW_LEFT,
			  p->ink->text, label);
		above = at;
	}
	return above + LABEL;
}

/* ---- points -------------------------------------------------------------------------------------- */

/* Shapes by level, as lines around (0, 0). */
struct shape {
	const char *level;
	unsigned count;
	double xy[14];
};

static const struct shape shapes[] = {
	{"memory", 5, {-1, -1, 1, -1, 1, 1, -1, 1, -1, -1}},
	{"l3", 4, {0, 1.2, 1.2, -0.9, -1.2, -0.9, 0, 1.2}},
	{"l2", 4, {0, -1.2, 1.2, 0.9, -1.2, 0.9, 0, -1.2}},
	{"l1", 5, {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0, 0, -1.3}},
	{"local", 5, {-1, -1, 1, 1, 0, 0, 1, -1, -1, 1}},
	{"", 4, {0, -1.2, 0, 1.2, 0, 0, 1.2, 0}},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static unsigned shape_of(const char *level)
{
	unsigned i = 0;

	while (i < SHAPES - 1 && strcmp(shapes[i].level, level) != 0)
		i++;
	return i;
}

static void draw_shape(const struct roofline_picture *p, unsigned shape, double x, double y,
		       uint32_t colour, const char *told)
{
	const struct shape *s = &shapes[shape];
	double xy[14];

	for (unsigned i = 0; i < s->count; i++) {
		xy[2 * i] = x + MARK * s->xy[2 * i];
		xy[2 * i + 1] = y + MARK * s->xy[2 * i + 1];
	}
	draw_line(p->d, xy, s->count, p->ink->ground, 7, 0, NULL);
	draw_line(p->d, xy, s->count, colour, 3.5, 0, told);
}

static void draw_point(const struct roofline_picture *p, unsigned i)
{
	const struct roofline_point *at = &p->l->points[i];
	char told[300];

	snprintf(told, sizeof(told), "%.160s, %s: %.4g FLOP/byte, %.4g FLOP/s", at->kernel,
		 level_name(at->level), at->intensity, at->rate);
	draw_shape(p, shape_of(at->level), x_of(p, at->intensity), y_of(p, at->rate),
		   kernel_colour(p, p->l->number[i]), told);
}

/* ---- numbers of points: beside their shapes, apart from each other and from other points ---------- */

enum {
	POINTS = 64, /* more than ROOFLINE_KERNELS at each level */
	DIGIT = 12,  /* height of a number */
	AWAY = 20,   /* middle of the nearest one from the point */
	RINGS = 8,   /* in which places are sought, and how many in each */
	PLACES = 16,
	STEP = 16
};

struct numbered {
	double x, y; /* middle */
	double half; /* of its width */
};

/* Pixels of both directions that two things share. */
static double shared(const struct numbered *a, const struct numbered *b, double height)
{
	const double wide = a->half + b->half + 3 - fabs(a->x - b->x);
	const double high = height + 3 - fabs(a->y - b->y);

	return wide > 0 && high > 0 ? wide * high : 0;
}

/* What a number would lie on: points, numbers that have their places, what is outside of the axes. */
static double lies_on(const struct roofline_picture *p, const struct numbered *at,
		      const struct numbered *numbers, unsigned count)
{
	double all = 0;

	if (at->x - at->half < p->b.left || at->x + at->half > p->b.right ||
	    at->y - DIGIT < p->b.top || at->y + DIGIT > p->b.bottom)
		all += DIGIT * DIGIT;
	for (unsigned i = 0; i < p->l->points_count; i++) {
		const struct roofline_point *o = &p->l->points[i];
		const struct numbered point = {x_of(p, o->intensity), y_of(p, o->rate), MARK * 1.3};

		all += shared(at, &point, DIGIT / 2.0 + MARK * 1.3);
	}
	for (unsigned i = 0; i < count; i++)
		all += shared(at, &numbers[i], DIGIT);
	return all;
}

/* The nearest place that is free, right below first; else the one that lies on least. */
static struct numbered place_number(const struct roofline_picture *p, unsigned i, double half,
				    const struct numbered *numbers, unsigned count)
{
	const double x = x_of(p, p->l->points[i].intensity), y = y_of(p, p->l->points[i].rate);
	struct numbered best = {.half = half};
	double least = INFINITY;

	for (unsigned n = 0; n < RINGS * PLACES && least > 0; n++) {
		const double turn = M_PI / 4 + 2 * M_PI * (n % PLACES) / PLACES;
		const unsigned ring = n / PLACES;
		const double away = AWAY + STEP * ring;
		const struct numbered at = {x + (away + half / 2) * cos(turn), y + away * sin(turn),
					    half};
		const double on = lies_on(p, &at, numbers, count);

		if (on < least) {
			best = at;
			least = on;
		}
	}
	return best;
}

/* A number that stands farther away has a line to its point. */
static void draw_lead(const struct roofline_picture *p, unsigned i, const struct numbered *at)
{
	const double x = x_of(p, p->l->points[i].intensity), y = y_of(p, p->l->points[i].rate);
	const double dx = at->x - x, dy = at->y - y, length = hypot(dx, dy);
	const double from = MARK * 1.3 / length, to = 1 - (DIGIT - 1) / length;
	const double xy[] = {x + from * dx, y + from * dy, x + to * dx, y + to * dy};

	if (length > AWAY + STEP)
		draw_line(p->d, xy, 2, p->ink->muted, 1.2, 0, NULL);
}

static void draw_numbers(const struct roofline_picture *p)
{
	struct numbered at[POINTS];

	for (unsigned i = 0; i < p->l->points_count && i < POINTS; i++) {
		char number[8];

		snprintf(number, sizeof(number), "%u", p->l->number[i] + 1u);
		at[i] = place_number(p, i, draw_width(number, SMALL) / 2, at, i);
		draw_lead(p, i, &at[i]);
		draw_text(p->d, at[i].x, at[i].y + DIGIT / 2.0, SMALL, DRAW_BOLD, DRAW_MIDDLE,
			  p->ink->text, number);
	}
}

/* ---- legend -------------------------------------------------------------------------------------- */

static double draw_kernels(const struct roofline_picture *p, double x, double y)
{
	for (unsigned i = 0; i < p->l->points_count; i++) {
		const struct roofline_point *at = &p->l->points[i];
		struct text line = {0}, name = {0};

		if (i && p->l->number[i] == p->l->number[i - 1])
			continue;
		draw_rect(p->d, x, y - 13, 16, 16, kernel_colour(p, p->l->number[i]), NULL);
		text_addf(&line, "%u  ", p->l->number[i] + 1u);
		if (!isnan(at->share))
			text_addf(&line, "%.1f %%  ", 100 * at->share);
		plain_add(&name, at->kernel, strlen(at->kernel));
		text_add(&line, name.s ? name.s : "");
		draw_text_fitted(p->d, x + 26, y, LABEL, PLOT_WIDTH - 20 - (x + 26), DRAW_LEFT,
				 p->ink->text, line.s ? line.s : "");
		text_release(&line);
		text_release(&name);
		y += ROW;
	}
	return y;
}

static void draw_levels(const struct roofline_picture *p, double x, double y)
{
	for (unsigned s = 0; s < SHAPES; s++) {
		bool used = false;

		for (unsigned i = 0; i < p->l->points_count; i++)
			used = used || shape_of(p->l->points[i].level) == s;
		if (!used)
			continue;
		draw_shape(p, s, x + 8, y - 6, p->ink->muted, NULL);
		draw_text(p->d, x + 26, y, LABEL, DRAW_PLAIN, DRAW_LEFT, p->ink->text,
			  *shapes[s].level ? level_name(shapes[s].level) : "another level");
		y += ROW;
	}
}

static void draw_legend(const struct roofline_picture *p, double y)
{
	const double x = p->b.right + 14;

	if (!p->l->points_count)
		return;
	y += ROW / 2.0;
	draw_text(p->d, x, y, LABEL, DRAW_BOLD, DRAW_LEFT, p->ink->text, "Kernels, share of time");
	y = draw_kernels(p, x, y + ROW) + ROW / 2.0;
	draw_text(p->d, x, y, LABEL, DRAW_BOLD, DRAW_LEFT, p->ink->text, "Bytes of");
	draw_levels(p, x, y + ROW);
}

/* ---- all ----------------------------------------------------------------------------------------- */

static void draw_head(const struct roofline_picture *p)
{
	const struct roofs *r = p->l->roofs;
	struct text foot = {0}, notes = {0};

	draw_rect(p->d, 0, 0, PLOT_WIDTH, PLOT_HEIGHT, p->ink->ground, NULL);
	draw_text(p->d, 40, 56, TITLE, DRAW_BOLD, DRAW_LEFT, p->ink->text, "Roofline");
	draw_text_fitted(p->d, 40, 90, ABOUT, PLOT_WIDTH - 80, DRAW_LEFT, p->ink->muted,
			 r->device.name);
	text_addf(&foot, "roofs measured %s on %s, \xc2\xb1: 95 %% interval", r->date,
		  r->device.host);
	if (p->l->left_out)
		text_addf(&foot, "; %u points are not here", p->l->left_out);
	roofline_notes(p->l, &notes);
	if (notes.length)
		text_addf(&foot, "; %s", notes.s);
	text_release(&notes);
	draw_text_fitted(p->d, 40, PLOT_HEIGHT - 16, 15, PLOT_WIDTH - 80, DRAW_LEFT, p->ink->muted,
			 foot.s ? foot.s : "");
	text_release(&foot);
}

void roofline_draw(struct draw *d, const struct roofline *l, bool dark)
{
	const struct roofline_picture p = {
		.d = d, .l = l, .ink = &inks[dark], .dark = dark, .b = {170, 130, 1200, 790}};

	double legend;

	draw_head(&p);
	draw_axes(&p);
	legend = draw_flats(&p) + 2 * ROW;
	draw_slanted(&p, &legend);
	for (unsigned i = l->points_count; i-- > 0;)
		draw_point(&p, i);
	draw_numbers(&p);
	draw_legend(&p, legend);
}

/* ---- as a plot of `kymo report` ------------------------------------------------------------------ */

static bool has_rooflines(const struct page *p)
{
	return page_kernels_rooflines(p->kernels);
}

static bool draw_rooflines(const struct page *p, struct draw *d, unsigned picture)
{
	page_kernels_draw(p->kernels, picture, d);
	return true;
}

static unsigned roofline_pictures(const struct page *p)
{
	return page_kernels_rooflines(p->kernels);
}

extern const struct plot plot_roofline;
const struct plot plot_roofline = {"roofline",
				   "Roofline",
				   "counted kernels below what their device attains "
				   "(kymo calibrate)",
				   has_rooflines,
				   draw_rooflines,
				   roofline_pictures};
