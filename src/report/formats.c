/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as Markdown, CSV, TSV and JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "report/report.h"

/* ---- Markdown ---------------------------------------------------------------------------------- */

/* Between what is the format's own. */
static void print_markdown(FILE *out, const char *before, const char *s, const char *after)
{
	struct text escaped = {0};

	plain_add_markdown(&escaped, s, strlen(s));
	fprintf(out, "%s%s%s", before, escaped.s ? escaped.s : "", after);
	text_release(&escaped);
}

static void markdown_cell(FILE *out, const char *s)
{
	print_markdown(out, " ", s, " |");
}

void markdown_heading(const struct table *t, FILE *out)
{
	if (*t->title)
		print_markdown(out, "\n### ", t->title, "\n");
	fputs("\n|", out);
	for (unsigned c = 0; c < t->column_count; c++) {
		if (!t->columns[c].hidden)
			markdown_cell(out, t->columns[c].heading);
	}
	fputs("\n|", out);
	for (unsigned c = 0; c < t->column_count; c++) {
		if (!t->columns[c].hidden)
			fputs(t->columns[c].right ? "---:|" : "---|", out);
	}
	fputc('\n', out);
}

void markdown_rows(const struct table *t, uint32_t shown, FILE *out)
{
	char buffer[32];

	for (uint32_t r = 0; r < shown; r++) {
		fputc('|', out);
		for (unsigned c = 0; c < t->column_count; c++) {
			if (!t->columns[c].hidden)
				markdown_cell(out,
					      cell_show(&t->cells[(size_t)r * t->column_count + c],
							t->columns[c].unit, buffer));
		}
		fputc('\n', out);
	}
}

/* Lines of characters below each other: a block of code. */
static void markdown_drawn(const struct table *t, FILE *out)
{
	print_markdown(out, "\n### ", t->title, "\n\n");
	fputs("```\n", out);
	for (uint32_t r = 0; r < t->row_count; r++)
		plain_printf(out, "%s\n", t->cells[(size_t)r * t->column_count].s);
	fputs("```\n", out);
}

static void markdown_table(const struct report *report, const struct table *t, FILE *out)
{
	uint32_t shown = table_shown(t, report->top);

	if (t->drawn) {
		markdown_drawn(t, out);
		return;
	}
	markdown_heading(t, out);
	markdown_rows(t, shown, out);
	if (shown < t->row_count + t->more)
		fputc('\n', out);
	report_print_more(report, t, shown, out);
	for (unsigned i = 0; i < t->notes.count; i++)
		print_markdown(out, "\n", t->notes.lines[i], "\n");
}

static void markdown_turned(const struct table *t, FILE *out)
{
	struct report r;

	if (report_turned(&r, t))
		markdown_table(&r, r.tables[0], out);
	report_release(&r);
}

void report_print_markdown(const struct report *r, FILE *out)
{
	for (unsigned i = 0; i < r->head.count; i++)
		print_markdown(out, i ? "\n" : "", r->head.lines[i], "\n");
	for (unsigned i = 0; i < r->table_count; i++) {
		if (r->tables[i]->turned)
			markdown_turned(r->tables[i], out);
		else if (!r->tables[i]->hidden)
			markdown_table(r, r->tables[i], out);
	}
	for (unsigned i = 0; i < r->foot.count; i++)
		print_markdown(out, "\n", r->foot.lines[i], "\n");
}

/* ---- CSV, TSV ---------------------------------------------------------------------------------- */

void separated_field(enum report_format format, FILE *out, const char *text)
{
	struct text field = {0};

	if (format == REPORT_TSV)
		plain_add_tsv(&field, text, strlen(text));
	else
		plain_add_csv(&field, text, strlen(text));
	fputs(field.s ? field.s : "", out);
	text_release(&field);
}

void separated_next(enum report_format format, FILE *out)
{
	fputc(format == REPORT_TSV ? '\t' : ',', out);
}

void separated_end(enum report_format format, FILE *out)
{
	fputs(format == REPORT_TSV ? "\n" : "\r\n", out);
}

/* The columns of all tables, each name once. */
struct union_columns {
	const char **names;
	unsigned count;
};

