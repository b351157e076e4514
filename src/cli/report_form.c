/* SPDX-License-Identifier: Apache-2.0 */
/* See report_form.h. */
#include "cli/cli.h"

#ifdef KYMO_HAVE_PAGE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/report_form.h"

static const char *const endings[FORM_COUNT] = {
	[FORM_HTML] = ".html", [FORM_MARKDOWN] = ".md", [FORM_PDF] = ".pdf", [FORM_XLSX] = ".xlsx",
	[FORM_SVG] = ".svg",   [FORM_PNG] = ".png",     [FORM_JPEG] = ".jpg"};

const char *report_form_ending(enum report_form form)
{
	return endings[form];
}

static bool ends_with(const char *s, const char *ending)
{
	size_t n = strlen(s), k = strlen(ending);

	return n > k && strcasecmp(s + n - k, ending) == 0;
}

enum report_form report_form_of(enum report_form asked, const char *output, const char *plot)
{
	if (asked != FORM_AUTO)
		return asked;
	for (unsigned i = FORM_HTML; output && i < FORM_COUNT; i++)
		if (ends_with(output, endings[i]))
			return (enum report_form)i;
	if (output && ends_with(output, ".jpeg"))
		return FORM_JPEG;
	return plot ? FORM_SVG : FORM_HTML;
}

static bool is_picture(enum report_form form)
{
	return form == FORM_SVG || form == FORM_PNG || form == FORM_JPEG;
}

static int which_plot(const char *plot)
{
	struct text names = {0};
	int result;

	for (unsigned i = 0; i < plots_count; i++)
		text_addf(&names, "%s%s", i ? ", " : "", plots[i]->name);
	result = plot ? cli_usage("report", "there is no plot \"%s\": there are %s", plot,
				  names.s ? names.s : "")
		      : cli_usage("report", "a picture is of one plot: --plot %s",
				  names.s ? names.s : "");
	text_release(&names);
	return result;
}

int report_form_check(enum report_form form, const char *output, const char *plot)
{
	if (plot ? !plot_named(plot) : is_picture(form))
		return which_plot(plot);
	if (plot && !is_picture(form) && form != FORM_PDF)
		return cli_usage("report", "--plot goes with SVG, PNG, JPEG and PDF");
	if (form == FORM_XLSX && output && strcmp(output, "-") == 0)
		return cli_usage("report",
				 "a workbook cannot go to standard output: name it with -o");
	return CLI_OK;
}

static bool write_plot(const struct page *p, enum report_form form, const struct plot *plot,
		       FILE *out, const char **why)
{
	static const enum draw_form forms[FORM_COUNT] = {[FORM_PDF] = DRAW_PDF,
							 [FORM_SVG] = DRAW_SVG,
							 [FORM_PNG] = DRAW_PNG,
							 [FORM_JPEG] = DRAW_JPEG};

	return document_plot(p, plot, forms[form], out, why);
}

#ifdef KYMO_HAVE_XLSX
/* Lines of all of them, in `room`, which it returns behind them. */
static char **take_lines(struct text_lines *to, char **room, const struct report *const *from,
			 unsigned count, bool head)
{
	*to = (struct text_lines){.lines = room};
	for (unsigned i = 0; i < count; i++) {
		const struct text_lines *l = head ? &from[i]->head : &from[i]->foot;

		for (unsigned n = 0; n < l->count; n++)
			to->lines[to->count++] = l->lines[n];
	}
	return room + to->count;
}

/* The reports behind each other. NULL: written, else why not. */
static const char *write_reports(const struct report *const *from, unsigned count, const char *path)
{
	struct report all = *from[0];
	size_t pieces = 1;
	const char *why;
	void **room;
	char **lines;

	for (unsigned i = 0; i < count; i++)
		pieces += from[i]->table_count + from[i]->head.count + from[i]->foot.count;
	room = calloc(pieces, sizeof(*room));
	if (!room)
		return "not enough memory";
	all.tables = (struct table **)room;
	all.table_count = 0;
	for (unsigned i = 0; i < count; i++)
		for (unsigned n = 0; n < from[i]->table_count; n++)
			all.tables[all.table_count++] = from[i]->tables[n];
	lines = take_lines(&all.head, (char **)room + all.table_count, from, count, true);
	take_lines(&all.foot, lines, from, count, false);
	why = report_workbook(&all, path);
	free(room);
	return why;
}

/* The summary, behind it kernels and the comparison, where there are some. */
static const char *write_workbook(const struct page *p, const char *path)
{
	const struct report *from[3] = {&p->programs};
	unsigned count = 1;

	if (page_kernels_programs(p->kernels))
		from[count++] = page_kernels_programs(p->kernels);
	if (p->comparison.with)
		from[count++] = &p->comparison.programs;
	return write_reports(from, count, path);
}
#endif

bool report_form_write(const struct page *p, enum report_form form, const struct plot *plot,
		       FILE *out, const char *path, const char **why)
{
	*why = NULL;
	errno = 0;
	if (plot)
		return write_plot(p, form, plot, out, why);
	if (form == FORM_MARKDOWN)
		return document_markdown(p, out);
	if (form == FORM_PDF)
		return document_pdf(p, out, why);
#ifdef KYMO_HAVE_XLSX
	*why = write_workbook(p, path);
	return !*why;
#else
	(void)path;
	*why = "this kymo was built without libxlsxwriter, which workbooks need";
	return false;
#endif
}

void report_form_plots(const struct page *p, struct text *out)
{
	for (unsigned i = 0; i < plots_count; i++)
		if (plot_has(plots[i], p))
			text_addf(out, "%s%s", out->length ? ", " : "", plots[i]->name);
}
#endif
