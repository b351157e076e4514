/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo view`: serves the page of a trace to the browser of this machine. */
#include "cli/input.h"

#ifdef KYMO_HAVE_SERVE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "page/serve.h"
#include "stream/spool.h"

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
	char *folder = spool_directory_of(file, false);
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	if (!folder)
		return status;
	status = page_make(&p, trace, folder, o);
	cli_progress_clear();
	if (status == KYMO_OK && !page_kept_write(&p, file, of)) {
		cli_error("%s: %s", file, strerror(errno));
		status = KYMO_ERROR_SYSTEM;
	}
	page_release(&p);
	free(folder);
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
	bool told;

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
	told = printf("%s\n", page_server_address(server)) > 0 && fflush(stdout) == 0;
	if (told) {
		cli_note("open this address in a browser of this machine; Ctrl+C ends it");
		wait_for_end(&ends);
	} else {
		cli_error("standard output, for the address: %s", strerror(errno));
	}
	page_server_stop(server);
	page_records_free(o.records);
	return told ? CLI_OK : CLI_FAILURE;
}

/* Data that others may use lies in the trace, where that is the user's own: files in folders of others are not trusted. */
static bool can_be_kept(const char *trace, const struct stream_filter *filter)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool own = folder >= 0 && file_is_own(folder);

	if (folder >= 0)
		close(folder);
	return own && !filter && !options.filter.mangled && access(trace, W_OK) == 0;
}

static kymo_status_t open_made(struct page_kept *kept, const char *file, uint64_t of)
{
	if (page_kept_open(kept, file, of))
		return KYMO_OK;
	cli_error("%s: another process has changed it meanwhile; try again", file);
	return KYMO_ERROR_SYSTEM;
}

/* What nobody else can use, in a file that is gone before it is served. */
static kymo_status_t prepare_once(const char *trace, uint64_t of, const struct format_options *o,
				  struct page_kept *kept)
{
	char folder[PATH_MAX], file[PATH_MAX + sizeof("/page.data")];
	kymo_status_t status;
	int hold;

	snprintf(folder, sizeof(folder), "%s/kymo-view.", spool_directory());
	if (!temporary_folder(folder, sizeof(folder), &hold)) {
		cli_error("%s: no temporary folder can be made: %s; set TMPDIR", spool_directory(),
			  strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	snprintf(file, sizeof(file), "%s/page.data", folder);
	status = prepare(trace, file, of, o);
	if (status == KYMO_OK)
		status = open_made(kept, file, of);
	file_remove_tree(folder);
	temporary_done(folder);
	if (hold >= 0)
		close(hold);
	return status;
}

static kymo_status_t prepare_to_keep(const char *trace, uint64_t of, const struct format_options *o,
				     struct page_kept *kept)
{
	struct text file = {0};
	kymo_status_t status = KYMO_OK;

	text_addf(&file, "%s/page.data", trace);
	if (file.failed)
		status = KYMO_ERROR_NO_MEMORY;
	else if (options.rebuild || !page_kept_open(kept, file.s, of)) {
		status = prepare(trace, file.s, of, o);
		if (status == KYMO_OK)
			status = open_made(kept, file.s, of);
	}
	text_release(&file);
	return status;
}

static int view(const char *trace, const struct stream_filter *filter)
{
	struct format_options o = {.log = &cli_log,
				   .filter = filter,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	uint64_t of = page_kept_of(trace);
	struct page_kept kept = {.fd = -1};
	kymo_status_t status = can_be_kept(trace, filter) ? prepare_to_keep(trace, of, &o, &kept)
							  : prepare_once(trace, of, &o, &kept);
	int result = status == KYMO_OK ? serve(trace, &kept) : cli_exit(status);

	page_kept_close(&kept);
	cli_log_finish();
	return result;
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
