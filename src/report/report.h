/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing of reports: as text for a terminal or file, Markdown, CSV (RFC 4180, one table with a
 * first column that names the table a row belongs to) and JSON.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "analysis/table.h"

enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_CSV, REPORT_JSON };

/* The names `--format` takes, in order of enum report_format. */
#define REPORT_FORMATS "text|md|csv|json"

/* The user's terminal shows UTF-8, as the environment says. */
bool report_utf8(void);

/* Standard output is no terminal itself, but a pager shows it on one of so many columns. */
void report_paged(unsigned columns);

/* False: `out` could not be written to. */
bool report_print(const struct report *r, enum report_format format, FILE *out);

/* A cell as text for people; the result lies in `buffer` or in the cell. */
const char *cell_show(const struct cell *c, enum cell_unit unit, char buffer[32]);

/* A cell as it is, for programs: numbers in base units. */
const char *cell_raw(const struct cell *c, enum cell_unit unit, char buffer[32]);

void report_print_text(const struct report *r, FILE *out);
void report_print_markdown(const struct report *r, FILE *out);
void report_print_csv(const struct report *r, FILE *out);
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

/* A field of a CSV row, quoted where it must be. */
void csv_field(FILE *out, const char *text);
/* A JSON string with its quotes. */
void json_string(FILE *out, const char *text);

#endif
