/* SPDX-License-Identifier: Apache-2.0 */
/* See roofline.h: the plot of a terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "roofs/roofline.h"

enum {
	COLUMNS_MOST = 100,
	COLUMNS_LEAST = 50,
	ROWS_MOST = 24,
	AXIS = 10,   /* columns left of the plot */
	LEGEND = 36, /* right of it */
	NAME = 28,   /* columns of a kernel's name */
	AROUND = 3,  /* rows above and below it, */
	HEADING = 1  /* and above kernels */
};

/* What a cell shows: a kernel's digit, or one of these. */
enum { EMPTY = ' ', SLANTED = '/', FLAT = '-' };

struct grid {
	const struct roofline *l;
	unsigned width, height;
	bool utf8;
	char cell[ROWS_MOST][COLUMNS_MOST + 1];
};

static int column_of(const struct grid *g, double x)
{
	return (int)lround(log(x / g->l->x0) / log(g->l->x1 / g->l->x0) * (g->width - 1));
}

static int row_of(const struct grid *g, double y)
{
	return (int)g->height - 1 -
	       (int)lround(log(y / g->l->y0) / log(g->l->y1 / g->l->y0) * (g->height - 1));
}

static double x_at(const struct grid *g, unsigned column)
{
	return g->l->x0 * pow(g->l->x1 / g->l->x0, (double)column / (g->width - 1));
}

static void put(struct grid *g, int column, int row, char c)
{
	if (column >= 0 && column < (int)g->width && row >= 0 && row < (int)g->height)
		g->cell[row][column] = c;
}

static char kernel_digit(unsigned number)
{
	return (char)(number < 9 ? '1' + number : 'a' + (number - 9));
}

static void put_roofs(struct grid *g)
{
	const struct roofline *l = g->l;

	for (unsigned i = 0; i < l->flat_count; i++)
		for (int c = column_of(g, fmax(l->x0, l->flat[i]->value / l->slanted[0]->value));
		     c < (int)g->width; c++)
			put(g, c, row_of(g, l->flat[i]->value), FLAT);
	for (unsigned i = l->slanted_count; i-- > 0;) {
		int end = column_of(g, roofline_ridge(l, l->slanted[i]));

		for (int c = 0; c <= end; c++)
			put(g, c, row_of(g, l->slanted[i]->value * x_at(g, (unsigned)c)), SLANTED);
	}
}

/* Where each roof's letter stands: at the left, or the lower end of a slanted one; at the right end of a flat one. */
static void put_letters(struct grid *g)
{
	const struct roofline *l = g->l;

	for (unsigned i = l->slanted_count; i-- > 0;) {
		int c = 0;

		while (c < (int)g->width - 1 &&
		       row_of(g, l->slanted[i]->value * x_at(g, (unsigned)c)) >= (int)g->height)
			c++;
		c += (int)(2 * i); /* those that lie on each other stand beside each other */
		put(g, c, row_of(g, l->slanted[i]->value * x_at(g, (unsigned)c)), (char)('A' + i));
	}
	for (unsigned i = l->flat_count; i-- > 0;)
		put(g, (int)g->width - 1 - (int)(2 * i), row_of(g, l->flat[i]->value),
		    (char)('A' + l->slanted_count + i));
}

static void put_points(struct grid *g)
{
	for (unsigned i = g->l->points_count; i-- > 0;)
		put(g, column_of(g, g->l->points[i].intensity), row_of(g, g->l->points[i].rate),
		    kernel_digit(g->l->number[i]));
}

/* ---- lines --------------------------------------------------------------------------------------- */

static void scaled(double v, char out[24])
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
	unsigned at = 0;

	for (; v >= 1000 && at < 5; at++)
		v /= 1000;
	snprintf(out, 24, "%.3g %s", v, prefixes[at]);
}

static void add_cell(const struct grid *g, char c, struct text *out)
{
	if (g->utf8 && c == FLAT)
		text_add(out, "\xe2\x94\x80");
	else if (g->utf8 && c == SLANTED)
		text_add(out, "\xe2\x95\xb1");
	else
		text_add_bytes(out, &c, 1);
}

/* A label where a power of ten begins. */
static void add_left(const struct grid *g, unsigned row, struct text *out)
{
	const struct roofline *l = g->l;
	char label[40] = "", number[24];

	for (double y = l->y0; y <= l->y1 * 1.01; y *= 10)
		if (row_of(g, y) == (int)row) {
			scaled(y, number);
			snprintf(label, sizeof(label), "%s", number);
		}
	text_addf(out, "%*s%s", AXIS - 1, label,
		  g->utf8 ? (*label ? "\xe2\x94\xa4" : "\xe2\x94\x82") : "|");
}

