/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing of reports: as text for a terminal or file, Markdown, an HTML page, CSV (RFC 4180, one
 * table with a first column that names the table a row belongs to; or with tabs) and JSON.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "analysis/table.h"

enum report_format {
	REPORT_TEXT,
	REPORT_MARKDOWN,
	REPORT_CSV,
	REPORT_JSON,
	REPORT_HTML,
	REPORT_TSV,
	REPORT_XLSX /* report_workbook() alone; of `kymo summary` */
};

/* The names `--format` takes, in order of enum report_format. */
#define REPORT_FORMATS "text|md|csv|json|html|tsv"

/* The same, with REPORT_XLSX where it is built in. */
#ifdef KYMO_HAVE_XLSX
#define REPORT_FORMATS_FILES REPORT_FORMATS "|xlsx"
#else
#define REPORT_FORMATS_FILES REPORT_FORMATS
#endif

/* Numbers have units, names are shortened, some rows are shown: it is read by people, not programs. */
static inline bool report_for_people(enum report_format format)
{
	return format == REPORT_TEXT || format == REPORT_MARKDOWN || format == REPORT_HTML;
}

/* No text that is printed has it. */
#define REPORT_MARK '\001'

/* The user's terminal shows UTF-8, as the environment says. */
bool report_utf8(void);

/* Standard output is no terminal itself, but a pager shows it on one of so many columns. */
void report_paged(unsigned columns);

/* False: `out` could not be written to. */
bool report_print(const struct report *r, enum report_format format, FILE *out);

/* A workbook at `path`: the lines around the tables, then each table, as programs get it. NULL: done; else why it is not written. */
const char *report_workbook(const struct report *r, const char *path);

/* A cell as text for people; the result lies in `buffer` or in the cell. */
const char *cell_show(const struct cell *c, enum cell_unit unit, char buffer[32]);

/* A cell as it is, for programs: numbers in base units. */
const char *cell_raw(const struct cell *c, enum cell_unit unit, char buffer[32]);

void report_print_text(const struct report *r, FILE *out);
void report_print_markdown(const struct report *r, FILE *out);
void report_print_separated(const struct report *r, enum report_format format, FILE *out);
void report_print_html(const struct report *r, FILE *out);
void report_print_json(const struct report *r, FILE *out);

/*
 * A table of any length, in portions: each time the rows that `t` has. Columns are as wide as those of the first portion
 * need, wider cells move what follows in their line. begin(): NULL: no memory.
 */
struct text_portions *text_portions_begin(const struct table *t, FILE *out);
void text_portions_add(struct text_portions *p, const struct table *t);
void text_portions_end(struct text_portions *p, const struct table *t);
void markdown_heading(const struct table *t, FILE *out);
void markdown_rows(const struct table *t, uint32_t shown, FILE *out);

/* The table of `t` with a row for each of its columns is r's only one; false: no memory. Either way to be released. */
bool report_turned(struct report *r, const struct table *t);

/* A line that tells how many rows people are not shown, if any. */
void report_print_more(const struct report *r, const struct table *t, uint32_t shown, FILE *out);

/* A page without script, and without anything from elsewhere; `title` is the page's. */
void html_begin(const char *title, FILE *out);
/* Text between tags, whatever it has, in one line. */
void html_text(FILE *out, const char *before, const char *s, const char *after);
/* Likewise, of several lines, that stay: no name is to be in it that was not made plain before. */
void html_text_lines(FILE *out, const char *before, const char *s, const char *after);
void html_end(FILE *out);
/* A table of any length, in portions as above. */
void html_heading(const struct table *t, FILE *out);
void html_rows(const struct table *t, uint32_t shown, FILE *out);
void html_table_end(FILE *out);

/* Rows of CSV or TSV: a field, quoted where it must be, what is between two, the end of a row. */
void separated_field(enum report_format format, FILE *out, const char *text);
void separated_next(enum report_format format, FILE *out);
void separated_end(enum report_format format, FILE *out);
/* A JSON string with its quotes. */
void json_string(FILE *out, const char *text);

#endif
