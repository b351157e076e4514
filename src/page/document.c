/* SPDX-License-Identifier: Apache-2.0 */
/* See document.h. */
#include "page/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "base/units.h"
#include "page/sensors.h"
#include "report/findings.h"

/* ---- facts ------------------------------------------------------------------------------------- */

/* Name and value of each; to be released. */
struct facts {
	struct text value[7];
	unsigned count;
};

/* "": the value says it. */
static const char *const fact_names[] = {"", "Command: ", "Selected: ", "Length: ", "", "", ""};

static void find_facts(struct facts *f, const struct page *p)
{
	const struct trace *t = p->read.trace;
	struct summary_told told;
	char length[UNITS_TEXT];

	summary_tell_quality(p->summary, &told);
	*f = (struct facts){.count = 7};
	text_add(&f->value[0], page_title(p));
	text_add(&f->value[1], t->command ? t->command : "");
	text_add(&f->value[2], p->read.selection ? p->read.selection : "");
	if (p->read.timeline)
		text_add(&f->value[3], units_time(timeline_length(p->read.timeline), length));
	text_add(&f->value[4], told.loss.s ? told.loss.s : "");
	text_add(&f->value[5], told.overhead.s ? told.overhead.s : "");
	text_add(&f->value[6], told.clock.s ? told.clock.s : "");
	summary_told_release(&told);
}

static void release_facts(struct facts *f)
{
	for (unsigned i = 0; i < f->count; i++)
		text_release(&f->value[i]);
}

/* ---- Markdown ---------------------------------------------------------------------------------- */

static void markdown_line(FILE *out, const char *before, const char *s, const char *after)
{
	struct text escaped = {0};

	plain_add_markdown(&escaped, s, strlen(s));
	fprintf(out, "%s%s%s", before, escaped.s ? escaped.s : "", after);
	text_release(&escaped);
}

static bool markdown_sensor(const struct page *p, FILE *out, const struct sensor *s, uint32_t curve)
{
	struct sensor_column at[SENSOR_SPARKS];
	struct text name = {0}, of = {0}, told = {0}, course = {0};
	bool ok = sensor_columns(p, curve, at, SENSOR_SPARKS);

	sensor_name(&name, &p->data, s);
	sensor_of(&of, &p->data, s, curve);
	sensor_told(&told, &p->data, s, curve);
	sensor_course(&course, &p->data.curves[curve], at, SENSOR_SPARKS);
	ok = ok && !name.failed && !of.failed && !told.failed && !course.failed;
	if (ok) {
		markdown_line(out, "| ", name.s, " | ");
		markdown_line(out, "", of.s ? of.s : "", " | ");
		markdown_line(out, "", told.s ? told.s : "", " | ");
		fprintf(out, "`%s` |\n", course.s);
	}
	text_release(&name);
	text_release(&of);
	text_release(&told);
	text_release(&course);
	return ok;
}

/* Telemetry or counters, each with its course over the run. False: no memory. */
static bool markdown_sensors(const struct page *p, FILE *out, enum page_curve_kind kind,
			     const char *title)
{
	struct sensors s;
	bool ok = sensors_find(&s, &p->data, kind);

	if (ok && s.count)
		fprintf(out,
			"\n## %s over time\n\n| counter | of | value | over the run; `.`: not "
			"measured |\n|---|---|---|---|\n",
			title);
	for (uint32_t i = 0; ok && i < s.count; i++)
		for (uint32_t k = 0; ok && k < s.list[i].count; k++)
			ok = markdown_sensor(p, out, &s.list[i], s.list[i].curves[k]);
	sensors_release(&s);
	return ok;
}

bool document_markdown(const struct page *p, FILE *out)
{
	struct facts f;

	find_facts(&f, p);
	markdown_line(out, "# ", page_title(p), "\n\n");
	for (unsigned i = 1; i < f.count; i++) {
		if (!f.value[i].length)
			continue;
		fprintf(out, "- %s", fact_names[i]);
		markdown_line(out, "", f.value[i].s, "\n");
	}
	release_facts(&f);
	fputs("\n## Digest and tables\n\n", out);
	if (!report_print(&p->people, REPORT_MARKDOWN, out) ||
	    !markdown_sensors(p, out, CURVE_TELEMETRY, "Telemetry") ||
	    !markdown_sensors(p, out, CURVE_COUNTER, "Counters"))
		return false;
	if (page_kernels_people(p->kernels)) {
		fputs("\n## Kernels\n\n", out);
		if (!report_print(page_kernels_people(p->kernels), REPORT_MARKDOWN, out))
			return false;
	}
	if (p->comparison.with) {
		fputs("\n## Comparison\n\n", out);
		markdown_line(out, "A: ", page_title(p), "; ");
		markdown_line(out, "B: ", p->comparison.name, "\n\n");
		if (!report_print(&p->comparison.people, REPORT_MARKDOWN, out))
			return false;
	}
	fputs("\n## Findings\n\n", out);
	if (p->diagnosis)
		return findings_print(p->diagnosis, REPORT_MARKDOWN, 0, FINDINGS_EACH, out);
	fputs("Nothing to judge: there are no records.\n", out);
	return fflush(out) == 0 && !ferror(out);
}

