/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo run`: records a program. Checks first, then trace, processes, and what to say afterwards. */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/units.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/numbers.h"
#include "base/ranks.h"
#include "base/unseen.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_attach.h"
#include "cli/trace_keys.h"
#include "drain/collect.h"
#include "drain/place.h"
#include "telemetry/telemetry.h"
#ifdef KYMO_HAVE_REPORT
#include "analysis/summary.h"
#endif

enum {
	FINISH_SECONDS = 600,  /* the drain bounds its own work; this bounds a broken drain */
	RANKS_MS = 3000,       /* for other ranks' launchers, which end when this one does */
	RANKS_LATE_MS = 10000, /* the same where a job may have been killed */
	/* The same where it is being killed: SIGKILL follows soon after SIGTERM. */
	RANKS_KILLED_MS = 200
};
enum { LEAST_ROOM = 1 << 20 };      /* bytes for a trace */
enum { LEAST_FILES = 24 };          /* that the drain has open for one process */
enum { SMALLEST_BUFFER = 3 << 20 }; /* nothing is recorded where files cannot be as large */

struct run {
	const struct run_options *options;
	char **argv;
	struct program program;
	bool traced;
	char trace[PATH_MAX];
	int hold; /* of the trace, file_hold() */
	char socket[PLACE_SOCKET];
	char local[PATH_MAX]; /* where raw files lie until the end, "": in the trace */
	struct manifest manifest;
	struct node node;
	struct launch_environment environment;
	const struct attach_target *target; /* it runs already; else NULL */
	struct text plan;                   /* of functions that are patched, or empty */
	bool read;                          /* the trace was read, and then: */
	bool lossy;                         /* what `kymo summary --strict` would say */
};

/* ---- before ---------------------------------------------------------------------------------- */

static int report_error(struct text *error, int status)
{
	cli_error("%s", error->s ? error->s : strerror(errno));
	text_release(error);
	return status;
}

/* Decides whether the program is traced; 0 or the exit status. */
static int check_program(struct run *r)
{
	struct text error = {0};
	int status;

	if (!program_find(&r->program, r->argv[0], &error, &status))
		return report_error(&error, status);
	r->traced = !r->program.untraceable[0];
	if (r->traced)
		return 0;
	if (!r->options->untraced) {
		cli_error("%s: it cannot be traced. --untraced runs it all the same.",
			  r->program.untraceable);
		return CLI_FAILURE;
	}
	cli_warn("%s: it runs untraced", r->program.untraceable);
	return 0;
}

/* Where the file system of `path` begins: the last folder upwards that is in it. */
static void find_mount(const char *path, char mount[PATH_MAX])
{
	char up[PATH_MAX], *slash;
	struct stat at, above;

	snprintf(mount, PATH_MAX, "%s", path);
	if (stat(mount, &at) != 0)
		return;
	snprintf(up, sizeof(up), "%s", mount);
	while ((slash = strrchr(up, '/')) && slash[1]) {
		slash[slash == up] = '\0';
		if (stat(up, &above) != 0 || above.st_dev != at.st_dev)
			return;
		snprintf(mount, PATH_MAX, "%s", up);
	}
}

/* Which file system it is, how large, and what is left of it; nothing where that is not known. */
static void add_file_system(struct text *out, const char *path)
{
	static char mount[PATH_MAX];
	struct statvfs fs;

	if (statvfs(path, &fs) != 0)
		return;
	find_mount(path, mount);
	text_addf(out, "the file system at \"%s\" has %.1f MiB, of which %.1f MiB are left", mount,
		  (double)fs.f_blocks * (double)fs.f_frsize / 1048576,
		  (double)fs.f_bavail * (double)fs.f_frsize / 1048576);
}

/* A file system without room would cut a trace in this folder at once. */
static bool check_room(const char *folder, struct text *error)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) != 0 || !fs.f_blocks ||
	    (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST_ROOM)
		return true;
	text_addf(error, "\"%s\": ", folder);
	add_file_system(error, folder);
	text_addf(error, "; a trace needs %u MiB at least: -o names another place",
		  LEAST_ROOM >> 20);
	return false;
}

/* Where the drain could not write on. */
static void say_cut(const struct run *r, int error)
{
	struct text t = {0};

	text_addf(&t, "the trace is cut short: %s", strerror(error));
	if (error == ENOSPC) {
		text_add(&t, "; ");
		add_file_system(&t, r->local[0] ? r->local : r->trace);
	}
	cli_warn("%s", t.s ? t.s : "the trace is cut short");
	text_release(&t);
}

/* The drain raises its own soft limit; without room it would hear of no process, not even of the end. */
static bool check_files(struct text *error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= LEAST_FILES)
		return true;
	text_addf(error,
		  "the hard limit of open files (ulimit -Hn) is %u: a recording takes %u at least, "
		  "and 3 more for each process",
		  (unsigned)limit.rlim_max, LEAST_FILES);
	return false;
}

/* Before anything is made there. */
static bool check_place(const struct run *r, struct text *error)
{
	static char folder[PATH_MAX];

	trace_place(folder, r->options, r->manifest.cwd);
	return check_room(folder, error);
}

static void drop_local(const struct run *r)
{
	if (r->local[0])
		file_remove_tree(r->local);
}

/* Nothing is recorded, and nothing is left behind: but where others of the job may record. */
static void drop_trace(struct run *r)
{
	if (!r->trace[0] || (r->manifest.job.id[0] && r->manifest.job.size != 1))
		return;
	file_remove_tree(r->trace);
}

/* No other launcher's files can lie where this one's do. */
static bool alone_on_node(const struct run *r)
{
	return r->node.joined < 0 && r->node.meeting < 0;
}

/* The run is refused, for a reason that was told. */
static int refuse_run(struct run *r)
{
	if (r->hold >= 0)
		close(r->hold); /* there may be no other descriptor to remove folders with */
	if (r->socket[0])
		place_remove(r->socket);
	drop_trace(r);
	if (alone_on_node(r))
		drop_local(r);
	return CLI_FAILURE;
}

/* The folder on the node's disk, if one is asked for. */
static bool make_local(struct run *r, struct text *error)
{
	const char *dir = r->options->node_local;

	if (!dir || (collect_begin(r->local, dir, r->manifest.cwd) && check_room(r->local, error)))
		return true;
	if (!error->length)
		text_addf(error, "\"%s\" of --node-local: %s", dir, strerror(errno));
	drop_local(r);
	return false;
}

/* Where the drain listens. */
static bool make_place(struct run *r, struct text *error)
{
	if (place_make(r->socket, r->trace))
		return true;
	text_addf(error, "there is no place for the socket of the recording: %s%s", strerror(errno),
		  *trace_remedy(errno)
			  ? trace_remedy(errno)
			  : "; set XDG_RUNTIME_DIR to a folder that can be written to");
	return false;
}

/* The node's drain, which another launcher of the job may have started. */
static bool find_node(struct run *r, struct text *error)
{
	char local[PATH_MAX];

	if (!node_find(&r->node, r->trace, r->options, &r->manifest, r->socket, local)) {
		text_addf(error, "trace directory \"%s\": %s%s", r->trace, strerror(errno),
			  trace_remedy(errno));
		return false;
	}
	if (r->node.joined < 0)
		return true;
	drop_local(r);
	memcpy(r->local, local, sizeof(r->local));
	return true;
}

static void print_plan(const struct run *r)
{
	struct text t = {0};

	for (char **w = r->environment.set; *w; w++) {
		size_t n = strcspn(*w, "=");

		text_add_bytes(&t, *w, n + 1);
		text_add_shell(&t, *w + n + 1);
		text_add(&t, " \\\n");
	}
	for (char **w = r->argv; *w; w++) {
		text_add(&t, w == r->argv ? "" : " ");
		text_add_shell(&t, *w);
	}
	puts(t.s ? t.s : "");
	text_release(&t);
}

static int dry_run(struct run *r)
{
	struct text error = {0};

	if (!environment_make(&r->environment, &run_options_table, r->program.path,
			      r->options->output ? r->options->output : "NAME-TIME.kymo",
			      r->traced ? "/tmp/kymo-drain-XXXXXX/drain" : NULL, &error))
		return report_error(&error, CLI_FAILURE);
	print_plan(r);
	environment_release(&r->environment);
	return CLI_OK;
}

/* Writes into the trace, and what the program is given with it. */
static bool fill_trace(struct run *r, struct text *error)
{
	if (!make_place(r, error) || !find_node(r, error))
		return false;
	if (!functions_put(&run_options_values, r->trace, &r->plan)) {
		text_addf(error, "the plan of --functions cannot be written into \"%s\": %s%s",
			  r->trace, strerror(errno), trace_remedy(errno));
		return false;
	}
	return environment_make(&r->environment, &run_options_table, r->program.path, r->trace,
				r->socket, error) &&
	       (!r->target || launch_set(&r->environment, "KYMO_ATTACHED", "1"));
}

/* Trace and environment; 0 or the exit status. The trace comes last: errors leave nothing behind. */
static int prepare_run(struct run *r)
{
	struct text error = {0};

	manifest_init(&r->manifest);
	r->manifest.command = r->argv;
	r->manifest.formulas = r->options->formula_lines;
	r->manifest.untraced = r->traced ? NULL : r->program.untraceable;
	if (!r->traced)
		return environment_make(&r->environment, &run_options_table, r->program.path, NULL,
					NULL, &error)
			       ? 0
			       : report_error(&error, CLI_FAILURE);
	if (!*cli_libdir()) {
		environment_make(&r->environment, &run_options_table, r->program.path, "",
				 r->socket, &error);
		return report_error(&error, CLI_FAILURE);
	}
	if (!check_files(&error) || !check_place(r, &error) || !make_local(r, &error))
		return report_error(&error, CLI_FAILURE);
	if (!trace_make(r->trace, r->options, r->argv[0], &r->manifest, &r->node.meeting, &error)) {
		drop_local(r);
		return report_error(&error, CLI_FAILURE);
	}
	r->hold = file_hold(r->trace);
	place_sweep(NULL);
	if (!fill_trace(r, &error)) {
		report_error(&error, CLI_FAILURE);
		return refuse_run(r);
	}
	r->manifest.environment = r->environment.set;
	/* For who reads the trace before the drain has completed it, as the summary in the end does. */
	if (alone_on_node(r))
		manifest_write(&r->manifest, NULL);
	return 0;
}

/* ---- after ----------------------------------------------------------------------------------- */

/* What the program could have used and Kymo not have seen, and what is not here to be used. */
static void say_unused(const struct run *r)
{
	const struct kymo_launch *const *l;
	struct text t = {0};

	for (l = launch_table; *l; l++)
		if ((*l)->absent)
			(*l)->absent(&t);
	cli_note(
		"nothing was recorded: no process that could reach the recording used an interface "
		"that is recorded, such as OpenCL, CUDA, MPI, OpenMP or annotations%s; \"kymo list "
		"backends\" "
		"has all, \"kymo doctor\" shows which can be used here, --threads records threads "
		"and "
		"processes in any case",
		t.s ? t.s : "");
	for (l = launch_table; *l; l++)
		if ((*l)->unused)
			(*l)->unused(r->program.path, cli_note);
	text_release(&t);
}

/* The command sets LD_PRELOAD for what it starts: NAME=VALUE after -x or env, or NAME and VALUE. */
static bool replaces_preload(char *const *argv)
{
	bool replaces = false;

	for (int i = 0; argv[i]; i++) {
		const char *at = strstr(argv[i], "LD_PRELOAD=");
		bool pair =
			strcmp(argv[i], "LD_PRELOAD") == 0 && i > 0 && strstr(argv[i - 1], "env");

		/* "$LD_PRELOAD:mine" of a script keeps what is there. */
		replaces |=
			pair || (at && !strstr(at, "$LD_PRELOAD") && !strstr(at, "${LD_PRELOAD"));
	}
	return replaces;
}

static void warn_unseen(void *data, const char *text)
{
	cli_warn("nothing was recorded: %s", text);
}

/* What stood in the way of recording anything at all: said even where no summary is wanted. */
static bool say_prevented(const struct run *r, const struct outcome *out)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < SMALLEST_BUFFER) {
		cli_warn("nothing was recorded: the limit of file sizes (ulimit -f) leaves no room "
			 "for the memory that is shared with the program");
		return true;
	}
	if (out->totals.refused || out->unrecorded)
		return true; /* which was said */
	return unseen_told(r->trace, warn_unseen, NULL) > 0;
}

/* Only of processes that could say that they are there something is known. */
static bool say_unreached(const struct outcome *out)
{
	if (!out->totals.greeted)
		cli_note("nothing was recorded: Kymo was loaded into no process, or none could "
			 "reach the "
			 "recording; what the program used is not known");
	else if (out->totals.crowded)
		cli_note("nothing was recorded: there was no room for %u process%s when %s began "
			 "(open "
			 "files, memory); whether an interface that is recorded was called is not "
			 "known",
			 out->totals.crowded, out->totals.crowded == 1 ? "" : "es",
			 out->totals.crowded == 1 ? "it" : "they");
	return !out->totals.greeted || out->totals.crowded;
}

static void say_nothing_recorded(const struct run *r, const struct outcome *out)
{
	const struct run_options *o = r->options;

	if (o->backends && strcmp(o->backends, "none") == 0) {
		cli_note("nothing was recorded: --backends is none");
		return;
	}
	if (o->ranks) {
		cli_note("nothing was recorded: no process had one of the ranks of --rank %s, or "
			 "none of them used what is recorded",
			 o->ranks);
		return;
	}
	if (check_has_window(o)) {
		cli_note("nothing was recorded: nothing that is recorded began in the time that "
			 "--delay, --duration, --after, --before and --period leave");
		return;
	}
	if (o->start_paused) {
		cli_note("nothing was recorded: --start-paused, and neither the program nor `kymo "
			 "ctl` "
			 "resumed it, or nothing that is recorded began after that");
		return;
	}
	if (!say_unreached(out))
		say_unused(r);
}

