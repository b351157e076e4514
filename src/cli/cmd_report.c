/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo report`: a trace as one HTML page, or as text, workbook, print, pictures of plots. */
#include "cli/input.h"

#ifdef KYMO_HAVE_PAGE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/foreign.h"
#include "cli/report_form.h"
#include "cli/staging.h"
#include "page/kernels.h"
#include "page/page.h"
#include "stream/spool.h"

struct report_options {
	struct cli_filter filter;
	const char *output, *plot, *compare, *metrics_file;
	uint64_t size;
	int format;
	bool force, verbose;
};

static struct report_options options;

#define AT(member) offsetof(struct report_options, member)

static const struct knob rows[] = {
	{"output", 'o', KNOB_STRING, 0, AT(output), "FILE", NULL, NULL, NULL, "Page",
	 "File to write (default: beside the trace, NAME.html); - is standard output"},
	{"format", 0, KNOB_ENUM, 0, AT(format), "FORMAT", "auto", REPORT_FORMS, NULL, "Page",
	 "Form of the file; auto: by its ending, and HTML where that says nothing. Pictures (svg, "
	 "png, jpg) are of one plot"},
	{"plot", 0, KNOB_STRING, 0, AT(plot), "NAME", NULL, NULL, NULL, "Page",
	 "Draw this plot alone (kymo list plots): as svg, png, jpg or pdf; default: NAME.PLOT.svg "
	 "beside the trace"},
	{"compare", 0, KNOB_STRING, 0, AT(compare), "B", NULL, NULL, NULL, "Page",
	 "Another trace: the report also says, as kymo compare TRACE B does, what takes longer in "
	 "B "
	 "than in TRACE"},
	{"metrics-file", 0, KNOB_STRING, 0, AT(metrics_file), "FILE", NULL, NULL, NULL, "Page",
	 "Add panels of kernels, or replace tables of Kymo's, by those of a file "
	 "(docs/metrics.md)"},
	{"force", 'f', KNOB_FLAG, 0, AT(force), NULL, NULL, NULL, NULL, "Page",
	 "Replace what is there"},
	{"size", 0, KNOB_SIZE, 0, AT(size), "SIZE", "28M", NULL, NULL, "Page",
	 "Bytes that the page has at most: what records keep is cut down until it fits, and said "
	 "in "
	 "the page"},
	{"verbose", 'v', KNOB_FLAG, 0, AT(verbose), NULL, NULL, NULL, NULL, "Page",
	 "Say what the bytes of the page are of"},
	CLI_FILTER_KNOBS(struct report_options),
};

static struct knob_table table = {.command = "report",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* NAME.kymo becomes NAME.html, or NAME.PLOT.svg. */
static void default_output(const char *trace, enum report_form form, struct text *out)
{
	const char *file = cli_foreign_source(trace) ? cli_foreign_source(trace) : trace;
	size_t n = strlen(file);

	while (n > 1 && file[n - 1] == '/')
		n--;
	if (!cli_foreign_source(trace) && n > 5 && strncmp(file + n - 5, ".kymo", 5) == 0)
		n -= 5;
	text_add_bytes(out, file, n);
	if (options.plot)
		text_addf(out, ".%s", options.plot);
	text_add(out, report_form_ending(form));
}

static void tell_bytes(const struct page *p, const struct page_bytes *b)
{
	static const char *const names[] = {"levels", "slices", "curves", "messages", "search"};

	cli_note("bytes: bundle %llu, tables %llu, head %llu, data %llu",
		 (unsigned long long)b->bundle, (unsigned long long)b->tables,
		 (unsigned long long)b->head, (unsigned long long)b->data);
	for (unsigned i = 0; i < SECTION_KINDS; i++)
		if (p->encoded.sections.bytes[i])
			cli_note("  %s %llu, in base64 %llu", names[i],
				 (unsigned long long)p->encoded.sections.bytes[i],
				 (unsigned long long)p->encoded.sections.bytes[i] * 4 / 3);
}

static bool write_html(const struct page *p, FILE *out, const char *output)
{
	struct page_bytes bytes;
	uint64_t size;

	if (!page_write(p, out, &bytes))
		return false;
	size = bytes.bundle + bytes.tables + bytes.head + bytes.data;
	if (size > p->size && out != stdout)
		cli_warn("%s has %llu bytes, more than --size: what is in every page takes that",
			 output, (unsigned long long)size);
	if (options.verbose && out != stdout)
		tell_bytes(p, &bytes);
	return true;
}

/* False: *why, or errno. */
static bool write_form(const struct page *p, enum report_form form, FILE *out, const char *output,
		       const char *path, const char **why)
{
	*why = NULL;
	if (form == FORM_HTML)
		return write_html(p, out, output);
	return report_form_write(p, form, options.plot ? plot_named(options.plot) : NULL, out, path,
				 why);
}

static kymo_status_t write_file(const struct page *p, enum report_form form, const char *output,
				const struct staging *place)
{
	FILE *out = fopen(place->path, "we");
	const char *why = NULL;
	bool ok;

	if (!out) {
		cli_error("%s: %s", output, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	staging_opened(place);
	ok = write_form(p, form, out, output, place->path, &why);
	if (!ok)
		cli_error("%s: %s", output, why ? why : strerror(errno));
	if (fclose(out) != 0 && ok) {
		cli_error("%s: %s", output, strerror(errno));
		ok = false;
	}
	return ok ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

/* Of a file's names what could not be drawn. */
static void tell_unknown(const char *output)
{
	char examples[DRAW_EXAMPLES];
	uint64_t count = draw_unknown(examples);

	if (count)
		cli_warn("%s: no font here has %llu of the letters (%s); \"\xef\xbf\xbd\" stands "
			 "for "
			 "them. Install a font that has (Debian: fonts-noto, fonts-noto-cjk), or "
			 "write SVG or HTML, which leave letters to who shows them",
			 output, (unsigned long long)count, examples);
}

static kymo_status_t write_out(const struct page *p, enum report_form form)
{
	const char *why;

	if (write_form(p, form, stdout, "standard output", NULL, &why)) {
		tell_unknown("standard output");
		return KYMO_OK;
	}
	cli_error("standard output: %s", why ? why : strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

static void tell_written(const struct page *p, enum report_form form, const char *output)
{
	if (form == FORM_HTML)
		cli_note("%s: %llu record%s", output, (unsigned long long)p->data.records,
			 plural(p->data.records));
	else
		cli_note("%s", output);
}

/* A plot of what the trace does not have would be an empty picture. */
static kymo_status_t check_plot(struct page *p, const char *trace, const struct format_options *o)
{
	struct text has = {0};

	if (!options.plot || plot_has(plot_named(options.plot), p))
		return KYMO_OK;
	if (!p->flames.made && page_read_flames(p, o) != KYMO_OK)
		return KYMO_ERROR_NO_MEMORY;
	report_form_plots(p, &has);
	cli_error("%s has nothing that the plot \"%s\" shows; %s%s", trace, options.plot,
		  has.length ? "it has what these show: " : "nor what any other does",
		  has.length ? has.s : "");
	text_release(&has);
	return KYMO_ERROR_NOT_FOUND;
}

/* `place` is NULL: to standard output. */
static kymo_status_t make_page(struct page *p, const char *path, enum report_form form,
			       const char *output, const struct staging *place,
			       const struct format_options *o)
{
	const bool flames =
		options.plot ? plot_is_flame(plot_named(options.plot)) : form == FORM_PDF;
	char *folder = spool_directory_of(place ? output : NULL, false);
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (folder)
		status = form == FORM_HTML ? page_make(p, path, folder, o)
					   : page_read(p, path, folder, flames, o);
	free(folder);
	if (status == KYMO_OK)
		status = check_plot(p, path, o);
	cli_progress_clear();
	if (status != KYMO_OK)
		return status;
	return place ? write_file(p, form, output, place) : write_out(p, form);
}

/* Where the page cannot be is told before there is one. */
static kymo_status_t make_in_place(struct page *p, const char *path, enum report_form form,
				   const char *output, char *const *traces,
				   const struct format_options *o)
{
	struct staging place;
	kymo_status_t status, ended;

	if (strcmp(output, "-") == 0)
		return make_page(p, path, form, output, NULL, o);
	status = staging_begin(&place, output, false, options.force, traces);
	if (status != KYMO_OK)
		return status;
	status = make_page(p, path, form, output, &place, o);
	ended = staging_end(&place, status == KYMO_OK);
	if (status == KYMO_OK && ended == KYMO_OK) {
		tell_written(p, form, output);
		tell_unknown(output);
	}
	return status == KYMO_OK ? ended : status;
}

static kymo_status_t report_one(const char *path, const struct stream_filter *filter,
				char *const *traces)
{
	const enum report_form form =
		report_form_of((enum report_form)options.format, options.output, options.plot);
	struct format_options o = {.log = &cli_log,
				   .filter = filter,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	const char *with = options.compare;
	struct page p = {.size = options.size,
			 .metrics_file = options.metrics_file,
			 .without_kernels = options.plot && strcmp(options.plot, "roofline") != 0,
			 .comparison.with = with,
			 .comparison.name = with && cli_foreign_source(with)
						    ? cli_foreign_source(with)
						    : with};
	struct text output = {0};
	kymo_status_t status;

	if (options.output)
		text_add(&output, options.output);
	else
		default_output(path, form, &output);
	status = make_in_place(&p, path, form, output.s, traces, &o);
	page_release(&p);
	text_release(&output);
	cli_log_finish();
	return status;
}

static int run_report(int argc, char **argv)
{
	struct stream_filter *filter;
	kymo_status_t worst = KYMO_OK;
	char error[600];
	bool failed;
	int usage;

	if (argc == 0)
		return cli_usage("report", "which trace? (the directory that `kymo run` left)");
	if (argc > 1 && options.output)
		return cli_usage("report", "-o names one page, but there are %d traces", argc);
	usage = report_form_check(
		report_form_of((enum report_form)options.format, options.output, options.plot),
		options.output, options.plot);
	if (usage != CLI_OK)
		return usage;
	if (!page_kernels_check(options.metrics_file, error, sizeof(error))) {
		cli_error("--metrics-file %s", error);
		return CLI_USAGE;
	}
	if (options.compare &&
	    !cli_foreign_operands(1, (char **)(uintptr_t)&options.compare, false))
		return CLI_FAILURE;
	filter = cli_filter_new(&options.filter, (unsigned)argc + (options.compare != NULL),
				&failed);
	if (failed)
		return CLI_USAGE;
	for (int i = 0; i < argc; i++) {
		kymo_status_t status = report_one(argv[i], filter, argv);

		worst = status == KYMO_OK ? worst : status;
	}
	if (worst == KYMO_OK)
		worst = stream_filter_finish(filter);
	stream_filter_free(filter);
	return cli_exit(worst);
}
#else
static struct knob_table table = {.command = "report"};

static int run_report(int argc, char **argv)
{
	cli_error("this kymo was built without zlib, which pages need");
	return CLI_FAILURE;
}
#endif

extern const struct command cmd_report;
const struct command cmd_report = {
	.name = "report",
	.operands = "[-o FILE] [OPTION]... TRACE...",
	.summary = "Write a trace as one HTML page with its timeline, or as PDF, Markdown, XLSX, "
		   "plots",
	.about = "The page is one file that needs nothing from elsewhere: open it in a browser. It "
		 "has the\n"
		 "digest, the findings, the tables and the timeline. PDF, Markdown and XLSX have "
		 "the\n"
		 "same without the timeline; --plot draws one plot as SVG, PNG, JPEG or PDF, "
		 "without a\n"
		 "browser.",
	.knobs = &table,
	.traces = true,
	.run = run_report,
};