static void add_legend(const struct grid *g, unsigned row, struct text *out)
{
	const struct roofline *l = g->l;
	const struct roof *r = NULL;
	char value[ROOF_TEXT];

	if (row < l->slanted_count)
		r = l->slanted[row];
	else if (row < l->slanted_count + l->flat_count)
		r = l->flat[row - l->slanted_count];
	if (r)
		text_addf(out, "  %c %-6s %s", (char)('A' + row), r->type,
			  roof_text(r, g->utf8, value));
}

static void add_rows(const struct grid *g, struct text *out)
{
	for (unsigned row = 0; row < g->height; row++) {
		unsigned last = g->width;

		add_left(g, row, out);
		while (row >= g->l->slanted_count + g->l->flat_count && last > 0 &&
		       g->cell[row][last - 1] == EMPTY)
			last--;
		for (unsigned c = 0; c < last; c++)
			add_cell(g, g->cell[row][c], out);
		add_legend(g, row, out);
		text_add(out, "\n");
	}
}

static void add_axis(const struct grid *g, struct text *out)
{
	char line[COLUMNS_MOST + 32];
	int written = 0;

	text_addf(out, "%*s%s", AXIS - 1, "", g->utf8 ? "\xe2\x94\x94" : "+");
	for (unsigned c = 0; c < g->width; c++)
		add_cell(g, FLAT, out);
	text_add(out, "\n");
	memset(line, ' ', sizeof(line));
	for (double x = g->l->x0; x <= g->l->x1 * 1.01; x *= 10) {
		char label[16];
		int n = snprintf(label, sizeof(label), "%g", x), at = AXIS + column_of(g, x);

		at = at - n / 2;
		if (at <= written || at + n > AXIS + (int)g->width)
			at = at <= written ? written + 1 : AXIS + (int)g->width - n;
		memcpy(line + at, label, (size_t)n);
		written = at + n;
	}
	text_addf(out, "%.*s FLOP/byte\n", written, line);
}

static void add_kernel(const struct grid *g, unsigned first, unsigned columns, struct text *out)
{
	const struct roofline_point *p = &g->l->points[first];
	struct text line = {0};
	char rate[24];

	scaled(p->rate, rate);
	text_addf(&line, "%c ", kernel_digit(g->l->number[first]));
	plain_add_cut(&line, p->kernel, NAME);
	text_addf(&line, ": %sFLOP/s", rate);
	if (!isnan(p->share))
		text_addf(&line, ", %.0f %% of time", 100 * p->share);
	for (unsigned i = first; i < g->l->points_count && g->l->number[i] == g->l->number[first];
	     i++) {
		double attained = roofline_attained(g->l, &g->l->points[i]);

		text_addf(&line, "; %s %.3g", g->l->points[i].level, g->l->points[i].intensity);
		if (!isnan(attained))
			text_addf(&line, " (%.0f %%)", 100 * attained);
	}
	plain_add_cut(out, line.s ? line.s : "", columns);
	text_add(out, "\n");
	text_release(&line);
}

void roofline_text(const struct roofline *l, unsigned columns, bool utf8, struct text *out)
{
	struct grid g = {.l = l, .utf8 = utf8};
	struct text notes = {0};
	unsigned shown = l->kernels, roofs = l->slanted_count + l->flat_count;

	columns = columns > COLUMNS_MOST ? COLUMNS_MOST : columns;
	columns = columns < COLUMNS_LEAST + AXIS ? COLUMNS_LEAST + AXIS : columns;
	g.width = columns - AXIS - LEGEND;
	g.height = ROWS_MOST - AROUND - (shown ? HEADING + shown : 0);
	if (g.height < roofs) { /* each roof has a row for its name */
		g.height = roofs;
		shown = ROWS_MOST - AROUND - HEADING - roofs;
	}
	memset(g.cell, EMPTY, sizeof(g.cell));
	put_roofs(&g);
	put_letters(&g);
	put_points(&g);
	text_addf(out, "%*s  ", AXIS - 2, "FLOP/s");
	plain_add_cut(out, l->roofs->device.name, columns - AXIS);
	text_add(out, "\n");
	add_rows(&g, out);
	add_axis(&g, out);
	if (shown)
		text_add(out, "kernel; FLOP/byte at each level (% of its roof)\n");
	for (unsigned i = 0, last = UINT32_MAX; i < l->points_count; i++) {
		if (l->number[i] != last && l->number[i] < shown)
			add_kernel(&g, i, columns, out);
		last = l->number[i];
	}
	roofline_notes(l, &notes);
	if (notes.length)
		text_addf(out, "%s\n", notes.s);
	text_release(&notes);
}
