/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the telemetry is asked for: by --telemetry and its kin, and by --counters, whose counters of whole processors are
 * the telemetry's, not the program's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "telemetry/perf_list.h"
#include "telemetry/telemetry.h"

enum { DEFAULT_MS = 100 };

static void add_item(struct text *t, const char *item, size_t length)
{
	if (length) {
		text_add(t, t->length ? "," : "");
		text_add_bytes(t, item, length);
	}
}

bool events_take(struct run_options *o)
{
	struct text program = {0}, events = {0};
	char error[400];
	bool good;

	for (const char *w = o->counters; w && *w;) {
		size_t n = perf_item(w);

		add_item(perf_over_time(w, n) ? &events : &program, w, n);
		w += n + (w[n] == ',');
	}
	if (!events.length) {
		text_release(&program);
		text_release(&events);
		return true;
	}
	good = telemetry_events_check(telemetry_root(), events.s, error, sizeof(error));
	if (good) {
		o->events = events.s; /* kept */
	} else if (run_options_table.source[knob_find(&run_options_table, "counters")] ==
		   KNOB_PRESET) {
		cli_note("--preset: not counted: %s", error);
		good = true;
	} else {
		cli_error("--counters: %s", error);
	}
	counters_become(o, program.s); /* NULL: none is left */
	return good;
}

void events_read(struct run_options *o)
{
	struct text only = {0};

	if (!o->events)
		return;
	if (!o->telemetry_ms) {
		o->telemetry_ms = DEFAULT_MS;
		o->telemetry_only = "perf"; /* nothing else was asked for */
	} else if (o->telemetry_only) {
		text_addf(&only, "%s,perf", o->telemetry_only);
		o->telemetry_only = only.s; /* kept */
	}
}

/* ---- telemetry itself ------------------------------------------------------------------------- */

/* As often as was asked for, if the source can. */
static void tell_slower_telemetry(const struct run_options *o)
{
	struct text slower = {0};

	if (o->telemetry_ms &&
	    telemetry_slower((uint64_t)o->telemetry_ms * 1000000u, o->telemetry_only, &slower))
		cli_warn("--telemetry=%lld: where they are here, these are read less often: %s",
			 (long long)o->telemetry_ms, slower.s);
	text_release(&slower);
}

/* It is looked for in a process of its own: a driver that hangs ends with it, and no library of it is in the launcher. */
static bool only_is_here(const struct run_options *o)
{
	enum { SECONDS = 20 };
	char error[600];
	pid_t pid;
	int status = 0;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		if (telemetry_check(telemetry_root(), o->telemetry_only, o->events, error,
				    sizeof(error)))
			_exit(0);
		cli_error("--telemetry-only: %s", error);
		fflush(NULL);
		_exit(CLI_USAGE);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || !WIFEXITED(status))
		cli_error("--telemetry-only cannot be checked: %s",
			  pid < 0 ? strerror(errno) : "a driver does not answer, or crashed");
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool telemetry_valid(const struct run_options *o)
{
	if (!o->telemetry_ms && (o->telemetry_only || (!o->events && (o->telemetry_delay_ns ||
								      o->telemetry_duration_ns)))) {
		cli_error("--telemetry-only, --telemetry-delay and --telemetry-duration go with "
			  "--telemetry");
		return false;
	}
	if (o->telemetry_only && !only_is_here(o))
		return false;
	tell_slower_telemetry(o);
	return true;
}
