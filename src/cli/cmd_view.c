/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo view`: serves the page of a trace to the browser of this machine. */
#include "cli/input.h"

#ifdef KYMO_HAVE_SERVE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/page_folder.h"
#include "page/serve.h"

struct view_options {
	struct cli_filter filter;
	int64_t port;
	bool rebuild;
};

static struct view_options options;

#define AT(member) offsetof(struct view_options, member)

static const struct knob rows[] = {
	{"port", 0, KNOB_INTEGER, 0, AT(port), "N", "0", "0..65535", NULL, "Page",
	 "Port of 127.0.0.1; 0: any that is free"},
	{"rebuild", 0, KNOB_FLAG, 0, AT(rebuild), NULL, NULL, NULL, NULL, "Page",
	 "Prepare the data anew, even if what is kept beside the trace seems to be good"},
	CLI_FILTER_KNOBS(struct view_options),
};

static struct knob_table table = {.command = "view",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* Prepares the data; with `of`, for others to find it. */
static kymo_status_t prepare(const char *trace, const char *file, uint64_t of,
			     const struct format_options *o)
{
	struct page p = {.size = 0};
	struct text folder = {0};
	kymo_status_t status;

	page_folder(file, &folder);
	status = page_make(&p, trace, folder.s, o);
	cli_progress_clear();
	if (status == KYMO_OK && !page_kept_write(&p, file, of)) {
		cli_error("%s: %s", file, strerror(errno));
		status = KYMO_ERROR_SYSTEM;
	}
	page_release(&p);
	text_release(&folder);
	return status;
}

/* Waits until somebody wants this to end. */
static void wait_for_end(const sigset_t *ends)
{
	int which;

	while (sigwait(ends, &which) != 0)
		;
}

static int serve(const char *trace, const struct page_kept *kept)
{
	struct page_server_options o = {
		.port = (uint16_t)options.port, .name = trace, .kept = kept};
	struct page_server *server = NULL;
	sigset_t ends;

	/* The server's thread has them blocked as well. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	o.records = page_records_new(trace, &cli_log);
	if (o.records)
		server = page_server_start(&o, &cli_log);
	if (!server) {
		page_records_free(o.records);
		return CLI_FAILURE;
	}
	printf("%s\n", page_server_address(server));
	fflush(stdout);
	cli_note("open this address in a browser of this machine; Ctrl+C ends it");
	wait_for_end(&ends);
	page_server_stop(server);
	page_records_free(o.records);
	return CLI_OK;
}

/* Beside the trace; what was selected, and where the trace cannot be written to, in a file that is gone afterwards. */
static void name_file(const char *trace, bool selected, struct text *out)
{
	const char *directory = getenv("TMPDIR");

	if (!selected && access(trace, W_OK) == 0)
		text_addf(out, "%s/page.data", trace);
	else
		text_addf(out, "%s/kymo-view-%ld.data",
			  directory && *directory ? directory : "/tmp", (long)getpid());
}

static int view(const char *trace, const struct stream_filter *filter)
{
	struct format_options o = {.log = &cli_log,
				   .filter = filter,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	bool kept_there = !filter && access(trace, W_OK) == 0;
	uint64_t of = page_kept_of(trace);
	struct page_kept kept = {.fd = -1};
	struct text file = {0};
	kymo_status_t status = KYMO_OK;
	bool ready;
	int result;

	name_file(trace, filter != NULL, &file);
	ready = kept_there && !options.rebuild && page_kept_open(&kept, file.s, of);
	if (!ready) {
		status = prepare(trace, file.s, of, &o);
		ready = status == KYMO_OK && page_kept_open(&kept, file.s, of);
		if (!kept_there)
			unlink(file.s);
	}
	result = ready ? serve(trace, &kept) : cli_exit(status);
	page_kept_close(&kept);
	text_release(&file);
	cli_log_finish();
	return result == CLI_OK && !ready ? CLI_FAILURE : result;
}

static int run_view(int argc, char **argv)
{
	struct stream_filter *filter;
	bool failed;
	int result;

	if (argc != 1)
		return cli_usage("view",
				 argc ? "one trace at a time"
				      : "which trace? (the directory that `kymo run` left)");
	filter = cli_filter_new(&options.filter, 1, &failed);
	if (failed)
		return CLI_USAGE;
	result = view(argv[0], filter);
	stream_filter_free(filter);
	return result;
}
#else
static struct knob_table table = {.command = "view"};

static int run_view(int argc, char **argv)
{
	cli_error(
		"this kymo was built without libmicrohttpd; kymo report writes the page to a file");
	return CLI_FAILURE;
}
#endif

extern const struct command cmd_view;
const struct command cmd_view = {
	.name = "view",
	.operands = "[--port N] [OPTION]... TRACE",
	.summary = "Serve the page of a trace to a browser of this machine",
	.about = "For traces that are too large for the one file that kymo report writes: nothing "
		 "is cut down.\n"
		 "It prints the address, which has a token, and ends with Ctrl+C. What it has "
		 "prepared stays\n"
		 "beside the trace as page.data, so that the next time there is nothing to wait "
		 "for.",
	.knobs = &table,
	.traces = true,
	.run = run_view,
};