/* Processes of the program run on that have not used anything yet. They will be recorded when they do. */
static bool say_later(const struct outcome *out)
{
	unsigned later = out->totals.later;

	if (later)
		cli_note(
			"nothing was recorded so far: %u of the program's processes %s on; what %s "
			"then gets into the trace",
			later, later == 1 ? "runs" : "run",
			later == 1 ? "it records" : "they record");
	return later > 0;
}

/* Processes that asked to be recorded and could not be. */
static void say_refused(const struct outcome *out)
{
	unsigned refused = out->totals.refused + out->unrecorded;
	int e = out->totals.refused ? out->totals.refused_error : out->unrecorded_error;

	if (refused)
		cli_warn("%u %s could not be recorded and %s lost: %s%s", refused,
			 refused == 1 ? "process" : "processes", refused == 1 ? "is" : "are",
			 e ? strerror(e) : "the manifest has the reason",
			 e == EMFILE   ? "; raise the hard limit of open files (ulimit -Hn)"
			 : e == ENFILE ? "; the whole machine has too many (fs.file-max)"
			 : e == ENOSPC || e == EDQUOT ? "; -o names another place"
			 : e == ENOMEM ? "; see ulimit -v, or choose a smaller --buffer-size"
				       : "");
}

/* Not a loss: what is lost meanwhile is counted as always. */
static void say_restarts(const struct drain_totals *t)
{
	char why[48] = "";

	if (!t->restarts)
		return;
	if (t->signal)
		snprintf(why, sizeof(why), " (signal %d, %s)", t->signal, strsignal(t->signal));
	cli_warn("the drain ended unexpectedly%s and was started again, %u time%s; the recording "
		 "went on",
		 why, t->restarts, t->restarts == 1 ? "" : "s");
}

