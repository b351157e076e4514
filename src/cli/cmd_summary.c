/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo summary`: where the time of one or several traces went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device_legend.h"
#include "analysis/summary.h"
#include "analysis/table_names.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/pager.h"
#include "cli/staging.h"
#include "report/report.h"

enum { NAMES_FOLDED, NAMES_FULL };

struct summary_options {
	struct cli_filter filter;
	const char *by;
	const char *tables;
	const char *output;
	int format;
	int unit;      /* enum units_time_unit */
	int size_unit; /* enum units_size_unit */
	int64_t max_depth;
	int64_t top;
	int names;
	bool all;
	bool strict;
	bool force;
};

static struct summary_options options;

#define AT(member) offsetof(struct summary_options, member)

static const struct knob rows[] = {
	{"by", 0, KNOB_LIST, 0, AT(by), "LIST", "op",
	 "op|node|rank|process|thread|device|subdevice|queue|peer|scope|site|stack|library|kernel|"
	 "grid|"
	 "communicator|direction|size|trace",
	 NULL, "Summary", "What a row stands for; several words: a row for each combination"},
	{"max-depth", 0, KNOB_INTEGER, 0, AT(max_depth), "N", "0", NULL, NULL, "Summary",
	 "With --by scope: paths of N names at most; what is done in ranges below counts for the "
	 "one at that depth. 0: all"},
	{"tables", 0, KNOB_LIST, 0, AT(tables), "LIST", NULL, NULL, NULL, "Summary",
	 "Show these tables alone, by their names in csv and json; --tables help names them, "
	 "digest "
	 "is what the plain command begins with"},
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", REPORT_FORMATS_FILES, NULL,
	 "Summary", "How it is printed; times in csv and json are nanoseconds"},
	{"output", 'o', KNOB_STRING, 0, AT(output), "FILE", NULL, NULL, NULL, "Summary",
	 "Write it to a file; - is standard output, to which xlsx cannot go"},
	{"force", 0, KNOB_FLAG, 0, AT(force), NULL, NULL, NULL, NULL, "Summary",
	 "With --output: replace what is there"},
	{"unit", 0, KNOB_ENUM, 0, AT(unit), "UNIT", "fitting", "fitting|ns|us|ms|s", NULL,
	 "Summary",
	 "Of times in text and md: the one that fits each, or one for all, to the nanosecond"},
	{"size-unit", 0, KNOB_ENUM, 0, AT(size_unit), "UNIT", "fitting",
	 "fitting|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB", NULL, "Summary",
	 "Of sizes, likewise: powers of 1000 (kB, MB, ...) or of 1024 (KiB, MiB, ...)"},
	{"top", 0, KNOB_INTEGER, 0, AT(top), "N", "10", NULL, NULL, "Summary",
	 "Show so many rows of each table; 0: all. In csv and json all rows are there"},
	{"all", 0, KNOB_FLAG, 0, AT(all), NULL, NULL, NULL, NULL, "Summary",
	 "Show all rows of the tables"},
	{"names", 0, KNOB_ENUM, 0, AT(names), "HOW", "folded", "folded|full", NULL, "Summary",
	 "Show annotations whose names differ only in a counter, a handle or fields (\"step 1\", "
	 "\"step 2\", ...) as one row where they are more than three, names of kernels without "
	 "parameters and inner template arguments, and devices by numbers, or each by its name; in "
	 "csv and json all are there"},
	{"strict", 0, KNOB_FLAG, 0, AT(strict), NULL, NULL, NULL, NULL, "Summary",
	 "Exit with status 1 if anything was lost (records, samples, definitions, processes, "
	 "files, rows of "
	 "tallies), or the end of a recording is missing"},
	CLI_FILTER_KNOBS(struct summary_options),
};

static struct knob_table table = {.command = "summary",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

static void log_message(struct stream_log *l, int severity, const char *text)
{
	cli_message(severity, text);
}

static int list_tables(void)
{
	pager_start(CLI_OK);
	puts("Calls, one table for each API: its domain (opencl, mpi, cuda, ...; kymo list "
	     "domains)");
	for (const struct table_name *n = table_names; n->name; n++)
		printf("%-20s%s\n", n->name, n->what);
	return CLI_OK;
}

/* What people look for first has no name of its own. */
static int no_table_of_calls(const struct summary *s, unsigned count)
{
	struct text names = {0};
	int status;

	table_names_of_calls(&names, s, count);
	status = cli_usage(
		"summary",
		"there is no table \"calls\": calls have one for each API, by its domain%s%s",
		names.s ? "; here --tables " : " (kymo list domains)", names.s ? names.s : "");
	text_release(&names);
	return status;
}

static int check_tables(const struct summary *s, unsigned count)
{
	const char *bad, *nearest;
	size_t length;

	if (table_names_known(options.tables, s, count, &bad, &length, &nearest))
		return CLI_OK;
	if (length == strlen("calls") && strncmp(bad, "calls", length) == 0)
		return no_table_of_calls(s, count);
	if (nearest)
		return cli_usage("summary", "there is no table \"%.*s\"; did you mean \"%s\"?",
				 (int)length, bad, nearest);
	return cli_usage("summary", "there is no table \"%.*s\"; --tables help names them",
			 (int)length, bad);
}

/* Standard output, or a file that takes its place when all of it is written. */
struct destination {
	struct staging staging;
	FILE *out;
	bool file;
};

/* True: it is open; else said why not. */
static bool destination_open(struct destination *d, char *const *traces)
{
	d->out = stdout;
	d->file = options.output && strcmp(options.output, "-") != 0;
	if (!d->file)
		return true;
	if (staging_begin(&d->staging, options.output, false, options.force, traces) != KYMO_OK)
		return false;
	d->out = fopen(d->staging.path, "w");
	if (!d->out) {
		cli_error("%s: %s", options.output, strerror(errno));
		staging_end(&d->staging, false);
		return false;
	}
	staging_opened(&d->staging);
	return true;
}

/* Returns the command's result. */
static int destination_close(struct destination *d, int result)
{
	bool whole = result != CLI_FAILURE;

	if (!d->file)
		return result;
	if (fclose(d->out) != 0 && whole) {
		cli_error("%s: %s", options.output, strerror(errno));
		whole = false;
	}
	if (staging_end(&d->staging, whole) != KYMO_OK)
		whole = false;
	return whole ? result : CLI_FAILURE;
}

/* False: *why, or NULL where whoever closes the output knows it. */
static bool write_report(const struct report *r, const struct destination *d, const char **why)
{
	*why = NULL;
#ifdef KYMO_HAVE_XLSX
	if (options.format == REPORT_XLSX) {
		*why = report_workbook(r, d->staging.path);
		return !*why;
	}
#endif
	return report_print(r, (enum report_format)options.format, d->out);
}

static int print_report(struct report *r, struct summary *s, unsigned count, unsigned by,
			const struct destination *d)
{
	bool ok = summary_report(r, s, count, by) == KYMO_OK;
	const char *why;

	if (ok && options.tables)
		report_choose(r);
	if (!ok || (r->fold && !device_legend(r, s, count))) {
		cli_error("not enough memory for the summary");
		return CLI_FAILURE;
	}
	if (!write_report(r, d, &why)) {
		cli_error("the summary could not be written%s%s", why ? ": " : "", why ? why : "");
		return CLI_FAILURE;
	}
	return CLI_OK;
}

static int print_traces(struct summary *s, unsigned count, unsigned by, char *const *traces)
{
	bool people = report_for_people((enum report_format)options.format);
	struct report r = {.top = options.all || options.top > UINT32_MAX ? 0
									  : (uint32_t)options.top,
			   .chosen = options.tables,
			   .by = by == BY_OP ? NULL : options.by,
			   .more = "--top N, --all",
			   .utf8 = report_utf8(),
			   .people = people,
			   .fold = people && options.names == NAMES_FOLDED};
	int result = options.strict && summary_lossy(s, count) ? CLI_NO : CLI_OK;
	struct destination d = {0};
	int printed;

	if (!destination_open(&d, traces))
		return CLI_FAILURE;
	if (options.format == REPORT_TEXT && !d.file)
		pager_start(result);
	printed = print_report(&r, s, count, by, &d);
	report_release(&r);
	return destination_close(&d, printed == CLI_OK ? result : printed);
}

static int run_summary(int argc, char **argv)
{
	struct stream_log log = {log_message};
	struct format_options o = {.log = &log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct stream_filter *filter;
	struct summary *s;
	unsigned by, count = 0;
	bool failed;
	const char *bad;
	size_t bad_length;
	int result = CLI_OK;

	if (options.tables && strcmp(options.tables, "help") == 0)
		return list_tables();
	if (report_for_people((enum report_format)options.format)) {
		units_time_in((enum units_time_unit)options.unit);
		units_size_in((enum units_size_unit)options.size_unit);
	}
	if (argc == 0)
		return cli_usage("summary", "which trace? (the directory that `kymo run` left)");
	if (options.format == REPORT_XLSX && (!options.output || strcmp(options.output, "-") == 0))
		return cli_usage("summary",
				 "a workbook cannot go to standard output: name it with -o");
	by = summary_by_parse(options.by, &bad, &bad_length);
	if (!by)
		return cli_usage("summary", "--by does not know \"%.*s\"", (int)bad_length, bad);
	if (summary_by_useless(by))
		return cli_usage("summary",
				 "--by %s: nothing is known by all of these together. "
				 "Calls, ranges and errors have a thread, messages a thread and a "
				 "peer, kernels and copies a device and a queue, copies also a "
				 "direction; only copies and messages have a size",
				 options.by);
	if (options.max_depth && !(by & BY_SCOPE))
		return cli_usage("summary", "--max-depth goes with --by scope");
	o.depth = options.max_depth < UINT32_MAX ? (uint32_t)options.max_depth : 0;
	argc = cli_distinct(argc, argv);
	if (argc > 1 && !(by & BY_TRACE))
		cli_note("%d traces are added up; --by trace,op keeps them apart", argc);
	s = calloc((size_t)argc, sizeof(*s));
	if (!s)
		return CLI_FAILURE;
	filter = cli_filter_new(&options.filter, (unsigned)argc, &failed);
	o.filter = filter;
	result = failed ? CLI_USAGE : CLI_OK;
	for (int i = 0; i < argc && result == CLI_OK; i++) {
		kymo_status_t status = summary_read_by(&s[i], argv[i], by, &o);

		if (status != KYMO_OK)
			result = cli_exit(status);
		else
			count++;
	}
	if (result == CLI_OK && stream_filter_finish(filter) != KYMO_OK)
		result = CLI_USAGE;
	if (result == CLI_OK && options.tables)
		result = check_tables(s, count);
	if (result == CLI_OK)
		result = print_traces(s, count, by, argv);
	for (unsigned i = 0; i < count; i++)
		summary_release(&s[i]);
	free(s);
	stream_filter_free(filter);
	return result == CLI_OK && cli_told_errors() ? CLI_FAILURE : result;
}

const struct command cmd_summary = {
	.name = "summary",
	.operands = "[OPTION]... TRACE...",
	.summary = "Show where the time of a trace went",
	.about =
		"Tables of host calls by API, messages, kernels, copies, bytes by direction, "
		"queues,\n"
		"memory, waits, and errors (when and where each came first); below them, what was\n"
		"lost and how far times can be trusted. Several traces are added up; --by "
		"trace,op\n"
		"keeps them apart.",
	.knobs = &table,
	.traces = true,
	.passes_on = true,
	.run = run_summary,
};
