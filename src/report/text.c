/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports for people. Columns as wide as their widest cell; on a terminal that is too narrow for
 * them names are cut and end in "...", then columns that can be spared give way. Elsewhere only
 * names beyond all measure are cut.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/plain.h"
#include "base/units.h"
#include "report/report.h"

#define GAP        2u
#define TEXT_FAIR  32u  /* names keep as much before columns give way */
#define TEXT_LEAST 16u  /* and as much in any case */
#define TEXT_MOST  120u /* where there is no terminal */

/* How the columns of a table are printed. */
struct layout {
	unsigned *width;
	bool *hide;
	unsigned limit; /* of a line; 0: none */
	bool grows;     /* cells may be wider than all that the widths were chosen from */
};

static unsigned paged; /* columns of the terminal behind a pager; 0: there is none */

void report_paged(unsigned columns)
{
	paged = columns;
}

/* Columns of the terminal behind `out`; 0: no terminal, no limit. */
static unsigned terminal_width(FILE *out)
{
	struct winsize w;

	if (paged && out == stdout)
		return paged;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0)
		return 0;
	return w.ws_col;
}

bool report_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "UTF-8") || strcasestr(value, "UTF8"));
}

static void measure_widths(const struct table *t, uint32_t shown, unsigned *width)
{
	char buffer[32];

	for (unsigned c = 0; c < t->column_count; c++) {
		width[c] = plain_width(t->columns[c].heading);
		for (uint32_t r = 0; r < shown; r++) {
			const struct cell *cell = &t->cells[(size_t)r * t->column_count + c];
			unsigned w = plain_width(cell_show(cell, t->columns[c].unit, buffer));

			width[c] = w > width[c] ? w : width[c];
		}
	}
}

static bool is_text(const struct table *t, unsigned c)
{
	return t->columns[c].unit == CELL_TEXT;
}

/* Width of a line in which no name takes more than `most`. */
static unsigned line_width(const struct table *t, const struct layout *l, unsigned most)
{
	unsigned total = 0, w;

	for (unsigned c = 0; c < t->column_count; c++) {
		if (l->hide[c])
			continue;
		w = is_text(t, c) && l->width[c] > most ? most : l->width[c];
		w = t->columns[c].whole && w > TEXT_LEAST ? TEXT_LEAST
							  : w; /* goes on in lines below */
		total += w + (total ? GAP : 0);
	}
	return total;
}

/* Takes the column away that is spared first; false: all that are left stay. */
static bool spare_one(const struct table *t, struct layout *l)
{
	unsigned least = 0, at = 0;

	for (unsigned c = 0; c < t->column_count; c++) {
		unsigned spare = t->columns[c].spare;

		if (spare && !l->hide[c] && (!least || spare < least)) {
			least = spare;
			at = c;
		}
	}
	l->hide[at] |= least != 0;
	return least != 0;
}

static void cut_names(const struct table *t, struct layout *l, unsigned limit)
{
	unsigned most = limit;

	while (most > TEXT_LEAST && line_width(t, l, most) > limit)
		most--;
	for (unsigned c = 0; c < t->column_count; c++)
		if (is_text(t, c) && !t->columns[c].whole && l->width[c] > most)
			l->width[c] = most;
}

static void fit_columns(const struct table *t, struct layout *l, unsigned limit)
{
	l->limit = limit;
	for (unsigned c = 0; c < t->column_count; c++) {
		l->hide[c] = t->columns[c].hidden;
		if (!limit && is_text(t, c) && !t->columns[c].whole && l->width[c] > TEXT_MOST)
			l->width[c] = TEXT_MOST;
	}
	if (!limit)
		return;
	while (line_width(t, l, TEXT_FAIR) > limit && spare_one(t, l))
		;
	cut_names(t, l, limit);
}

/* `s` in at most `width` columns, cut with "..." where it is wider; returns how many it takes. */
static unsigned add_fitted(struct text *out, const char *s, unsigned width)
{
	unsigned w = plain_width(s);

	if (w <= width) {
		plain_add(out, s, strlen(s));
		return w;
	}
	w = plain_add_cut(out, s, width - 3);
	text_add(out, "...");
	return w + 3;
}

/* Spaces wait in *pending until something follows them: no line ends in one. */
static void put_cell(FILE *out, const char *s, unsigned width, bool left, unsigned *pending)
{
	struct text cell = {0};
	unsigned w = add_fitted(&cell, s, width), pad = w < width ? width - w : 0;

	if (!left)
		*pending += pad;
	if (cell.length) {
		fprintf(out, "%*s%s", (int)*pending, "", cell.s);
		*pending = 0;
	}
	if (left)
		*pending += pad;
	text_release(&cell);
}

/* Of a cell that may be wider than its column: names as far as the line has room, numbers whole. */
static unsigned grown_width(const struct table *t, const struct layout *l, unsigned c,
			    const char *s, unsigned *taken)
{
	unsigned width = l->width[c], wanted = plain_width(s), most = TEXT_MOST;

	if (!l->grows || wanted <= width)
		return width;
	if (t->columns[c].right)
		most = wanted;
	else if (l->limit)
		most = l->limit > *taken ? width + l->limit - *taken : width;
	wanted = wanted < most ? wanted : most;
	if (wanted <= width)
		return width;
	*taken += wanted - width;
	return wanted;
}