/* By the end of the drain, if it has had one. */
static bool lost_something(const struct outcome *out)
{
	const struct drain_totals *t = &out->totals;

	return out->drain_failed || t->failed || t->lost_records || t->lost_definitions ||
	       t->damaged_chunks || t->refused || out->unrecorded;
}

static void say_killed(const struct run *r, const struct outcome *out)
{
	if (out->killed)
		cli_note("recording was over: signal %d (%s) was sent to %u process%s of the "
			 "program",
			 kill_signal(r->options->kill), strsignal(kill_signal(r->options->kill)),
			 out->killed, out->killed == 1 ? "" : "es");
}

static void say_full(const struct run *r, uint64_t records, uint64_t definitions)
{
	struct text lost = {0};

	text_addf(&lost, "%s record%s", UNITS_COUNT(records), plural(records));
	if (definitions)
		text_addf(&lost, " and %s definition%s", UNITS_COUNT(definitions),
			  plural(definitions));
	cli_warn("%s %s lost because the buffer was full; a larger --buffer-size (now %" PRIu64
		 "K), --mode minimal or a longer --block-time helps, --on-full overwrite keeps "
		 "the newest",
		 lost.s ? lost.s : "records", records + definitions == 1 ? "was" : "were",
		 (uint64_t)r->options->buffer_size >> 10);
	text_release(&lost);
}

