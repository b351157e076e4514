/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo view`: serves the page of a trace to the browser of this machine. */
#include "cli/input.h"

#ifdef KYMO_HAVE_SERVE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "cli/foreign.h"
#include "page/serve.h"
#include "stream/spool.h"

struct view_options {
	struct cli_filter filter;
	int64_t port;
	const char *compare;
	bool rebuild;
};

static struct view_options options;

#define AT(member) offsetof(struct view_options, member)

static const struct knob rows[] = {
	{"port", 0, KNOB_INTEGER, 0, AT(port), "N", "0", "0..65535", NULL, "Page",
	 "Port of 127.0.0.1; 0: any that is free"},
	{"rebuild", 0, KNOB_FLAG, 0, AT(rebuild), NULL, NULL, NULL, NULL, "Page",
	 "Prepare the data anew, even if what is kept beside the trace seems to be good"},
	{"compare", 0, KNOB_STRING, 0, AT(compare), "B", NULL, NULL, NULL, "Page",
	 "Another trace: the page also says, as kymo compare TRACE B does, what takes longer in B "
	 "than in TRACE"},
	CLI_FILTER_KNOBS(struct view_options),
};

static struct knob_table table = {.command = "view",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* What is served, and what prepares it meanwhile. */
struct view {
	const char *trace;
	uint64_t of;
	struct format_options format;
	struct page_kept kept;
	struct page_glances *glances; /* NULL: no part is to be seen before all is prepared */
	kymo_status_t status;         /* of the preparation, once it is */
	atomic_bool prepared;
};

/* Data that others may use lies in the trace, where that is the user's own: files in folders of others are not trusted. */
static bool can_be_kept(const char *trace, const struct stream_filter *filter)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool own = folder >= 0 && file_is_own(folder);

	if (folder >= 0)
		close(folder);
	return own && !filter && !options.compare && !options.filter.mangled &&
	       access(trace, W_OK) == 0;
}

static kymo_status_t write_and_open(struct view *v, const struct page *p, const char *file)
{
	if (!page_kept_write(p, file, v->of)) {
		cli_error("%s: %s; free space or set TMPDIR", file, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	if (page_kept_open(&v->kept, file, v->of))
		return KYMO_OK;
	cli_error("%s: another process has changed it meanwhile; try again", file);
	return KYMO_ERROR_SYSTEM;
}

/* What nobody else can use, in a file that is gone before it is served. */
static kymo_status_t serve_once(struct view *v, const struct page *p)
{
	char folder[PATH_MAX], file[PATH_MAX + sizeof("/page.data")];
	kymo_status_t status;
	int hold;

	snprintf(folder, sizeof(folder), "%s/kymo-view.", temporary_directory());
	if (!temporary_folder(folder, sizeof(folder), &hold)) {
		cli_error("%s: no temporary folder can be made: %s; set TMPDIR",
			  temporary_directory(), strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	snprintf(file, sizeof(file), "%s/page.data", folder);
	status = write_and_open(v, p, file);
	file_remove_tree(folder);
	temporary_done(folder);
	if (hold >= 0)
		close(hold);
	return status;
}

/* False: it cannot be kept, which is told, or another view of the trace, which has grown since, keeps its own there. */
static bool keep(struct view *v, const struct page *p, const char *file)
{
	if (page_kept_write(p, file, v->of))
		return page_kept_open(&v->kept, file, v->of);
	cli_warn("%s: %s; what is prepared is not kept for the next time", file, strerror(errno));
	return false;
}

static kymo_status_t prepare(struct view *v)
{
	const bool keeps = can_be_kept(v->trace, v->format.filter);
	const char *with = options.compare;
	struct page p = {.comparison.with = with,
			 .comparison.name = with && cli_foreign_source(with)
						    ? cli_foreign_source(with)
						    : with};
	struct text file = {0};
	char *folder;
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	text_addf(&file, "%s/page.data", v->trace);
	folder = file.failed ? NULL : spool_directory_of(keeps ? file.s : NULL, false);
	if (folder)
		status = page_make(&p, v->trace, folder, &v->format);
	cli_progress_clear();
	if (status == KYMO_OK && v->format.filter)
		status = stream_filter_finish((struct stream_filter *)(uintptr_t)v->format.filter);
	if (status == KYMO_OK && !(keeps && keep(v, &p, file.s)))
		status = serve_once(v, &p);
	page_release(&p);
	free(folder);
	text_release(&file);
	return status;
}

/* ---- preparing ---------------------------------------------------------------------------------- */

static struct page_server *server; /* NULL: there is none yet */

/* `doing`: in words. */
static void on_progress(void *doing, double done)
{
	cli_progress(doing, done);
	if (server)
		page_server_tell(server, doing, done);
}

static bool open_kept(struct view *v)
{
	struct text file = {0};
	bool ok;

	if (options.rebuild || !can_be_kept(v->trace, v->format.filter))
		return false;
	text_addf(&file, "%s/page.data", v->trace);
	ok = !file.failed && page_kept_open(&v->kept, file.s, v->of);
	text_release(&file);
	return ok;
}

/* Where it cannot be told what is selected, nothing is to be seen before all is prepared. */
static void show_glances(const struct view *v)
{
	if (page_glances_look(v->glances))
		page_server_glances(server, v->glances);
}

enum { NICE = 10 };

/* Beside the server. */
static void *prepare_beside(void *data)
{
	struct view *v = data;

	if (v->format.filter) {
		page_server_tell(server, "Looking for what is selected", 0);
		show_glances(v);
	}
	page_glance_first(v->glances);
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); /* pictures come first */
	v->status = prepare(v);
	if (v->status == KYMO_OK)
		page_server_ready(server, &v->kept);
	atomic_store(&v->prepared, true);
	if (v->status != KYMO_OK)
		kill(getpid(), SIGTERM); /* which the main thread waits for */
	return NULL;
}

/* ---- serving ------------------------------------------------------------------------------------ */

/* What ends this; no thread but this one takes them. */
static void block_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGINT);
	sigaddset(ends, SIGTERM);
	sigaddset(ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ends, NULL);
}

/* Until somebody wants this to end, or it cannot go on. */
static int wait_for_end(const struct view *v, const sigset_t *ends)
{
	int which;

	while (sigwait(ends, &which) != 0)
		;
	if (atomic_load(&v->prepared))
		return v->status == KYMO_OK ? CLI_OK : cli_exit(v->status);
	/* Whoever prepares is in the middle of something, which nobody waits for any more. */
	cli_progress_clear();
	temporary_end();
	_exit(CLI_OK);
}

static int serve(struct view *v, const sigset_t *ends)
{
	bool kept = v->kept.fd >= 0;
	pthread_t thread;
	int why;

	atomic_store(&v->prepared, kept);
	if (kept)
		page_server_ready(server, &v->kept);
	else if (!v->format.filter)
		show_glances(v); /* there is nothing to look for */
	if (printf("%s\n", page_server_address(server)) <= 0 || fflush(stdout) != 0) {
		cli_error("standard output, for the address: %s", strerror(errno));
		return CLI_FAILURE;
	}
	cli_note("open this address in a browser of this machine; Ctrl+C ends it");
	if (kept)
		return wait_for_end(v, ends);
	why = pthread_create(&thread, NULL, prepare_beside, v);
	if (why) {
		cli_error("no thread can be started: %s", strerror(why));
		return CLI_FAILURE;
	}
	why = wait_for_end(v, ends);
	pthread_join(thread, NULL);
	return why;
}

static int start(struct view *v, const sigset_t *ends)
{
	struct page_server_options o = {.port = (uint16_t)options.port, .name = v->trace};
	int result = CLI_FAILURE;

	o.records = page_records_new(v->trace, &cli_log);
	if (o.records)
		server = page_server_start(&o, &cli_log);
	if (server) {
		result = serve(v, ends);
		page_server_stop(server);
	}
	page_records_free(o.records);
	return result;
}

static int view(const char *trace, const struct stream_filter *filter)
{
	struct view v = {.trace = trace, .of = page_kept_of(trace), .kept = {.fd = -1}};
	kymo_status_t status = KYMO_OK;
	sigset_t ends;
	int result;

	v.format = (struct format_options){.log = &cli_log,
					   .filter = filter,
					   .progress = on_progress,
					   .progress_data = (void *)(uintptr_t) "Reading"};
	if (!open_kept(&v)) {
		status = page_glances_new(trace, filter, &v.glances);
		if (status == KYMO_OK && !v.glances)
			status = prepare(&v); /* which says why it cannot be read */
	}
	block_ends(&ends);
	result = status == KYMO_OK ? start(&v, &ends) : cli_exit(status);
	page_glances_free(v.glances);
	page_kept_close(&v.kept);
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
	if (options.compare &&
	    (!cli_foreign_operands(1, (char **)(uintptr_t)&options.compare, false) ||
	     !cli_reader(options.compare)))
		return CLI_FAILURE;
	filter = cli_filter_new(&options.filter, 1 + (options.compare != NULL), &failed);
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
	.operands = "[--port N] [--compare B] [OPTION]... TRACE",
	.summary = "Serve the page of a trace to a browser of this machine",
	.about = "For traces that are too large for the one file that kymo report writes: nothing "
		 "is cut down.\n"
		 "It prints the address, which has a token, and ends with Ctrl+C. The timeline "
		 "is there at once, and\n"
		 "says what of it is not read yet; what it has prepared stays beside the trace "
		 "as page.data.",
	.knobs = &table,
	.traces = true,
	.run = run_view,
};
