/* SPDX-License-Identifier: Apache-2.0 */
/* See plot.h: what plots share. */
#include "page/plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "base/units.h"

enum { TITLE = 32, ABOUT = 20, LABEL = 19, LEGEND_ROW = 30 };

/* Those of the page: web/colours.js. */
const uint32_t plot_series[PLOT_SERIES] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7,
					   0xD55E00, 0x56B4E9, 0x999999, 0xB8A800,
					   0x7F4F24, 0x6A4C93, 0x9ECAE1, 0xB5C99A};

/* Cividis (Nuñez, Anderton, Renslow 2018) at ten places. */
uint32_t plot_cividis(double share)
{
	static const uint32_t at[] = {0x00204d, 0x00336f, 0x39486b, 0x575c6d, 0x707173,
				      0x8a8779, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46};
	enum { LAST = sizeof(at) / sizeof(*at) - 1 };
	double place = fmin(1, fmax(0, share)) * LAST;
	unsigned n = place >= LAST ? LAST - 1 : (unsigned)place;
	uint32_t colour = 0;

	for (unsigned bits = 0; bits < 24; bits += 8) {
		double a = at[n] >> bits & 255, b = at[n + 1] >> bits & 255;

		colour |= (uint32_t)lround(a + (b - a) * (place - n)) << bits;
	}
	return colour;
}

const struct plot *plot_named(const char *name)
{
	for (unsigned i = 0; i < plots_count; i++)
		if (strcmp(plots[i]->name, name) == 0)
			return plots[i];
	return NULL;
}

bool plot_has(const struct plot *plot, const struct page *p)
{
	return p->diagnosis && timeline_length(p->read.timeline) && plot->has(p);
}

unsigned plot_pictures(const struct plot *plot, const struct page *p)
{
	return plot->pictures ? plot->pictures(p) : 1;
}

bool plot_draw(const struct plot *plot, const struct page *p, struct draw *d, unsigned picture)
{
	const struct trace *t = p->read.trace;
	const unsigned all = plot_pictures(plot, p);
	struct text foot = {0}, title = {0};

	draw_rect(d, 0, 0, PLOT_WIDTH, PLOT_HEIGHT, DRAW_WHITE, NULL);
	text_add(&title, plot->title);
	if (all > 1)
		text_addf(&title, " (%u of %u)", picture + 1, all);
	draw_text(d, 40, 56, TITLE, DRAW_BOLD, DRAW_LEFT, DRAW_TEXT, title.s ? title.s : "");
	text_release(&title);
	draw_text(d, 40, 90, ABOUT, DRAW_PLAIN, DRAW_LEFT, DRAW_MUTED, plot->about);
	text_addf(&foot, "%s: %s%s%s", page_title(p), t->command ? t->command : "",
		  p->read.selection ? "; " : "", p->read.selection ? p->read.selection : "");
	draw_text_fitted(d, 40, PLOT_HEIGHT - 16, 15, PLOT_WIDTH - 80, DRAW_LEFT, DRAW_MUTED,
			 foot.s ? foot.s : "");
	text_release(&foot);
	return plot->draw(p, d, picture);
}

void plot_note(struct draw *d, const char *format, ...)
{
	char line[400];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	draw_text_fitted(d, 40, 118, 17, PLOT_WIDTH - 80, DRAW_LEFT, DRAW_MUTED, line);
}

/* ---- axes -------------------------------------------------------------------------------------- */

struct measure {
	double size;
	const char *name;
};

#define PLOT_MINUTE 60e9

/* The largest unit that `most` has one of. */
static struct measure measure_of(double most, enum plot_unit unit)
{
	static const struct measure lists[][8] = {
		[PLOT_NS] = {{1, "ns"},
			     {1e3, "us"},
			     {1e6, "ms"},
			     {1e9, "s"},
			     {PLOT_MINUTE, "min"},
			     {60 * PLOT_MINUTE, "h"},
			     {24 * 60 * PLOT_MINUTE, "d"}},
		[PLOT_BYTES] = {{1, "B"},
				{1024, "KiB"},
				{1048576, "MiB"},
				{1073741824, "GiB"},
				{1099511627776, "TiB"}},
		[PLOT_RATE] =
			{{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}},
		[PLOT_COUNT] = {{1, ""}},
		[PLOT_PERCENT] = {{1, "%"}},
	};
	const struct measure *m = lists[unit];

	/* Of minutes, hours and days a few: 100 min, not 1.67 h, as the summary has it. */
	while (m[1].name && m[1].size * (m[1].size < PLOT_MINUTE   ? 1
					 : m[1].size > PLOT_MINUTE ? 2
								   : 10) <=
				    most)
		m++;
	return *m;
}

double plot_step(double most, unsigned many, enum plot_unit unit)
{
	const double one = unit == PLOT_NS ? measure_of(most, unit).size : 1;
	double least = most / many, power;

	if (one >= PLOT_MINUTE)
		return one * plot_step(most / one, many, PLOT_PERCENT);
	if (unit == PLOT_BYTES)
		return exp2(ceil(log2(fmax(1, least))));
	power = pow(10, floor(log10(least)));
	least /= power;
	power *= least <= 1 ? 1 : least <= 2 ? 2 : least <= 5 ? 5 : 10;
	return unit == PLOT_COUNT || unit == PLOT_NS ? fmax(1, power) : power;
}

static void mark_text(char *out, size_t size, double v, const struct measure *m)
{
	char number[32];

	if (!*m->name)
		snprintf(out, size, "%s", units_count((uint64_t)v, number));
	else
		snprintf(out, size, "%.8g %s", v / m->size, m->name);
}