static void say_losses(const struct run *r, const struct outcome *out)
{
	const struct drain_totals *t = &out->totals;
	const uint64_t known = t->unwritten_records + t->no_memory_records + t->dropped_records;
	const uint64_t unbuffered = known > t->lost_records ? 0 : t->lost_records - known;

	if (out->drain_failed)
		cli_warn("the drain ended unexpectedly; the trace ends where it did");
	if (r->local[0] && access(r->local, F_OK) == 0 && (out->drain_failed || t->failed))
		cli_warn("files that did not get into the trace are in %s/raw", r->local);
	say_refused(out);
	say_restarts(t);
	if (t->failed)
		say_cut(r, t->failed);
	if (out->telemetry == ECANCELED)
		cli_note("no telemetry was read: the program ended before --telemetry-delay was "
			 "over");
	else if (out->telemetry)
		cli_warn("the telemetry is cut short: %s", strerror(out->telemetry));
	if (t->unwritten_records)
		cli_warn("%s records were lost because the file system took no more; -o puts the "
			 "trace elsewhere",
			 UNITS_COUNT(t->unwritten_records));
	if (t->no_memory_records)
		cli_warn("%s records were lost because the program had no memory for them",
			 UNITS_COUNT(t->no_memory_records));
	if (t->dropped_records)
		cli_warn("%s records were lost because the runtime that they are of dropped them",
			 UNITS_COUNT(t->dropped_records));
	if (unbuffered || (t->lost_definitions && !t->failed && !t->no_memory_records))
		say_full(r, unbuffered, t->lost_definitions);
	if (t->damaged_chunks)
		cli_warn("%s chunks were damaged by the program and are not in the trace",
			 UNITS_COUNT(t->damaged_chunks));
	if (out->left)
		cli_note("%u of the program's processes go on and are recorded in the background",
			 out->left);
}

