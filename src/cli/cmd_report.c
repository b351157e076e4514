/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo report`: a trace as one HTML page. */
#include "cli/input.h"

#ifdef KYMO_HAVE_PAGE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/foreign.h"
#include "cli/staging.h"
#include "page/page.h"
#include "stream/spool.h"

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
	 "File to write (default: beside the trace, NAME.html); - is standard output"},
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
	uint64_t size;
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
	size = bytes.bundle + bytes.tables + bytes.head + bytes.data;
	if (size > p->size)
		cli_warn("%s has %llu bytes, more than --size: what is in every page takes that",
			 output, (unsigned long long)size);
	if (options.verbose)
		tell_bytes(p, &bytes);
	return KYMO_OK;
}

static kymo_status_t write_out(const struct page *p)
{
	struct page_bytes bytes;

	if (page_write(p, stdout, &bytes))
		return KYMO_OK;
	cli_error("standard output: %s", strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

static kymo_status_t write_page(const struct page *p, const char *output,
				const struct staging *place)
{
	if (!place)
		return write_out(p);
	return write_file(p, output, place->path, place);
}

/* `place` is NULL: to standard output. */
static kymo_status_t make_page(const char *path, const char *output, const struct staging *place,
			       const struct format_options *o, uint64_t *records)
{
	struct page p = {.size = options.size};
	char *folder = spool_directory_of(place ? output : NULL, false);
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (folder) {
		status = page_make(&p, path, folder, o);
		cli_progress_clear();
		if (status == KYMO_OK)
			status = write_page(&p, output, place);
		*records = p.data.records;
		page_release(&p);
	}
	free(folder);
	return status;
}

/* Where the page cannot be is told before there is one. */
static kymo_status_t make_in_place(const char *path, const char *output, char *const *traces,
				   const struct format_options *o)
{
	struct staging place;
	uint64_t records = 0;
	kymo_status_t status, ended;

	if (strcmp(output, "-") == 0)
		return make_page(path, output, NULL, o, &records);
	status = staging_begin(&place, output, false, options.force, traces);
	if (status != KYMO_OK)
		return status;
	status = make_page(path, output, &place, o, &records);
	ended = staging_end(&place, status == KYMO_OK);
	if (status == KYMO_OK && ended == KYMO_OK)
		cli_note("%s: %llu record%s", output, (unsigned long long)records, plural(records));
	return status == KYMO_OK ? ended : status;
}

static kymo_status_t report_one(const char *path, const struct stream_filter *filter,
				char *const *traces)
{
	struct format_options o = {.log = &cli_log,
				   .filter = filter,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct text output = {0};
	kymo_status_t status;

	if (options.output)
		text_add(&output, options.output);
	else
		default_output(path, &output);
	status = make_in_place(path, output.s, traces, &o);
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