void plot_axis_x(struct draw *d, const struct plot_box *b, double most, enum plot_unit unit,
		 const char *title)
{
	const struct measure m = measure_of(most, unit);
	double step = plot_step(most, 8, unit), wide = b->right - b->left;

	for (unsigned i = 0; i * step <= most * (1 + 1e-9); i++) {
		double x = b->left + i * step / most * wide;
		double xy[] = {x, b->bottom, x, b->bottom + 8};
		char text[48];

		mark_text(text, sizeof(text), i * step, &m);
		draw_line(d, xy, 2, DRAW_MUTED, 1.5, 0, NULL);
		draw_text(d, x, b->bottom + 30, LABEL, DRAW_PLAIN, DRAW_MIDDLE, DRAW_TEXT, text);
	}
	draw_text(d, (b->left + b->right) / 2, b->bottom + 58, LABEL, DRAW_PLAIN, DRAW_MIDDLE,
		  DRAW_MUTED, title);
}

void plot_axis_y(struct draw *d, const struct plot_box *b, double most, enum plot_unit unit,
		 const char *title)
{
	const struct measure m = measure_of(most, unit);
	double step = plot_step(most, 8, unit), high = b->bottom - b->top;

	for (unsigned i = 0; i * step <= most * (1 + 1e-9); i++) {
		double y = b->bottom - i * step / most * high;
		double xy[] = {b->left, y, b->right, y};
		char text[48];

		mark_text(text, sizeof(text), i * step, &m);
		draw_line(d, xy, 2, DRAW_RULE, 1, 0, NULL);
		draw_text(d, b->left - 12, y + 6, LABEL, DRAW_PLAIN, DRAW_RIGHT, DRAW_TEXT, text);
	}
	draw_text(d, 40, b->top - 18, LABEL, DRAW_PLAIN, DRAW_LEFT, DRAW_MUTED, title);
}

void plot_axis_time(struct draw *d, const struct plot_box *b, const struct page *p)
{
	const struct timeline *tl = p->read.timeline;

	plot_axis_x(d, b, (double)timeline_length(tl), PLOT_NS,
		    tl->window ? "time since the selected part began" : "time since the run began");
}

/* How much of it is on a line of so many columns: up to a blank, where there is one. */
static size_t label_line(const char *s, unsigned columns)
{
	struct text cut = {0};
	size_t n, blank;

	if (plain_width(s) <= columns)
		return strlen(s);
	plain_add_cut(&cut, s, columns);
	for (n = 0; cut.s && cut.s[n] && cut.s[n] == s[n]; n++)
		;
	text_release(&cut);
	for (blank = n; blank && s[blank] != ' '; blank--)
		;
	return blank ? blank : n;
}

void plot_label(struct draw *d, double right, double y, double high, const char *s)
{
	enum { MOST = 4 };
	const double size = fmin(18, fmax(9, high - 2)), wide = right - 40;
	const unsigned lines = fmin(MOST, fmax(1, high / (size * 1.3)));
	size_t at[MOST + 1] = {0};
	unsigned n = 0;

	while (n < lines && s[at[n]]) {
		size_t more = label_line(s + at[n], (unsigned)(wide / (0.6 * size)));

		at[n + 1] = n + 1 == lines || !more ? strlen(s) : at[n] + more;
		while (s[at[n + 1]] == ' ')
			at[n + 1]++;
		n++;
	}
	for (unsigned i = 0; i < n; i++) {
		struct text line = {0};

		while (s[at[i]] == ' ')
			at[i]++;
		while (at[i + 1] > at[i] && s[at[i + 1] - 1] == ' ')
			at[i + 1]--;
		text_add_bytes(&line, s + at[i], at[i + 1] - at[i]);
		draw_text_fitted(d, right, y + size * (0.35 + 1.3 * (i - (n - 1) / 2.0)), size,
				 wide, DRAW_RIGHT, DRAW_TEXT, line.s ? line.s : "");
		text_release(&line);
	}
}

double plot_dash(unsigned series)
{
	static const double dashes[] = {0, 14, 5, 24};

	return dashes[series % (sizeof(dashes) / sizeof(*dashes))];
}

/* ---- legends ----------------------------------------------------------------------------------- */

static void draw_swatch(struct draw *d, double x, double y, const struct plot_legend *item)
{
	const double line[] = {x, y + 9, x + 32, y + 9};

	if (item->line)
		draw_line(d, line, 2, item->colour, 4, item->dash, NULL);
	else
		draw_area(d, x, y, 32, 18, item->colour, item->texture, NULL);
}

void plot_legend(struct draw *d, double left, double y, double width,
		 const struct plot_legend *items, unsigned count)
{
	double x = left;

	for (unsigned i = 0; i < count; i++) {
		double wide = fmin(width, 70 + draw_width(items[i].text, LABEL));

		if (x > left && x + wide > left + width) {
			x = left;
			y += LEGEND_ROW;
		}
		draw_swatch(d, x, y - 15, &items[i]);
		draw_text_fitted(d, x + 40, y, LABEL, wide - 50, DRAW_LEFT, DRAW_TEXT,
				 items[i].text);
		x += wide;
	}
}

void plot_scale(struct draw *d, const struct plot_box *b, const char *least, const char *most)
{
	enum { STEPS = 100, WIDE = 200 };
	double left = b->right - WIDE - draw_width(most, LABEL) - 16;

	for (unsigned i = 0; i < STEPS; i++)
		draw_rect(d, left + 2.0 * i, 72, 2, 18, plot_cividis(i / (STEPS - 1.0)), NULL);
	draw_text(d, left - 10, 88, LABEL, DRAW_PLAIN, DRAW_RIGHT, DRAW_TEXT, least);
	draw_text(d, left + WIDE + 10, 88, LABEL, DRAW_PLAIN, DRAW_LEFT, DRAW_TEXT, most);
}