#ifdef KYMO_HAVE_REPORT
static void log_message(struct stream_log *l, int severity, const char *text)
{
	cli_message(severity, text);
}

static void log_warning(struct stream_log *l, int severity, const char *text)
{
	if (severity >= 2)
		cli_message(severity, text);
}

/* Reads the trace, once in a run. */
static void read_trace(struct run *r, FILE *out)
{
	struct stream_log log = {out ? log_message : log_warning};

	r->read = true;
	summary_print(r->trace, out, &r->lossy, &log);
}
#else
static void read_trace(struct run *r, FILE *out)
{
}
#endif

/* One rank of a job speaks for all. */
static bool is_speaker(const struct run *r)
{
	const struct job *job = &r->manifest.job;

	return !job->id[0] || job->rank == ranks_first(r->options->ranks) ||
	       job->rank == JOB_UNKNOWN;
}

/* The other ranks' programs have ended when this one has, or nearly. */
static void await_ranks(const struct run *r, int ms)
{
	unsigned missing = trace_await_ranks(
		r->trace, ranks_count(r->options->ranks, r->manifest.job.size), ms);

	if (missing)
		cli_note("%u rank%s of the job %s still recording", missing, plural(missing),
			 missing == 1 ? "is" : "are");
}

/*
 * What `kymo summary --strict` would say: not all that was lost is known to the drain, as samples
 * that the samplers dropped. One rank looks for all.
 */
static bool is_lossy(struct run *r, const struct outcome *out)
{
	if (lost_something(out))
		return true;
	if (!is_speaker(r))
		return false;
	if (r->options->no_summary && r->manifest.job.size >= 2)
		await_ranks(r, RANKS_MS);
	if (!r->read)
		read_trace(r, NULL);
	return r->lossy;
}

