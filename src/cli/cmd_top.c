/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo top`: what a running recording has so far, live. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/top.h"
#include "drain/place.h"
#include "formats/raw/read.h"

enum { WIDTH_OF_TEXT = 110 };

struct top_options {
	uint64_t delay_ns;
	bool once, json;
};

static struct top_options options;

static const struct knob rows[] = {
	{"delay", 'd', KNOB_DURATION, 0, offsetof(struct top_options, delay_ns), "TIME", "1s", NULL,
	 NULL, "Looking", "Look so often"},
	{"once", 0, KNOB_FLAG, 0, offsetof(struct top_options, once), NULL, NULL, NULL, NULL,
	 "Looking", "Print one picture, of two looks that are --delay apart, and leave"},
	{"json", 0, KNOB_FLAG, 0, offsetof(struct top_options, json), NULL, NULL, NULL, NULL,
	 "Looking", "Print JSON: an object a line for each look, or, with --once, one"},
};

static struct knob_table table = {.command = "top", .rows = rows, .count = 3, .values = &options};

/* ---- which recordings -------------------------------------------------------------------------- */

static bool all_recordings;

static void add_place(const char *trace, unsigned stands, void *data)
{
	(void)stands;
	follow_add(data, trace);
}

/*
 * Recordings that begin are looked for as often as others are looked at. Of all that there are, one that has ended is
 * shown once more, and longer only while it is the last one.
 */
static void refresh(struct follow *f)
{
	if (all_recordings) {
		place_each(add_place, f);
		if (follow_running(f))
			follow_let_go(f);
	}
	follow_look(f);
	for (uint32_t i = 0; i < f->recording_count; i++)
		if (!f->recordings[i]->command)
			f->recordings[i]->command = trace_command(f->recordings[i]->trace);
}

static bool is_number(const char *word)
{
	for (; isdigit((unsigned char)*word); word++)
		;
	return *word == '\0';
}

/* The trace that the drain at that socket records into: a link beside it says so. */
static bool trace_of_socket(const char *socket, char out[PATH_MAX])
{
	const char *slash = strrchr(socket, '/');
	char link[PATH_MAX];
	ssize_t n;

	if (!slash)
		return false;
	snprintf(link, sizeof(link), "%.*s/trace", (int)(slash - socket), socket);
	n = readlink(link, out, PATH_MAX - 1);
	if (n <= 0)
		return false;
	out[n] = '\0';
	return true;
}

static int add_process(struct follow *f, const char *word)
{
	char socket[128], trace[PATH_MAX], path[64];
	int pid = atoi(word);
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) != 0) {
		cli_error("process %s: there is none", word);
		return CLI_FAILURE;
	}
	if (st.st_uid != geteuid() && geteuid() != 0) {
		cli_error("process %s: it is another user's, who alone can look at what is "
			  "recorded of it",
			  word);
		return CLI_FAILURE;
	}
	if (!run_socket_of(pid, socket, sizeof(socket)) || !trace_of_socket(socket, trace)) {
		cli_error("process %s: it is not being recorded: neither `kymo run` nor a program "
			  "that it started; where Kymo was loaded by hand, name the trace "
			  "directory",
			  word);
		return CLI_FAILURE;
	}
	return follow_add(f, trace) ? CLI_OK : CLI_FAILURE;
}

static bool has_links(const char *trace)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/raw", PATH_MAX - 8, trace);
	return access(path, R_OK | X_OK) == 0;
}

static int add_trace(struct follow *f, const char *word)
{
	char trace[PATH_MAX];
	struct stat st;

	if (!realpath(word, trace) || stat(trace, &st) != 0) {
		cli_error("%s: %s", word, strerror(errno));
		return CLI_FAILURE;
	}
	if (st.st_uid != geteuid() && geteuid() != 0) {
		cli_error("%s: it is another user's, who alone can look at it", word);
		return CLI_FAILURE;
	}
	if (!S_ISDIR(st.st_mode) || !has_links(trace)) {
		cli_error("%s: not a Kymo trace (it has no folder raw/)", word);
		return CLI_FAILURE;
	}
	if (!raw_being_written(trace)) {
		cli_error("%s: nothing is being recorded into it on this host: the recording has "
			  "ended; `kymo summary` shows the trace",
			  word);
		return CLI_FAILURE;
	}
	return follow_add(f, trace) ? CLI_OK : CLI_FAILURE;
}

static int add_operand(struct follow *f, const char *word)
{
	if (!word) {
		all_recordings = true;
		return CLI_OK;
	}
	return is_number(word) && access(word, F_OK) != 0 ? add_process(f, word)
							  : add_trace(f, word);
}

/* ---- for scripts ------------------------------------------------------------------------------- */

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static bool print_text(const struct follow *f)
{
	const struct top_look look = {.width = WIDTH_OF_TEXT};
	struct top_picture p = {0};
	bool ok;

	top_draw(&p, f, &look);
	for (unsigned i = 0; i < p.count; i++) {
		const struct text *t = &p.lines[i].text;
		size_t n = t->length;

		while (n && t->s[n - 1] == ' ')
			n--;
		printf("%.*s\n", (int)n, t->s ? t->s : "");
	}
	ok = !p.failed && fflush(stdout) == 0;
	top_picture_release(&p);
	return ok;
}

static bool print_json(const struct follow *f)
{
	struct text t = {0};
	bool ok;

	top_json(&t, f);
	ok = t.s && !t.failed && fputs(t.s, stdout) >= 0 && fflush(stdout) == 0;
	text_release(&t);
	return ok;
}

static int print_once(struct follow *f)
{
	refresh(f);
	if (options.delay_ns && f->recording_count) {
		sleep_until(f->looked + options.delay_ns);
		refresh(f);
	}
	return (options.json ? print_json(f) : print_text(f)) ? CLI_OK : CLI_FAILURE;
}

/* An object a look, the last one when nothing is recorded any more. */
static int print_lines(struct follow *f)
{
	refresh(f);
	while (all_recordings || follow_running(f)) {
		sleep_until(f->looked + (options.delay_ns ? options.delay_ns : 1));
		refresh(f);
		if (!print_json(f))
			return CLI_FAILURE;
	}
	return CLI_OK;
}

static int run_top(int argc, char **argv)
{
	struct follow f;
	int status = CLI_FAILURE;

	if (argc > 1)
		return cli_usage("top", "one process or trace, or none: all that is recorded");
	if (!options.once && !options.json && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
		return cli_usage("top",
				 "the live view needs a terminal; --once prints one picture, "
				 "--json lines for a script");
	if (follow_init(&f))
		status = add_operand(&f, argv[0]);
	else
		cli_error("not enough memory");
	if (status == CLI_OK)
		status = options.once   ? print_once(&f)
			 : options.json ? print_lines(&f)
					: top_live(&f, options.delay_ns, refresh);
	if (status == TOP_NO_SCREEN)
		status = print_once(&f);
	follow_release(&f);
	return status;
}

const struct command cmd_top = {
	.name = "top",
	.operands = "[PID|TRACE]",
	.summary = "Look at a running recording, live",
	.about = "The recording is named by a process that it records, by the process of `kymo "
		 "run`, or by\n"
		 "its trace directory; without any, all that this user records on this machine are "
		 "shown\n"
		 "together.\n\n"
		 "Shown are calls and kernels a second, how busy devices are, which kernels and "
		 "calls take\n"
		 "the time, copies, memory of devices, waiting, the slowest and the fastest rank, "
		 "lost\n"
		 "records, what recording costs and what it writes. It is read from the raw files, "
		 "block by\n"
		 "block, and from the memory that programs share with the drain: nothing is asked "
		 "of a\n"
		 "program. Where there is more than can be looked into, numbers are estimates, "
		 "and it is\n"
		 "said.\n\n"
		 "Keys: q leave, h help, 1 to 5 views, s sort, p hold, + and - look more or less "
		 "often.\n\n"
		 "Exit status 3 if nothing is being recorded there.",
	.knobs = &table,
	.run = run_top,
};
