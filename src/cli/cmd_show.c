/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo show`: the records of traces as text, one a line. */
#include "base/plain.h"
#include "cli/input.h"
#include "cli/pager.h"

#include <unistd.h>

static struct show_options {
	struct cli_filter filter;
	bool entry_exit;
	int order;
	int64_t limit;
} options;

enum { ORDER_TIME, ORDER_RECORDED };

static const struct knob rows[] = {
	{"entry-exit", 'e', KNOB_FLAG, 0, offsetof(struct show_options, entry_exit), NULL, NULL,
	 NULL, NULL, "Output", "A line where a call is entered and one where it returns"},
	{"order", 0, KNOB_ENUM, 0, offsetof(struct show_options, order), "ORDER", "time",
	 "time|recorded", NULL, "Output",
	 "By start time, or thread by thread as recorded (faster, calls by their end)"},
	{"limit", 'n', KNOB_INTEGER, 0, offsetof(struct show_options, limit), "COUNT", "0", NULL,
	 NULL, "Output", "Stop after this many records; 0: no limit"},
	CLI_FILTER_KNOBS(struct show_options),
};

static struct knob_table knobs = {.command = "show",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

static kymo_status_t read_into(const struct format *reader, const char *path,
			       const struct stream_filter *filter, struct cli_counter *c,
			       const struct format_options *o)
{
	bool ordered = options.order == ORDER_TIME || options.entry_exit;
	kymo_status_t status = reader->read(path, filter, ordered, &c->sink, o);

	if (status == KYMO_ERROR_LIMIT && c->count == c->limit)
		status = KYMO_OK;
	if (status == KYMO_OK)
		cli_explain_missing(c, path, filter != NULL);
	return status;
}

static kymo_status_t show_trace(const char *path, const struct stream_filter *filter, bool bar)
{
	const struct format *reader = cli_reader(path), *text = format_find("text");
	struct format_options o = {.entry_exit = options.entry_exit,
				   .log = &cli_log,
				   .progress = bar ? cli_progress : NULL,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct stream_sink *sink;
	struct cli_counter c;
	kymo_status_t status;

	if (!reader)
		return KYMO_ERROR_NOT_FOUND;
	status = text->write(&o, &sink);
	if (status != KYMO_OK)
		return status;
	cli_counter_init(&c, sink, (uint64_t)options.limit);
	status = read_into(reader, path, filter, &c, &o);
	text->sink_free(sink);
	cli_progress_clear();
	cli_log_finish();
	return status;
}

static int run(int argc, char **argv)
{
	kymo_status_t worst = KYMO_OK;
	struct stream_filter *filter;
	/* A bar would be drawn into the text when both go to the terminal. */
	bool bar = !isatty(STDOUT_FILENO), failed;

	if (argc == 0)
		return cli_usage("show", "which trace? Give its directory");
	filter = cli_filter_new(&options.filter, (unsigned)argc, &failed);
	if (failed)
		return CLI_USAGE;
	pager_start(CLI_OK);
	for (int i = 0; i < argc; i++) {
		kymo_status_t status;

		if (argc > 1) {
			plain_printf(stdout, "%s==> %s <==\n", i ? "\n" : "", argv[i]);
			fflush(stdout);
		}
		status = show_trace(argv[i], filter, bar);
		worst = status == KYMO_OK ? worst : status;
	}
	if (worst == KYMO_OK)
		worst = stream_filter_finish(filter);
	stream_filter_free(filter);
	return cli_exit(worst);
}

extern const struct command cmd_show;
const struct command cmd_show = {
	.name = "show",
	.operands = "[OPTION]... TRACE...",
	.summary = "Print records as text, one a line",
	.about = "A line holds the time in seconds since the trace begins, the duration, the "
		 "thread or the\n"
		 "queue, and what happened: calls with their arguments, result or status and call "
		 "site,\n"
		 "kernels and copies at the times of their device, allocations, waits, losses.",
	.knobs = &knobs,
	.traces = true,
	.passes_on = true,
	.run = run,
};