/* On stderr: standard output is the program's. */
static void print_result(struct run *r, struct outcome *out, int ranks_ms)
{
	const struct job *job = &r->manifest.job;
	/* A drain that has died has not told whom it recorded: the trace does. */
	bool nothing = out->totals.processes == 0 && job->size < 2 && !out->drain_failed, prevented;

	/* Who reads no further does not change the program's status. */
	signal(SIGPIPE, SIG_IGN);
	if (ranks_ms == RANKS_MS && (out->interrupted || WIFSIGNALED(out->wait_status)))
		ranks_ms = RANKS_KILLED_MS;
	if (is_speaker(r) || r->options->strict)
		out->unrecorded = trace_unrecorded(r->trace, &out->unrecorded_error);
	say_killed(r, out);
	say_losses(r, out);
	if ((out->interrupted && job->size < 2) || !is_speaker(r))
		return;
	if (replaces_preload(r->argv))
		unseen_tell(r->trace, "preload",
			    "the command sets LD_PRELOAD for processes that it starts, which "
			    "replaces Kymo's: "
			    "start them with \"kymo run\" inside, or append to $LD_PRELOAD");
	prevented = nothing && say_prevented(r, out);
	if (r->options->no_summary)
		return;
	if (job->size >= 2)
		await_ranks(r, ranks_ms);
	if (nothing && !prevented && !say_later(out))
		say_nothing_recorded(r, out);
	if (!nothing || r->options->telemetry_ms)
		read_trace(r, stderr);
	cli_note("trace in %s", r->trace);
}

/* The exec failed although all looked well. */
static int not_executed(struct run *r, struct outcome *out)
{
	launch_finish(out, 5);
	drop_trace(r);
	if (alone_on_node(r))
		drop_local(r);
	cli_error("\"%s\" cannot be executed: %s", r->program.path, strerror(out->exec_error));
	return out->exec_error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* It has said why. */
static int not_attached(struct run *r, struct outcome *out)
{
	launch_finish(out, 5);
	drop_trace(r);
	drop_local(r);
	return WEXITSTATUS(out->wait_status);
}

/* See run_in_place.c: the program has ended, and perhaps all of its job. */
static void conclude_in_place(void *data, struct outcome *out)
{
	struct run *r = data;

	if (access(r->trace, F_OK) != 0)
		return; /* the program could not be executed */
	launch_finish(out, out->left ? 0 : FINISH_SECONDS);
	print_result(r, out, RANKS_LATE_MS);
}

/* -1: not here; the exit status if it could not be. Does not return if it could. */
static int go_in_place(struct run *r, const struct launch *l)
{
	int output =
		r->traced && !l->telemetry_ns && !l->kill ? in_place_output(&r->manifest.job) : -1;
	struct outcome out = {.control = -1};

	if (output < 0)
		return -1;
	out.exec_error = launch_in_place(l, output, conclude_in_place, r);
	close(output);
	return out.exec_error == EAGAIN ? -1 : not_executed(r, &out);
}

static void set_kill(const struct run *r, struct launch *l)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	const uint64_t began = r->traced ? trace_began(r->trace) : 0;

	if (!r->options->kill)
		return;
	l->kill = kill_signal(r->options->kill);
	l->kill_ns = kill_moment(r->options, began && began < now ? began : now, now);
}

