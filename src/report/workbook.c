/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as workbooks (XLSX), by libxlsxwriter: the lines around the tables are the first sheet, each table is one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "formats/csv/xlsx.h"
#include "report/report.h"

static const struct xlsx *x; /* from report_workbook() on */

enum { ROWS_MAX = 1048576, SHEET_NAME_MAX = 31, EXACT_DIGITS = 53 };

static void put_text(lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column, const char *s,
		     lxw_format *format)
{
	struct text shown = {0};

	plain_add_workbook(&shown, s, strlen(s));
	if (shown.length && !shown.failed)
		x->worksheet_write_string(sheet, row, column, shown.s, format);
	text_release(&shown);
}

static void lines(lxw_worksheet *sheet, lxw_row_t *row, const struct text_lines *l)
{
	for (unsigned i = 0; i < l->count; i++)
		put_text(sheet, (*row)++, 0, l->lines[i], NULL);
}

/* "average_ns" as "average (ns)". */
static void heading(struct text *out, const char *name)
{
	static const char *const units[] = {"ns", "bytes", "percent"};
	const char *last = strrchr(name, '_'), *unit = NULL;

	for (size_t i = 0; last && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(last + 1, units[i]) == 0)
			unit = units[i];
	for (const char *p = name; *p && !(unit && p == last); p++)
		text_add_bytes(out, *p == '_' ? " " : p, 1);
	if (unit)
		text_addf(out, " (%s)", strcmp(unit, "percent") == 0 ? "%" : unit);
}

static double width_of(const struct table *t, unsigned column, size_t heading_length)
{
	size_t most = heading_length + 4;

	if (t->columns[column].unit == CELL_TEXT)
		for (uint32_t r = 0; r < t->row_count; r++) {
			const struct cell *c = &t->cells[(size_t)r * t->column_count + column];
			size_t n = c->none ? 0 : strlen(c->s);

			most = n > most ? n : most;
		}
	return most > 60 ? 60 : most < 10 ? 10 : (double)most;
}

static void put_cell(lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column, const struct cell *c,
		     enum cell_unit unit)
{
	char buffer[32];
	double v;

	if (c->none)
		return;
	switch (unit) {
	case CELL_TEXT:
		put_text(sheet, row, column, c->s, NULL);
		return;
	case CELL_RATE:
	case CELL_PERCENT:
	case CELL_NUMBER:
	case CELL_BYTES_MEAN:
		v = c->f;
		break;
	default:
		if (c->u >> EXACT_DIGITS) { /* more digits than the number of a cell holds */
			put_text(sheet, row, column, cell_raw(c, unit, buffer), NULL);
			return;
		}
		v = (double)c->u;
		break;
	}
	if (isfinite(v))
		x->worksheet_write_number(sheet, row, column, v, NULL);
}

/* A table's name, and a number where there is one of that name: NULL: no memory. */
static lxw_worksheet *add_sheet(lxw_workbook *book, const char *name)
{
	char text[SHEET_NAME_MAX + 1];

	snprintf(text, sizeof(text), "%s", name);
	for (unsigned n = 2; x->workbook_get_worksheet_by_name(book, text); n++)
		snprintf(text, sizeof(text), "%.20s %u", name, n);
	return x->workbook_add_worksheet(book, text);
}

static bool put_table(lxw_workbook *book, lxw_format *bold, const struct table *t)
{
	lxw_worksheet *sheet = add_sheet(book, t->name);
	uint32_t rows = t->row_count < ROWS_MAX ? t->row_count : ROWS_MAX - 1;

	for (unsigned c = 0; sheet && c < t->column_count; c++) {
		struct text name = {0};

		heading(&name, t->columns[c].name);
		if (name.s && !name.failed) {
			x->worksheet_set_column(sheet, (lxw_col_t)c, (lxw_col_t)c,
						width_of(t, c, name.length), NULL);
			x->worksheet_write_string(sheet, 0, (lxw_col_t)c, name.s, bold);
		}
		text_release(&name);
	}
	for (uint32_t r = 0; sheet && r < rows; r++)
		for (unsigned c = 0; c < t->column_count; c++)
			put_cell(sheet, r + 1, (lxw_col_t)c,
				 &t->cells[(size_t)r * t->column_count + c], t->columns[c].unit);
	if (!sheet || !t->column_count)
		return sheet;
	x->worksheet_freeze_panes(sheet, 1, 0);
	x->worksheet_autofilter(sheet, 0, 0, rows, (lxw_col_t)(t->column_count - 1));
	return true;
}

const char *report_workbook(const struct report *r, const char *path)
{
	lxw_workbook_options options = {
		.constant_memory = 1, .tmpdir = getenv("TMPDIR"), .use_zip64 = 1};
	lxw_workbook *book;
	lxw_worksheet *first;
	lxw_format *bold;
	lxw_row_t row = 0;
	static char why[LIBRARY_WHY];
	bool ok;

	x = xlsx_load(why);
	if (!x)
		return why;
	book = x->workbook_new_opt(path, &options);
	first = book ? x->workbook_add_worksheet(book, "summary") : NULL;
	bold = book ? x->workbook_add_format(book) : NULL;
	ok = first && bold;

	if (ok) {
		x->format_set_bold(bold);
		x->worksheet_set_column(first, 0, 0, 120, NULL);
		lines(first, &row, &r->head);
	}
	for (unsigned i = 0; ok && i < r->table_count; i++) {
		const struct table *t = r->tables[i];

		for (unsigned k = 0; k < t->notes.count; k++)
			put_text(first, row++, 0, t->notes.lines[k], NULL);
		ok = put_table(book, bold, t);
	}
	if (ok)
		lines(first, &row, &r->foot);
	if (ok)
		return xlsx_close(book);
	if (book)
		x->lxw_workbook_free(book);
	return "not enough memory";
}