/* ---- PDF --------------------------------------------------------------------------------------- */

/* A4 across, in points. */
enum { WIDTH = 842, HEIGHT = 595, EDGE = 36, LINE = 11, LETTER = 8, COLUMNS = 158 };

struct pages {
	struct draw *d;
	double y;
	unsigned number, all; /* pages; all: as they were counted, 0: not yet */
	/* Of the table that is being written, for its next page; NULL: none is. */
	const char *title, *head;
};

/* The number stands on the page that ends. */
static void number_page(struct pages *g)
{
	char number[32];

	snprintf(number, sizeof(number), "page %u of %u", ++g->number, g->all);
	draw_text(g->d, WIDTH - EDGE, HEIGHT - 16, 8, DRAW_PLAIN, DRAW_RIGHT, DRAW_MUTED, number);
}

static void put_plain(struct pages *g, const char *s)
{
	draw_text(g->d, EDGE, g->y, LETTER, DRAW_MONO, DRAW_LEFT, DRAW_TEXT, s);
	g->y += LINE;
}

/* Where the next line begins that has COLUMNS at most, broken at a blank where there is one in its second half. */
static size_t line_length(const char *s)
{
	size_t n = 0, blank = 0, length = strlen(s);
	unsigned columns = 0;

	while (n < length) {
		uint32_t code;
		size_t bytes = plain_next(s + n, length - n, &code);

		columns += plain_columns(code);
		if (columns > COLUMNS)
			return blank ? blank : n;
		n += bytes;
		if (code == ' ' && columns > COLUMNS / 2)
			blank = n;
	}
	return n;
}

/* As many lines as it takes. */
static void put_pieces(struct pages *g, const char *s)
{
	do {
		size_t n = line_length(s);
		char *piece = strndup(s, n);

		if (piece)
			put_plain(g, piece);
		free(piece);
		s += n;
	} while (*s);
}

static void next_page(struct pages *g)
{
	number_page(g);
	draw_next_page(g->d);
	g->y = EDGE + LINE;
	if (g->head) {
		struct text title = {0};

		text_addf(&title, "%s (continued)", g->title ? g->title : "");
		if (g->title && title.s)
			put_plain(g, title.s);
		put_pieces(g, g->head);
		text_release(&title);
	}
}

static void heading(struct pages *g, const char *s, double size)
{
	if (g->y + 5 * LINE > HEIGHT - EDGE)
		next_page(g);
	g->y += size;
	draw_text_fitted(g->d, EDGE, g->y, size, WIDTH - 2 * EDGE, DRAW_LEFT, DRAW_TEXT, s);
	g->y += size * 0.4 + LINE;
}

static void put_line(struct pages *g, const char *s)
{
	if (g->y > HEIGHT - EDGE)
		next_page(g);
	put_plain(g, s);
}

/* Lines that it takes. */
static unsigned lines_of(const char *s)
{
	unsigned n = 0;

	do {
		s += line_length(s);
		n++;
	} while (*s);
	return n;
}

static void keep_together(struct pages *g, unsigned lines)
{
	if (g->y + (lines - 1) * LINE > HEIGHT - EDGE)
		next_page(g);
}

static void put_wrapped(struct pages *g, char *s)
{
	keep_together(g, lines_of(s));
	do {
		size_t n = line_length(s);
		char kept = s[n];

		s[n] = 0;
		put_line(g, s);
		s[n] = kept;
		s += n;
	} while (*s);
}

/*
 * Lines that stay on a page with the first one of a block, which an empty line ends: all of a short one, as a finding
 * is; of a table its title, its head and two rows.
 */
static unsigned block_lines(const char *text)
{
	enum { SHORT = 20, BEGINNING = 4 };
	unsigned n = 0;

	while (*text && *text != '\n' && n <= SHORT) {
		const char *end = strchrnul(text, '\n');
		char line[4 * COLUMNS];

		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		n += lines_of(line);
		text = *end ? end + 1 : end;
	}
	return n <= SHORT ? n : BEGINNING;
}

/* Every line of what was printed as text; where heads of tables are marked, they are repeated. False: no memory. */
static bool put_printed(struct pages *g, char *text)
{
	const char *before = NULL;
	bool begins = true;
	char *next;

	for (char *line = text; line && *line; line = next) {
		if (begins && *line != '\n')
			keep_together(g, block_lines(line));
		begins = *line == '\n';
		g->head = begins ? NULL : g->head;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (*line == REPORT_MARK) {
			put_wrapped(g, ++line);
			g->head = line;
			g->title = before;
		} else {
			put_wrapped(g, line);
		}
		before = *line ? line : NULL;
	}
	g->head = NULL;
	return text;
}