static int run_program(struct run *r)
{
	struct attach_job job = {r->target, r->options, r->environment.set};
	struct launch l = {.program = r->program.path,
			   .argv = r->argv,
			   .environment = r->environment.words,
			   .trace = r->trace,
			   .socket = r->traced ? r->socket : NULL,
			   .manifest = &r->manifest,
			   .compress = !r->options->no_compress,
			   .local = r->local[0] ? r->local : NULL,
			   .node = r->node,
			   .telemetry_ns = (uint64_t)r->options->telemetry_ms * 1000000u,
			   .telemetry_delay_ns = r->options->telemetry_delay_ns,
			   .telemetry_duration_ns = r->options->telemetry_duration_ns,
			   .telemetry_only = r->options->telemetry_only,
			   .events = r->options->events};
	struct outcome out;
	int status = -1;

	set_kill(r, &l);
	fflush(NULL);
	if (r->target) {
		l.instead = attach_job_do;
		l.data = &job;
		l.target = r->target->pid;
	} else {
		status = go_in_place(r, &l);
	}
	if (status >= 0)
		return status;
	if (!launch(&l, &out)) {
		cli_error("the program cannot be started: %s%s", strerror(errno),
			  trace_remedy(errno));
		return refuse_run(r);
	}
	if (out.exec_error)
		return not_executed(r, &out);
	if (out.drain_failed)
		place_remove(r->socket); /* it could not */
	if (r->target && WIFEXITED(out.wait_status) && WEXITSTATUS(out.wait_status))
		return not_attached(r, &out);
	if (r->traced && r->manifest.job.size < 2)
		print_result(r, &out, RANKS_MS);
	if (r->manifest.job.size >= 2)
		signal(SIGTERM, SIG_IGN); /* what was recorded is told while there is time */
	launch_finish(&out, out.left          ? 0
			    : out.interrupted ? r->manifest.job.size >= 2
					      : FINISH_SECONDS);
	/* In a job the others must find this rank's manifest complete before all is told. */
	if (r->traced && r->manifest.job.size >= 2)
		print_result(r, &out, RANKS_MS);
	environment_release(&r->environment);
	if (r->traced && r->options->strict && out.wait_status == 0 && is_lossy(r, &out))
		return CLI_NO;
	return launch_pass_on(out.wait_status);
}

/* A rank that is not to be recorded: the program takes this process's place. */
static int run_plainly(char **argv)
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	cli_error("\"%s\" cannot be executed: %s", argv[0], strerror(error));
	return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* Tools are there, and found wherever the program goes. Names without a slash are the loader's. */
static bool tools_check(struct run_options *o)
{
	char *list = o->tools ? strdup(o->tools) : NULL, *save = NULL, path[PATH_MAX];
	struct text t = {0};
	bool ok = true;

	for (char *p = list ? strtok_r(list, ":", &save) : NULL; p && ok;
	     p = strtok_r(NULL, ":", &save)) {
		bool named = strchr(p, '/') != NULL;

		ok = !named || realpath(p, path);
		if (!ok)
			cli_error("--tool %s: %s", p, strerror(errno));
		else
			text_addf(&t, "%s%s", t.length ? ":" : "", named ? path : p);
	}
	free(list);
	if (ok && t.length)
		o->tools = t.s; /* kept */
	else
		text_release(&t);
	return ok;
}

bool starts_ranks(char *const *argv)
{
	static const char *const names[] = {
		"torchrun", "accelerate", "deepspeed",  "horovodrun",   "mpirun", "mpiexec",
		"orterun",  "prterun",    "prun",       "srun",         "jsrun",  "aprun",
		"flux",     "ibrun",      "mpirun_rsh", "mpiexec.hydra"};
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	/* python -m torch.distributed.run */
	for (int i = 0; argv[i] && argv[i + 1]; i++)
		if (strcmp(argv[i], "-m") == 0 &&
		    (strncmp(argv[i + 1], "torch.distributed.", 18) == 0 ||
		     strncmp(argv[i + 1], "accelerate.", 11) == 0))
			return true;
	return false;
}

static bool left_out(const struct run_options *o, char *const *argv)
{
	struct job job;

	if (!o->ranks || o->dry_run || starts_ranks(argv))
		return false;
	job_of_process(&job, 0);
	return job.rank != JOB_UNKNOWN && !ranks_have(o->ranks, job.rank);
}

/* "a.kymo" of pass 2 is "a.pass2.kymo". */
static const char *name_pass(const char *name, int pass)
{
	static const char ending[] = ".kymo";
	size_t n = strlen(name);
	struct text out = {0};

	if (n >= sizeof(ending) && strcmp(name + n + 1 - sizeof(ending), ending) == 0)
		n -= sizeof(ending) - 1;
	text_addf(&out, "%.*s.pass%d%s", (int)n, name, pass, ending);
	return out.s ? out.s : name; /* kept */
}

