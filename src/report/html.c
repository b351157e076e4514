/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as an HTML page: one file that needs no other, and executes nothing. */
#include <string.h>

#include "base/plain.h"
#include "report/report.h"

static void put(FILE *out, const char *before, struct text *escaped, const char *after)
{
	fprintf(out, "%s%s%s", before, escaped->s ? escaped->s : "", after);
	text_release(escaped);
}

void html_text(FILE *out, const char *before, const char *s, const char *after)
{
	struct text escaped = {0};

	plain_add_html(&escaped, s, strlen(s));
	put(out, before, &escaped, after);
}

void html_text_lines(FILE *out, const char *before, const char *s, const char *after)
{
	struct text escaped = {0};

	plain_add_html_lines(&escaped, s, strlen(s));
	put(out, before, &escaped, after);
}

void html_begin(const char *title, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\">\n",
	      out);
	html_text(out, "<title>", title, "</title>\n");
	fputs("<style>\n"
	      "body { font: 14px/1.4 sans-serif; margin: 2em; color: #222; background: #fff; }\n"
	      "table { border-collapse: collapse; margin: 0.5em 0; }\n"
	      "th, td { padding: 0.15em 0.8em; border-bottom: 1px solid #ddd; text-align: left; "
	      "vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; }\n"
	      "th { border-bottom: 2px solid #888; }\n"
	      ".n { text-align: right; white-space: nowrap; }\n"
	      "pre { font: 13px/1.4 monospace; white-space: pre-wrap; }\n"
	      "</style>\n</head>\n<body>\n",
	      out);
}

void html_end(FILE *out)
{
	fputs("</body>\n</html>\n", out);
}

static void html_cell(FILE *out, const struct table_column *column, const char *tag, const char *s)
{
	fprintf(out, "<%s%s>", tag, column->right ? " class=\"n\"" : "");
	(column->lines ? html_text_lines : html_text)(out, "", s, "");
	fprintf(out, "</%s>", tag);
}

void html_heading(const struct table *t, FILE *out)
{
	if (*t->title)
		html_text(out, "<h2>", t->title, "</h2>\n");
	fputs("<table>\n<thead><tr>", out);
	for (unsigned c = 0; c < t->column_count; c++)
		if (!t->columns[c].hidden)
			html_cell(out, &t->columns[c], "th", t->columns[c].heading);
	fputs("</tr></thead>\n<tbody>\n", out);
}

void html_rows(const struct table *t, uint32_t shown, FILE *out)
{
	char buffer[32];

	for (uint32_t r = 0; r < shown; r++) {
		fputs("<tr>", out);
		for (unsigned c = 0; c < t->column_count; c++)
			if (!t->columns[c].hidden)
				html_cell(out, &t->columns[c], "td",
					  cell_show(&t->cells[(size_t)r * t->column_count + c],
						    t->columns[c].unit, buffer));
		fputs("</tr>\n", out);
	}
}

void html_table_end(FILE *out)
{
	fputs("</tbody>\n</table>\n", out);
}

static void html_drawn(const struct table *t, FILE *out)
{
	html_text(out, "<h2>", t->title, "</h2>\n<pre>");
	for (uint32_t r = 0; r < t->row_count; r++)
		html_text(out, "", t->cells[(size_t)r * t->column_count].s, "\n");
	fputs("</pre>\n", out);
}

static void html_table(const struct report *report, const struct table *t, FILE *out)
{
	uint32_t shown = table_shown(t, report->top);

	if (t->drawn) {
		html_drawn(t, out);
		return;
	}
	html_heading(t, out);
	html_rows(t, shown, out);
	html_table_end(out);
	if (shown < t->row_count + t->more) {
		fputs("<p>", out);
		report_print_more(report, t, shown, out);
		fputs("</p>\n", out);
	}
	for (unsigned i = 0; i < t->notes.count; i++)
		html_text(out, "<p>", t->notes.lines[i], "</p>\n");
}

static void html_turned(const struct table *t, FILE *out)
{
	struct report r;

	if (report_turned(&r, t))
		html_table(&r, r.tables[0], out);
	report_release(&r);
}

/* Lines stay as they are: some are drawings of characters below each other. */
static void html_lines(const struct text_lines *l, FILE *out)
{
	if (!l->count)
		return;
	fputs("<pre>", out);
	for (unsigned i = 0; i < l->count; i++)
		html_text(out, "", l->lines[i], "\n");
	fputs("</pre>\n", out);
}

void report_print_html(const struct report *r, FILE *out)
{
	html_begin("Kymo", out);
	html_lines(&r->head, out);
	for (unsigned i = 0; i < r->table_count; i++) {
		if (r->tables[i]->turned)
			html_turned(r->tables[i], out);
		else if (!r->tables[i]->hidden)
			html_table(r, r->tables[i], out);
	}
	html_lines(&r->foot, out);
	html_end(out);
}