static bool put_findings(struct pages *g, const struct page *p)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	bool ok = out && findings_print(p->diagnosis, REPORT_TEXT, 0, FINDINGS_EACH, out);

	ok = out && fclose(out) == 0 && ok;
	keep_together(g, (text ? block_lines(text) : 0) + 4);
	heading(g, "Findings", 14);
	ok = ok && put_printed(g, text);
	free(text);
	return ok;
}

/* A report as text, below its own heading on a new page. */
static bool put_report(struct pages *g, const struct report *r, const char *title)
{
	struct report tables = *r;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	bool ok;

	tables.utf8 = true;
	tables.marked = true;
	ok = out && report_print(&tables, REPORT_TEXT, out);
	ok = out && fclose(out) == 0 && ok;
	next_page(g);
	heading(g, title, 14);
	ok = ok && put_printed(g, text);
	free(text);
	return ok;
}

/* The tables, and the lines behind them; those before them are the digest. */
static bool put_tables(struct pages *g, const struct page *p)
{
	struct report tables = p->people;

	tables.head.count = 0;
	return put_report(g, &tables, "Tables");
}

static bool put_comparison(struct pages *g, const struct page *p)
{
	struct text title = {0};
	bool ok;

	plain_addf(&title, "Comparison of A: %s with B: %s", page_title(p), p->comparison.name);
	ok = title.s && put_report(g, &p->comparison.people, title.s);
	text_release(&title);
	return ok;
}

static bool put_plots(struct pages *g, const struct page *p)
{
	const double scale = (double)(WIDTH - 2 * EDGE) / PLOT_WIDTH;
	bool ok = true;

	for (unsigned i = 0; ok && i < plots_count; i++) {
		const unsigned pictures = plot_has(plots[i], p) ? plot_pictures(plots[i], p) : 0;

		for (unsigned k = 0; ok && k < pictures; k++) {
			next_page(g);
			draw_place(g->d, EDGE, EDGE, scale);
			ok = plot_draw(plots[i], p, g->d, k);
			draw_place(g->d, 0, 0, 1);
		}
	}
	return ok;
}

static void put_facts(struct pages *g, const struct page *p)
{
	struct facts f;

	find_facts(&f, p);
	heading(g, page_title(p), 20);
	for (unsigned i = 1; i < f.count; i++) {
		struct text line = {0};

		if (f.value[i].length)
			plain_addf(&line, "%s%s", fact_names[i], f.value[i].s);
		if (line.length)
			put_wrapped(g, line.s);
		text_release(&line);
	}
	release_facts(&f);
}

static bool put_pages(struct pages *g, const struct page *p)
{
	bool ok;

	g->y = EDGE;
	put_facts(g, p);
	g->y += LINE;
	heading(g, "Digest", 14);
	for (unsigned i = 0; i < p->people.head.count; i++)
		put_wrapped(g, p->people.head.lines[i]);
	g->y += LINE;
	ok = (!p->diagnosis || put_findings(g, p)) && put_plots(g, p) && put_tables(g, p) &&
	     (!page_kernels_people(p->kernels) ||
	      put_report(g, page_kernels_people(p->kernels), "Kernels")) &&
	     (!p->comparison.with || put_comparison(g, p));
	number_page(g);
	return draw_end(g->d) && ok;
}

/* How many pages there will be: written once to nowhere, without cairo, as each tells their number. 0: *why, or errno. */
static unsigned count_pages(const struct page *p, const char **why)
{
	FILE *nowhere = fopen("/dev/null", "we");
	struct pages g = {0};
	bool ok = false;

	if (!nowhere)
		return 0;
	g.d = draw_begin(DRAW_SVG, WIDTH, HEIGHT, nowhere, "", why);
	if (g.d) {
		*why = NULL;
		ok = put_pages(&g, p);
	}
	fclose(nowhere);
	return ok ? g.number : 0;
}

bool document_pdf(const struct page *p, FILE *out, const char **why)
{
	struct pages g = {.d = draw_begin(DRAW_PDF, WIDTH, HEIGHT, out, "Kymo report", why)};
	bool ok;

	if (!g.d)
		return false;
	*why = NULL;
	g.all = count_pages(p, why);
	ok = put_pages(&g, p) && g.all;
	if (!ok && !errno)
		errno = ENOMEM;
	return ok;
}

bool document_plot(const struct page *p, const struct plot *plot, enum draw_form form, FILE *out,
		   const char **why)
{
	const unsigned pictures = plot_pictures(plot, p), below = form == DRAW_PDF ? 1 : pictures;
	struct draw *d = draw_begin(form, PLOT_WIDTH, PLOT_HEIGHT * below, out, plot->title, why);
	bool ok = true;

	if (!d)
		return false;
	*why = NULL;
	for (unsigned i = 0; ok && i < pictures; i++) {
		if (i && form == DRAW_PDF)
			draw_next_page(d);
		draw_place(d, 0, form == DRAW_PDF ? 0 : PLOT_HEIGHT * i, 1);
		ok = plot_draw(plot, p, d, i);
	}
	ok = draw_end(d) && ok;
	if (!ok && !errno)
		errno = ENOMEM;
	return ok;
}
