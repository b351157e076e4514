/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo report`: a trace as one HTML page. */
#include "cli/input.h"

#ifdef KYMO_HAVE_PAGE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device_legend.h"
#include "base/units.h"
#include "cli/foreign.h"
#include "cli/staging.h"
#include "page/page.h"

struct report_options {
	struct cli_filter filter;
	const char *output;
	uint64_t size;
	bool force, verbose;
};

static struct report_options options;

#define AT(member) offsetof(struct report_options, member)

static const struct knob rows[] = {
	{"output", 'o', KNOB_STRING, 0, AT(output), "FILE", NULL, NULL, NULL, "Page",
	 "File to write (default: beside the trace, NAME.html)"},
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

/* NAME.kymo becomes NAME.html. */
static void default_output(const char *trace, struct text *out)
{
	const char *file = cli_foreign_source(trace) ? cli_foreign_source(trace) : trace;
	size_t n = strlen(file);

	while (n > 1 && file[n - 1] == '/')
		n--;
	if (!cli_foreign_source(trace) && n > 5 && strncmp(file + n - 5, ".kymo", 5) == 0)
		n -= 5;
	text_add_bytes(out, file, n);
	text_add(out, ".html");
}

/* Temporary data goes beside the output, which has room for a file of that kind. */
static void temporary_folder(const char *output, struct text *out)
{
	const char *directory = getenv("TMPDIR"), *slash = strrchr(output, '/');

	if (directory && *directory)
		text_add(out, directory);
	else if (slash)
		text_add_bytes(out, output, slash == output ? 1 : (size_t)(slash - output));
	else
		text_add(out, ".");
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

static kymo_status_t write_file(const struct page *p, const char *output, const char *path,
				const struct staging *place)
{
	struct page_bytes bytes;
	FILE *out = fopen(path, "we");
	bool ok;

	if (!out) {
		cli_error("%s: %s", output, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	staging_opened(place);
	ok = page_write(p, out, &bytes);
	if (fclose(out) != 0 || !ok) {
		cli_error("%s: %s", output, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	if (options.verbose)
		tell_bytes(p, &bytes);
	return KYMO_OK;
}

static kymo_status_t write_page(struct page *p, const char *output, char *const *traces)
{
	struct staging place;
	kymo_status_t status = staging_begin(&place, output, false, options.force, traces), ended;

	if (status != KYMO_OK)
		return status;
	status = write_file(p, output, place.path, &place);
	ended = staging_end(&place, status == KYMO_OK);
	if (status == KYMO_OK && ended == KYMO_OK)
		cli_note("%s: %llu record%s", output, (unsigned long long)p->data.records,
			 plural(p->data.records));
	return status == KYMO_OK ? ended : status;
}

/* ---- what is in it ----------------------------------------------------------------------------- */

static kymo_status_t read_records(struct page *p, struct summary *s, const struct format_options *o,
				  const char *folder)
{
	kymo_status_t status = page_data_init(&p->data, folder, &cli_log);

	if (status == KYMO_OK)
		status = page_encode_init(&p->encoded, folder);
	if (status == KYMO_OK)
		status = summary_stream(s, &p->data.sink, o);
	if (status == KYMO_OK)
		status = page_data_finish(&p->data, s->timeline);
	return status;
}

static kymo_status_t make_tables(struct page *p, struct summary *s)
{
	p->people = (struct report){.top = TABLE_TOP, .people = true, .fold = true, .utf8 = true};
	p->programs = (struct report){.top = 0};
	if (summary_report(&p->people, s, 1, BY_OP) != KYMO_OK ||
	    !device_legend(&p->people, s, 1) ||
	    summary_report(&p->programs, s, 1, BY_OP) != KYMO_OK)
		return KYMO_ERROR_NO_MEMORY;
	return KYMO_OK;
}

static kymo_status_t find(struct page *p, const struct summary *s, struct diagnosis *d,
			  struct symbols **symbols)
{
	*d = (struct diagnosis){.whole_names = true};
	*symbols = s->timeline ? symbols_new(s->trace, &cli_log) : NULL;
	if (!s->timeline)
		return KYMO_OK;
	if (!*symbols || !diagnose(d, s->path, s->timeline, s->tallies, *symbols))
		return KYMO_ERROR_NO_MEMORY;
	p->diagnosis = d;
	return KYMO_OK;
}

static kymo_status_t make(struct page *p, struct summary *s, const char *output,
			  const struct format_options *o, char *const *traces)
{
	struct text folder = {0};
	kymo_status_t status;

	temporary_folder(output, &folder);
	status = read_records(p, s, o, folder.s);
	if (status == KYMO_OK)
		status = page_fit(p, cli_progress, (void *)(uintptr_t) "Packing");
	cli_progress_clear();
	if (status == KYMO_OK)
		status = write_page(p, output, traces);
	else if (status == KYMO_ERROR_SYSTEM && !cli_told_errors())
		cli_error("temporary file in %s: %s; free space or set TMPDIR",
			  folder.s ? folder.s : "?", strerror(errno));
	page_encode_release(&p->encoded);
	page_data_release(&p->data);
	text_release(&folder);
	return status;
}

static kymo_status_t report_one(const char *path, const struct stream_filter *filter,
				char *const *traces)
{
	struct format_options o = {.log = &cli_log,
				   .filter = filter,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct page p = {.size = options.size};
	struct summary s;
	struct diagnosis d;
	struct symbols *symbols = NULL;
	struct text output = {0};
	kymo_status_t status;

	if (options.output)
		text_add(&output, options.output);
	else
		default_output(path, &output);
	status = summary_read(&s, path, SUMMARY_RAW, &o);
	if (status == KYMO_OK) {
		p.summary = &s;
		status = find(&p, &s, &d, &symbols);
		if (status == KYMO_OK)
			status = make_tables(&p, &s);
		if (status == KYMO_OK)
			status = make(&p, &s, output.s, &o, traces);
		report_release(&p.people);
		report_release(&p.programs);
		if (p.diagnosis)
			diagnosis_release(&d);
		symbols_free(symbols);
		summary_release(&s);
	}
	if (status == KYMO_ERROR_NO_MEMORY)
		cli_error("not enough memory for the page of %s", path);
	text_release(&output);
	cli_log_finish();
	return status;
}

static int run_report(int argc, char **argv)
{
	struct stream_filter *filter;
	kymo_status_t worst = KYMO_OK;
	bool failed;

	if (argc == 0)
		return cli_usage("report", "which trace? (the directory that `kymo run` left)");
	if (argc > 1 && options.output)
		return cli_usage("report", "-o names one page, but there are %d traces", argc);
	filter = cli_filter_new(&options.filter, (unsigned)argc, &failed);
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
	.operands = "[-o FILE.html] [OPTION]... TRACE...",
	.summary = "Write a trace as one HTML page with its timeline",
	.about = "The page is one file that needs nothing from elsewhere: open it in a browser. It "
		 "has the\n"
		 "digest, the findings, the tables and the timeline.",
	.knobs = &table,
	.traces = true,
	.run = run_report,
};
