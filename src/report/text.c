/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports for people. Columns as wide as their widest cell; on a terminal that is too narrow the
 * widest text column gives way, its cells are cut and end in "...".
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/report.h"

#define GAP       2u
#define TEXT_LEAST 16u /* a text column is not cut below this */

/* Columns of the terminal behind `out`; 0: no terminal, no limit. */
static unsigned terminal_width(FILE *out)
{
	struct winsize w;

	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0)
		return 0;
	return w.ws_col;
}

/* Characters of UTF-8 text, not bytes. */
static unsigned display_width(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void measure(const struct table *t, unsigned *width)
{
	char buffer[32];

	for (unsigned c = 0; c < t->column_count; c++) {
		width[c] = display_width(t->columns[c].heading);
		for (uint32_t r = 0; r < t->row_count; r++) {
			const struct cell *cell = &t->cells[(size_t)r * t->column_count + c];
			unsigned w = display_width(cell_show(cell, t->columns[c].unit, buffer));

			width[c] = w > width[c] ? w : width[c];
		}
	}
}

static void fit(const struct table *t, unsigned *width, unsigned limit)
{
	unsigned total = 0, widest = 0, excess;
	bool found = false;

	for (unsigned c = 0; c < t->column_count; c++) {
		if (t->columns[c].hidden)
			continue;
		total += width[c] + (total ? GAP : 0);
		if (t->columns[c].unit == CELL_TEXT && (!found || width[c] > width[widest])) {
			widest = c;
			found = true;
		}
	}
	if (!limit || total <= limit || !found)
		return;
	excess = total - limit;
	width[widest] = width[widest] > excess + TEXT_LEAST ? width[widest] - excess
		      : width[widest] < TEXT_LEAST          ? width[widest]
							    : TEXT_LEAST;
}

/* The first `n` characters. */
static void put_cut(FILE *out, const char *s, unsigned n)
{
	unsigned seen = 0;

	for (; *s; s++) {
		seen += ((unsigned char)*s & 0xc0) != 0x80;
		if (seen > n)
			break;
		fputc(*s, out);
	}
}

/* Spaces wait in *pending until something follows them: no line ends in one. */
static void put_cell(FILE *out, const char *s, unsigned width, bool left, unsigned *pending)
{
	unsigned w = display_width(s);

	if (!left && w < width)
		*pending += width - w;
	if (w) {
		fprintf(out, "%*s", (int)*pending, "");
		*pending = 0;
	}
	if (w > width) {
		put_cut(out, s, width - 3);
		fputs("...", out);
		return;
	}
	fputs(s, out);
	if (left)
		*pending += width - w;
}

static void print_row(const struct table *t, const struct cell *cells, const unsigned *width,
		      FILE *out)
{
	char buffer[32];
	unsigned pending = 0;
	bool first = true;

	for (unsigned c = 0; c < t->column_count; c++) {
		const struct table_column *column = &t->columns[c];
		const char *s = cells ? cell_show(&cells[c], column->unit, buffer)
				      : column->heading;

		if (column->hidden)
			continue;
		pending += first ? 0 : GAP;
		first = false;
		put_cell(out, s, width[c], !column->right, &pending);
	}
	fputc('\n', out);
}

static void print_table(const struct table *t, FILE *out, unsigned limit, bool colour)
{
	unsigned *width = calloc(t->column_count ? t->column_count : 1, sizeof(*width));

	if (!width)
		return;
	measure(t, width);
	fit(t, width, limit);
	if (*t->title)
		fprintf(out, colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", t->title);
	if (colour)
		fputs("\033[4m", out);
	print_row(t, NULL, width, out);
	if (colour)
		fputs("\033[0m", out);
	for (uint32_t r = 0; r < t->row_count; r++)
		print_row(t, t->cells + (size_t)r * t->column_count, width, out);
	for (unsigned i = 0; i < t->note_count; i++)
		fprintf(out, "(%s)\n", t->notes[i]);
	free(width);
}

void report_print_text(const struct report *r, FILE *out)
{
	unsigned width = terminal_width(out);
	bool colour = width && !getenv("NO_COLOR");

	for (unsigned i = 0; i < r->head.count; i++)
		fprintf(out, "%s\n", r->head.lines[i]);
	for (unsigned i = 0; i < r->table_count; i++)
		print_table(r->tables[i], out, width, colour);
	if (r->foot.count)
		fputc('\n', out);
	for (unsigned i = 0; i < r->foot.count; i++)
		fprintf(out, "%s\n", r->foot.lines[i]);
}
