/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo query`: SQL over the stores of traces, built where they are missing. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/pager.h"
#include "report/report.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/passes.h"
#include "analysis/trace_store.h"
#include "stream/trace.h"
#include "report/query.h"
#endif

struct query_options {
	struct cli_filter filter;
	const char *file;
	bool kernel_counters, schema, rebuild;
	int format;
};

static struct query_options options;

#define AT(member) offsetof(struct query_options, member)

static const struct knob rows[] = {
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", REPORT_FORMATS, NULL, "Query",
	 "How results are printed"},
	{"file", 0, KNOB_STRING, 0, AT(file), "FILE", NULL, NULL, NULL, "Query",
	 "Take the SQL out of a file (of a folder: all its files NAME.sql, by their names): each "
	 "statement's result has a heading, the first line of the comment before it"},
	{"kernel-counters", 0, KNOB_FLAG, 0, AT(kernel_counters), NULL, NULL, NULL, NULL, "Query",
	 "Instead of SQL: the counters of kernels, a row for each launch, of one run or of several "
	 "that counted one pass each (kymo run --replay application)"},
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

/* ---- statements of files ----------------------------------------------------------------------- */

struct query_files {
	struct query_script *at;
	unsigned count, room;
};

static bool add_script(struct query_files *f, const char *file, const char *sql)
{
	char *name = file ? strdup(file) : NULL, *text = strdup(sql);

	if ((file && !name) || !text || !vec_reserve(&f->at, &f->room, f->count, 1)) {
		free(name);
		free(text);
		cli_error("not enough memory");
		return false;
	}
	f->at[f->count].file = name;
	f->at[f->count].sql = text;
	f->count++;
	return true;
}

static void release_scripts(struct query_files *f)
{
	while (f->count) {
		f->count--;
		free((char *)(uintptr_t)f->at[f->count].file);
		free((char *)(uintptr_t)f->at[f->count].sql);
	}
	free(f->at);
}

static unsigned lines_of(const char *text)
{
	unsigned n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static bool read_script(struct query_files *f, const char *path)
{
	size_t bytes = 0;
	char *sql = file_read(path, &bytes);
	bool ok = false;

	if (!sql)
		cli_error("%s: %s", path, strerror(errno));
	else if (strlen(sql) != bytes)
		cli_error("%s: it is no text: there is a zero byte in line %u", path,
			  lines_of(sql));
	else
		ok = add_script(f, path, sql);
	free(sql);
	return ok;
}

static int is_sql(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 4 && e->d_name[0] != '.' && strcmp(e->d_name + n - 4, ".sql") == 0;
}

static bool read_folder(struct query_files *f, const char *path)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_sql, alphasort);
	bool ok = n > 0;

	if (n < 0)
		cli_error("%s: %s", path, strerror(errno));
	else if (n == 0)
		cli_error("%s: no file NAME.sql is in it", path);
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%.*s/%s", PATH_MAX - NAME_MAX - 2, path,
			 entries[i]->d_name);
		ok = ok && read_script(f, file);
		free(entries[i]);
	}
	free(entries);
	return ok;
}

static bool read_scripts(struct query_files *f, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(f, path);
	return read_script(f, path);
}

/* Takes the SQL off the operands. False: said why. */
static bool take_scripts(struct query_files *f, int *argc, char **argv)
{
	if (options.file)
		return read_scripts(f, options.file);
	if (options.kernel_counters)
		return true;
	--*argc;
	return add_script(f, NULL, argv[*argc]);
}

/* What is asked for without SQL, once the traces are joined. */
static kymo_status_t add_question(struct query_files *f, struct store *s, unsigned traces,
				  struct stream_log *log)
{
	char *sql;
	bool added;

	if (!options.kernel_counters)
		return KYMO_OK;
	sql = passes_sql(store_database(s), traces, log);
	added = sql && add_script(f, NULL, sql);
	sqlite3_free(sql);
	return added ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static int query_stores(struct store **stores, char **paths, unsigned count,
			struct query_files *files, struct stream_log *log)
{
	kymo_status_t status = KYMO_OK;

	if (count > 1)
		status = query_join(stores, (const char *const *)paths, count, log);
	for (unsigned i = 0; i < count; i++)
		store_remove_temporary(stores[i]); /* all that opens them by their names has */
	if (status == KYMO_OK)
		status = add_question(files, stores[0], count, log);
	if (status == KYMO_OK)
		status = query_print(stores[0], files->at, files->count,
				     (enum report_format)options.format, stdout, page, log);
	if (ferror(stdout))
		cli_error("the results could not be written");
	if (status == KYMO_ERROR_NO_MEMORY)
		cli_error("not enough memory");
	if (status == KYMO_ERROR_INVALID_ARGUMENT)
		return CLI_USAGE;
	return status == KYMO_OK ? CLI_OK : CLI_FAILURE;
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
	struct query_files files = {0};

	if (options.schema) {
		pager_start(CLI_OK);
		fputs(store_schema, stdout);
		return CLI_OK;
	}
	if (options.kernel_counters && options.file)
		return cli_usage("query",
				 "--kernel-counters is a question itself: not with --file");
	if (options.kernel_counters && !argc)
		return cli_usage("query", "--kernel-counters: of which traces?");
	if (argc < 1 + !(options.file || options.kernel_counters))
		return cli_usage("query", argc ? "what is the question? The last operand is SQL"
					       : "which trace, and which question?");
	if (!options.file && !options.kernel_counters &&
	    argv[argc - 1][strspn(argv[argc - 1], " \t\r\n;")] == '\0')
		return cli_usage("query", "the last operand, the SQL, is empty");
	if (!take_scripts(&files, &argc, argv)) {
		release_scripts(&files);
		return CLI_USAGE;
	}
	argc = cli_distinct(argc, argv);
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
			cli_tell_recording(&log, argv[i], store_trace(stores[count++]), at_work,
					   "the answer is");
	}
	if (result == CLI_OK && stream_filter_finish(filter) != KYMO_OK)
		result = CLI_USAGE;
	if (result == CLI_OK)
		result = query_stores(stores, argv, count, &files, &log);
	for (unsigned i = 0; i < count; i++)
		store_close(stores[i]);
	free(stores);
	release_scripts(&files);
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
	.operands = "[OPTION]... TRACE... [SQL]",
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