static void print_row(const struct table *t, const struct cell *cells, const struct layout *l,
		      FILE *out)
{
	char buffer[32];
	unsigned pending = 0, taken = l->grows ? line_width(t, l, UINT_MAX) : 0;
	bool first = true;

	for (unsigned c = 0; c < t->column_count; c++) {
		const struct table_column *column = &t->columns[c];
		const char *s =
			cells ? cell_show(&cells[c], column->unit, buffer) : column->heading;

		if (l->hide[c])
			continue;
		pending += first ? 0 : GAP;
		first = false;
		put_cell(out, s, grown_width(t, l, c, s, &taken), !column->right, &pending);
	}
	fputc('\n', out);
}

void report_print_more(const struct report *r, const struct table *t, uint32_t shown, FILE *out)
{
	char more[32];

	if (shown < t->row_count + t->more)
		fprintf(out, "... %s more (%s)\n",
			units_count(t->row_count + t->more - shown, more), r->more ? r->more : "");
}

static void print_notes(const struct table *t, const struct layout *l, FILE *out)
{
	bool first = true;

	for (unsigned i = 0; i < t->notes.count; i++)
		plain_printf(out, "(%s)\n", t->notes.lines[i]);
	for (unsigned c = 0; c < t->column_count; c++) {
		if (l->hide[c] == t->columns[c].hidden)
			continue;
		plain_printf(out, "%s%s", first ? "(no room for " : ", ", t->columns[c].heading);
		first = false;
	}
	if (!first)
		fputs(")\n", out);
}

static void print_heading(const struct table *t, const struct layout *l, FILE *out, bool colour,
			  bool marked)
{
	if (*t->title)
		plain_printf(out, colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", t->title);
	if (marked)
		fputc(REPORT_MARK, out);
	if (colour)
		fputs("\033[4m", out);
	print_row(t, NULL, l, out);
	if (colour)
		fputs("\033[0m", out);
}

static void print_cells(const struct table *t, uint32_t shown, const struct layout *l, FILE *out)
{
	for (uint32_t r = 0; r < shown; r++)
		print_row(t, t->cells + (size_t)r * t->column_count, l, out);
}

/* False: no memory. Either way to be released. */
static bool choose_layout(struct layout *l, const struct table *t, uint32_t shown, unsigned limit)
{
	*l = (struct layout){.width = calloc(t->column_count + 1u, sizeof(*l->width)),
			     .hide = calloc(t->column_count + 1u, sizeof(*l->hide))};
	if (!l->width || !l->hide)
		return false;
	measure_widths(t, shown, l->width);
	fit_columns(t, l, limit);
	return true;
}

static void release_layout(struct layout *l)
{
	free(l->width);
	free(l->hide);
}

static void print_table(const struct report *r, const struct table *t, FILE *out, unsigned limit,
			bool colour)
{
	uint32_t shown = table_shown(t, r->top);
	struct layout l;

	if (choose_layout(&l, t, shown, limit)) {
		print_heading(t, &l, out, colour, r->marked);
		print_cells(t, shown, &l, out);
		report_print_more(r, t, shown, out);
		print_notes(t, &l, out);
	}
	release_layout(&l);
}

static void print_turned(const struct table *t, FILE *out, unsigned limit, bool colour, bool marked)
{
	struct report r;

	if (report_turned(&r, t)) {
		r.marked = marked;
		print_table(&r, r.tables[0], out, limit, colour);
	}
	report_release(&r);
}

/* ---- in portions ------------------------------------------------------------------------------- */

struct text_portions {
	struct layout layout;
	FILE *out;
};

struct text_portions *text_portions_begin(const struct table *t, FILE *out)
{
	struct text_portions *p = calloc(1, sizeof(*p));
	unsigned width = terminal_width(out);

	if (!p || !choose_layout(&p->layout, t, t->row_count, width)) {
		if (p)
			release_layout(&p->layout);
		free(p);
		return NULL;
	}
	p->out = out;
	print_heading(t, &p->layout, out, width && !getenv("NO_COLOR"), false);
	text_portions_add(p, t);
	p->layout.grows = true;
	return p;
}

void text_portions_add(struct text_portions *p, const struct table *t)
{
	print_cells(t, t->row_count, &p->layout, p->out);
}

void text_portions_end(struct text_portions *p, const struct table *t)
{
	print_notes(t, &p->layout, p->out);
	release_layout(&p->layout);
	free(p);
}

void report_print_text(const struct report *r, FILE *out)
{
	unsigned width = terminal_width(out);
	bool colour = width && !getenv("NO_COLOR");

	for (unsigned i = 0; i < r->head.count; i++)
		plain_printf(out, "%s\n", r->head.lines[i]);
	for (unsigned i = 0; i < r->table_count; i++) {
		if (r->tables[i]->turned)
			print_turned(r->tables[i], out, width, colour, r->marked);
		else if (!r->tables[i]->hidden)
			print_table(r, r->tables[i], out, width, colour);
	}
	if (r->foot.count)
		fputc('\n', out);
	for (unsigned i = 0; i < r->foot.count; i++)
		plain_printf(out, "%s\n", r->foot.lines[i]);
}
