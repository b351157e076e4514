/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo query`: SQL over the stores of traces, built where they are missing. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/pager.h"
#include "report/report.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/trace_store.h"
#include "stream/trace.h"
#include "report/query.h"
#endif

struct query_options {
	struct cli_filter filter;
	bool schema, rebuild;
	int format;
};

static struct query_options options;

#define AT(member) offsetof(struct query_options, member)

static const struct knob rows[] = {
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", REPORT_FORMATS, NULL, "Query",
	 "How results are printed"},
	{"schema", 0, KNOB_FLAG, 0, AT(schema), NULL, NULL, NULL, NULL, "Query",
	 "Print the tables and views instead; no trace is needed"},
	{"rebuild", 0, KNOB_FLAG, 0, AT(rebuild), NULL, NULL, NULL, NULL, "Query",
	 "Build the store again even if it looks good"},
	CLI_FILTER_KNOBS(struct query_options),
};

static struct knob_table table = {.command = "query",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

#ifdef KYMO_HAVE_SQLITE
static void log_message(struct stream_log *l, int severity, const char *text)
{
	cli_message(severity, text);
}

/* Once it is known that there is something to read. */
static void page(void)
{
	if (options.format == REPORT_TEXT)
		pager_start(CLI_OK);
}

static int query_stores(struct store **stores, char **paths, unsigned count, const char *sql,
			struct stream_log *log)
{
	kymo_status_t status = KYMO_OK;

	if (count > 1)
		status = query_join(stores, (const char *const *)paths, count, log);
	for (unsigned i = 0; i < count; i++)
		store_remove_temporary(stores[i]); /* all that opens them by their names has */
	if (status == KYMO_OK)
		status = query_print(stores[0], sql, (enum report_format)options.format, stdout,
				     page, log);
	if (ferror(stdout))
		cli_error("the results could not be written");
	if (status == KYMO_ERROR_NO_MEMORY)
		cli_error("not enough memory");
	if (status == KYMO_ERROR_INVALID_ARGUMENT)
		return CLI_USAGE;
	return status == KYMO_OK ? CLI_OK : CLI_FAILURE;
}

/*
 * The tables are as of now: what is written later is not in them. `at_work`: a drain was, before they
 * were made.
 */
static void tell_recording(struct stream_log *log, const char *path, const struct trace *t,
			   bool at_work)
{
	int64_t quiet = INT64_MAX;
	unsigned n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		n += p->recording;
		if (p->recording && p->quiet_ns < quiet)
			quiet = p->quiet_ns;
	}
	if (!n && at_work)
		stream_warn(log,
			    "%s: the trace is still being written: the answer is of what was "
			    "written so far",
			    path);
	if (n)
		stream_warn(log,
			    "%s: %u process%s still recording (last data %.1f s ago): the answer "
			    "is of what "
			    "was written so far",
			    path, n, n == 1 ? " is" : "es are", (double)quiet / 1e9);
}

static int run_query(int argc, char **argv)
{
	struct stream_log log = {log_message};
	struct format_options o = {.log = &log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Building the store"};
	struct stream_filter *filter;
	struct store **stores;
	unsigned count = 0;
	int result = CLI_OK;
	bool failed;
	const char *sql;

	if (options.schema) {
		pager_start(CLI_OK);
		fputs(store_schema, stdout);
		return CLI_OK;
	}
	if (argc < 2)
		return cli_usage("query", argc ? "what is the question? The last operand is SQL"
					       : "which trace, and which question?");
	if (argv[argc - 1][strspn(argv[argc - 1], " \t\r\n;")] == '\0')
		return cli_usage("query", "the last operand, the SQL, is empty");
	sql = argv[argc - 1];
	argc = cli_distinct(argc - 1, argv);
	stores = calloc((size_t)argc, sizeof(struct store *));
	if (!stores)
		return CLI_FAILURE;
	filter = cli_filter_new(&options.filter, (unsigned)argc, &failed);
	o.filter = filter;
	result = failed ? CLI_USAGE : CLI_OK;
	for (int i = 0; i < argc && result == CLI_OK; i++) {
		bool at_work = trace_being_written(argv[i]);
		kymo_status_t status =
			trace_store_open_named(argv[i], options.rebuild, &o, &stores[i]);

		if (status != KYMO_OK)
			result = cli_exit(status);
		else
			tell_recording(&log, argv[i], store_trace(stores[count++]), at_work);
	}
	if (result == CLI_OK && stream_filter_finish(filter) != KYMO_OK)
		result = CLI_USAGE;
	if (result == CLI_OK)
		result = query_stores(stores, argv, count, sql, &log);
	for (unsigned i = 0; i < count; i++)
		store_close(stores[i]);
	free(stores);
	stream_filter_free(filter);
	return result == CLI_OK && cli_told_errors() ? CLI_FAILURE : result;
}
#else
static int run_query(int argc, char **argv)
{
	cli_error("this kymo was built without SQLite, which queries need; install its development "
		  "files (libsqlite3-dev) and build again");
	return CLI_FAILURE;
}
#endif

const struct command cmd_query = {
	.name = "query",
	.operands = "[OPTION]... TRACE... SQL",
	.summary = "Query a trace in SQL",
	.about =
		"The trace's database is built for the first query, and kept in the trace.\n"
		"Tables hold records, views have the names and columns of ROCpd: regions, "
		"kernels,\n"
		"memory_copies, memory_allocations, messages, top, top_kernels, busy, "
		"kernel_summary ...\n"
		"kymo_arg(id, 'name') is an argument of a call, kymo_args(id) all of them as "
		"JSON,\n"
		"kymo_status(op, status) the name of a status. With several traces every table is "
		"the\n"
		"union of theirs, with a column `trace`. docs/store.md is the manual.\n"
		"Of a selection a store is built for the one query, which costs what is selected.\n"
		"Example: kymo query T.kymo \"SELECT * FROM top_kernels LIMIT 10\"",
	.knobs = &table,
	.traces = true,
	.run = run_query,
};