/* Keys in the name of the trace get their values. */
static bool name_trace(struct run_options *o, char *const *argv)
{
	struct text name = {0}, error = {0};
	struct job job;
	bool ok = true;

	if (!o->config_job && !o->replay_pass && (!o->output || !strchr(o->output, '%')))
		return true;
	job_of_process(&job, 0);
	if (!o->output && o->config_job)
		o->output = job.id[0] ? "%program%-%config_job%-%job%.kymo"
				      : "%program%-%config_job%-%date%-%time%.kymo";
	else if (!o->output)
		o->output = job.id[0] ? "%program%-%job%.kymo" : "%program%-%date%-%time%.kymo";
	if (o->replay_pass)
		o->output = name_pass(o->output, (int)o->replay_pass);
	ok = trace_keys_expand(&(struct trace_keys_of){argv, &job, starts_ranks(argv)}, o->output,
			       &name, &error);
	if (ok)
		o->output = name.s; /* kept */
	else
		cli_error("-o %s: %s", o->output, error.s ? error.s : strerror(ENOMEM));
	if (!ok)
		text_release(&name);
	text_release(&error);
	return ok;
}

/* Paths are too large for small stacks (ulimit -s). */
static struct run the_run = {
	.options = &run_options_values, .hold = -1, .node = {.joined = -1, .meeting = -1}};

int run_attached(const struct attach_target *target, char **argv)
{
	struct run *r = &the_run;
	int status = check_options(r->options);

	if (status)
		return status;
	r->argv = argv;
	r->target = target;
	r->traced = true;
	snprintf(r->program.path, sizeof(r->program.path), "%s", target->exe);
	if (!name_trace(&run_options_values, argv) || !measures_check(&run_options_values) ||
	    !tools_check(&run_options_values))
		return CLI_USAGE;
	if (r->options->replay == RUN_REPLAY_APPLICATION)
		return cli_usage("attach",
				 "--replay application runs a program, once for each pass; "
				 "one that runs already has --replay kernel and rotate");
	status = prepare_run(r);
	return status ? status : run_program(r);
}

static int run_run(int argc, char **argv)
{
	struct run *r = &the_run;
	const char *const *of_each = NULL;
	unsigned passes;
	int status;

	r->argv = argv;
	if (argc == 0)
		return cli_usage("run", "no program is named");
	if (jobs_run(r->options, argv, &status))
		return status;
	if (r->options->ranks && !ranks_valid(r->options->ranks))
		return cli_usage("run", "--rank takes numbers and ranges, as in 0-3,7");
	if (!check_rank_variable(r->options->rank_variable))
		return CLI_USAGE;
	if (left_out(r->options, argv))
		return run_plainly(argv);
	launch_bear_size_limit();
	status = check_program(r);
	if (status)
		return status;
	status = check_options(r->options);
	if (status)
		return status;
	if (!name_trace(&run_options_values, argv))
		return CLI_USAGE;
	if (!measures_check(&run_options_values) || !tools_check(&run_options_values))
		return CLI_USAGE;
	passes = passes_take(&run_options_values, &of_each);
	if (passes != 1)
		return passes ? passes_run(argv, passes, of_each) : CLI_USAGE;
	status = functions_take(r->options, r->program.path, &r->plan);
	if (status >= 0)
		return status;
	if (r->options->dry_run)
		return dry_run(r);
	status = prepare_run(r);
	return status ? status : run_program(r);
}

const struct command cmd_run = {
	.name = "run",
	.operands = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.summary = "Record what a program does and print a summary",
	.about = "The program runs as it would without Kymo; its exit status, or the signal that "
		 "ended\n"
		 "it, becomes Kymo's. The summary goes to standard error. Before the program runs, "
		 "a\n"
		 "failure is status 2 (command line), 3 (no trace can be made), 126 or 127 (the "
		 "program\n"
		 "cannot be executed or is not there).\n\n"
		 "By default everything is recorded but the chattiest queries, with all arguments "
		 "and\n"
		 "call sites. \"mpirun -n 8 kymo run ./a.out\" and \"kymo run mpirun -n 8 "
		 "./a.out\" both\n"
		 "make one trace.",
	.knobs = &run_options_table,
	.run = run_run,
};
