/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of records as sheets of a workbook (ECMA-376, by libxlsxwriter), in constant memory: the library keeps each
 * sheet's rows in a temporary file. Numbers are numbers where a cell's, a double, can hold all their digits, else text;
 * text is text, whatever it begins with.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "formats/csv/csv.h"
#include "formats/csv/xlsx.h"
#include "stream/unplaced.h"

enum {
	ROWS_MAX = 1048576, /* of a sheet */
	DIGITS_MAX = 15     /* that all doubles have */
};

static const struct xlsx *x; /* from workbook_open() on */

static const char *const nanoseconds[] = {"start",     "end",         "duration",  "queued",
					  "submitted", "time",        "collected", "call_start",
					  "submit",    "clock_error", "lived",     "recorded"};

/* Headings tell units, as numbers have none. */
static void add_unit(struct text *heading)
{
	for (size_t i = 0; i < sizeof(nanoseconds) / sizeof(*nanoseconds); i++)
		if (heading->s && strcmp(heading->s, nanoseconds[i]) == 0) {
			text_add(heading, " (ns)");
			return;
		}
}

static double width_of(const char *heading)
{
	static const char *const wide[] = {"name",  "kernel", "arguments", "command",
					   "exe",   "label",  "payload",   "text",
					   "agent", "queue",  "site"};

	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (strcmp(heading, wide[i]) == 0)
			return 32;
	return strlen(heading) < 10 ? 12 : (double)strlen(heading) + 4;
}

static void write_heading(struct csv_out *o, lxw_format *bold)
{
	const char *p = csv_header(o->table);
	lxw_col_t column = 0;

	while (p) {
		size_t n = strcspn(p, ",");
		struct text heading = {0};

		text_add_bytes(&heading, p, n);
		add_unit(&heading);
		if (heading.s && !heading.failed) {
			x->worksheet_set_column(o->sheet, column, column, width_of(heading.s),
						NULL);
			x->worksheet_write_string(o->sheet, 0, column, heading.s, bold);
		}
		text_release(&heading);
		column++;
		p = p[n] ? p + n + 1 : NULL;
	}
	x->worksheet_freeze_panes(o->sheet, 1, 0);
	o->row = 1;
}

/* A table that is not empty has a sheet; false: there is no row more for it. */
static bool cell(struct csv_out *o)
{
	lxw_workbook *book = o->writer->book;

	if (!o->sheet) {
		lxw_format *bold = x->workbook_add_format(book);

		o->sheet = x->workbook_add_worksheet(book, csv_name(o->table));
		if (!o->sheet || !bold)
			return false;
		x->format_set_bold(bold);
		write_heading(o, bold);
	}
	return o->row < ROWS_MAX;
}

static void put_text(struct csv_out *o, const char *s)
{
	if (cell(o) && *s)
		x->worksheet_write_string(o->sheet, o->row, (lxw_col_t)o->column, s, NULL);
	o->column++;
}

static void workbook_text(struct csv_out *o, const char *s, size_t n)
{
	struct text shown = {0};

	if (!plain_add_workbook(&shown, s, n))
		o->writer->cut++;
	put_text(o, shown.s && !shown.failed ? shown.s : "");
	text_release(&shown);
}

static void workbook_number(struct csv_out *o, const char *digits)
{
	if (strlen(digits) > DIGITS_MAX && !strpbrk(digits, ".e")) {
		put_text(o, digits);
		return;
	}
	if (cell(o))
		x->worksheet_write_number(o->sheet, o->row, (lxw_col_t)o->column,
					  strtod(digits, NULL), NULL);
	o->column++;
}

static kymo_status_t workbook_end_row(struct csv_out *o)
{
	o->column = 0;
	if (!o->sheet)
		return KYMO_ERROR_NO_MEMORY;
	if (o->row < ROWS_MAX)
		o->row++;
	else
		o->left_out++;
	return KYMO_OK;
}

static kymo_status_t workbook_open(struct csv_writer *w)
{
	char *folder = getenv("TMPDIR");
	lxw_workbook_options options = {.constant_memory = 1, .tmpdir = folder, .use_zip64 = 1};
	char why[LIBRARY_WHY];
	kymo_status_t status;

	if (!w->o.output) {
		stream_error(w->o.log,
			     "xlsx cannot go to standard output: give the file a name with -o");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	x = xlsx_load(why);
	if (!x) {
		stream_error(w->o.log, "workbooks need libxlsxwriter: %s", why);
		return KYMO_ERROR_SYSTEM;
	}
	status = output_open(&w->file, w->o.output, w->o.force, w->o.log);
	if (status == KYMO_OK)
		status = output_close(&w->file, w->o.log); /* the library opens it again */
	if (status != KYMO_OK)
		return status;
	w->book = x->workbook_new_opt(w->o.output, &options);
	return w->book ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static void tell(struct csv_writer *w)
{
	for (unsigned i = 0; i < CSV_TABLES; i++) {
		bool records = i <= CSV_OTHERS || i == CSV_OPEN_CALLS || i == CSV_UNFINISHED;

		unplaced_leave(&w->unplaced, csv_name(i), w->out[i].left_out,
			       records ? w->out[i].left_out : 0);
	}
	unplaced_tell(
		&w->unplaced, w->o.log,
		"a sheet of a workbook has 1048576 rows, no place for (select fewer, or use csv)");
	if (w->cut)
		stream_warn(w->o.log,
			    "a cell of a workbook has 32767 characters: texts that are longer were "
			    "cut (%llu)",
			    (unsigned long long)w->cut);
}

static kymo_status_t workbook_finish(struct csv_writer *w)
{
	const char *why;

	for (unsigned i = 0; i < CSV_TABLES; i++) {
		lxw_col_t last = 0;

		if (!w->out[i].sheet)
			continue;
		for (const char *p = csv_header(i); *p; p++)
			last += *p == ',';
		x->worksheet_autofilter(w->out[i].sheet, 0, 0, w->out[i].row - 1, last);
	}
	why = xlsx_close(w->book);
	w->book = NULL;
	tell(w);
	if (!why)
		return KYMO_OK;
	stream_error(w->o.log, "%s: incomplete: %s", w->o.output, why);
	return KYMO_ERROR_SYSTEM;
}

static void workbook_release(struct csv_writer *w)
{
	if (w->book)
		x->lxw_workbook_free(w->book);
}

static const struct csv_form workbook = {
	.open = workbook_open,
	.text = workbook_text,
	.number = workbook_number,
	.end_row = workbook_end_row,
	.close = workbook_finish,
	.release = workbook_release,
};

static kymo_status_t xlsx_write(const struct format_options *o, struct stream_sink **sink)
{
	return csv_make(o, &workbook, sink);
}

extern const struct format format_xlsx;
const struct format format_xlsx = {
	.name = "xlsx",
	.summary = "a workbook with a sheet for each kind of record, for spreadsheets",
	.suffix = ".xlsx",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.write = xlsx_write,
	.sink_free = csv_free,
};