static void collect_columns(struct union_columns *u, const struct report *r)
{
	unsigned room = 0;

	for (unsigned i = 0; i < r->table_count; i++)
		room += r->tables[i]->column_count;
	u->count = 0;
	u->names = calloc(room ? room : 1, sizeof(*u->names));
	for (unsigned i = 0; u->names && i < r->table_count; i++) {
		for (unsigned c = 0; c < r->tables[i]->column_count; c++) {
			const char *name = r->tables[i]->columns[c].name;
			unsigned k;

			for (k = 0; k < u->count && strcmp(u->names[k], name) != 0; k++)
				;
			if (k == u->count)
				u->names[u->count++] = name;
		}
	}
}

static void separated_row(const struct union_columns *u, const struct table *t, uint32_t row,
			  bool named, enum report_format format, FILE *out)
{
	char buffer[32];

	if (named)
		separated_field(format, out, t->name);
	for (unsigned k = 0; k < u->count; k++) {
		unsigned c;

		if (named || k)
			separated_next(format, out);
		for (c = 0; c < t->column_count && strcmp(t->columns[c].name, u->names[k]) != 0;
		     c++)
			;
		if (c < t->column_count)
			separated_field(format, out,
					cell_raw(&t->cells[(size_t)row * t->column_count + c],
						 t->columns[c].unit, buffer));
	}
	separated_end(format, out);
}

void report_print_separated(const struct report *r, enum report_format format, FILE *out)
{
	struct union_columns u;
	bool named = !r->alone;

	collect_columns(&u, r);
	if (!u.names)
		return;
	if (named)
		fputs("table", out);
	for (unsigned k = 0; k < u.count; k++) {
		if (named || k)
			separated_next(format, out);
		separated_field(format, out, u.names[k]);
	}
	separated_end(format, out);
	for (unsigned i = 0; i < r->table_count; i++) {
		for (uint32_t row = 0; row < r->tables[i]->row_count; row++)
			separated_row(&u, r->tables[i], row, named, format, out);
	}
	free(u.names);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

void json_string(FILE *out, const char *text)
{
	struct text quoted = {0};

	text_add_json(&quoted, text);
	fputs(quoted.s && !quoted.failed ? quoted.s : "\"\"", out);
	text_release(&quoted);
}

static void json_lines(FILE *out, const char *name, char *const *lines, unsigned count)
{
	fprintf(out, "  \"%s\": [", name);
	for (unsigned i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		json_string(out, lines[i]);
	}
	fputs("]", out);
}

static void json_row(const struct table *t, uint32_t row, FILE *out)
{
	char buffer[32];

	fputc('{', out);
	for (unsigned c = 0; c < t->column_count; c++) {
		const struct cell *cell = &t->cells[(size_t)row * t->column_count + c];
		const char *raw = cell_raw(cell, t->columns[c].unit, buffer);

		fputs(c ? ", " : "", out);
		json_string(out, t->columns[c].name);
		fputs(": ", out);
		if (!cell->none && t->columns[c].unit == CELL_TEXT)
			json_string(out, cell->s);
		else
			fputs(*raw ? raw : "null", out);
	}
	fputc('}', out);
}

static void json_table(const struct table *t, FILE *out)
{
	fputs("    {\"name\": ", out);
	json_string(out, t->name);
	fputs(", \"title\": ", out);
	json_string(out, t->title);
	fputs(", \"rows\": [", out);
	for (uint32_t r = 0; r < t->row_count; r++) {
		fputs(r ? ",\n      " : "\n      ", out);
		json_row(t, r, out);
	}
	fputs("]}", out);
}

void report_print_json(const struct report *r, FILE *out)
{
	fputs("{\n", out);
	json_lines(out, "head", r->head.lines, r->head.count);
	fputs(",\n  \"tables\": [\n", out);
	for (unsigned i = 0; i < r->table_count; i++) {
		fputs(i ? ",\n" : "", out);
		json_table(r->tables[i], out);
	}
	fputs("\n  ],\n", out);
	json_lines(out, "foot", r->foot.lines, r->foot.count);
	fputs("\n}\n", out);
}

bool report_print(const struct report *r, enum report_format format, FILE *out)
{
	switch (format) {
	case REPORT_TEXT:
		report_print_text(r, out);
		break;
	case REPORT_MARKDOWN:
		report_print_markdown(r, out);
		break;
	case REPORT_HTML:
		report_print_html(r, out);
		break;
	case REPORT_JSON:
		report_print_json(r, out);
		break;
	case REPORT_CSV:
	case REPORT_TSV:
		report_print_separated(r, format, out);
		break;
	case REPORT_XLSX:
		return false;
	}
	return fflush(out) == 0 && !ferror(out);
}
