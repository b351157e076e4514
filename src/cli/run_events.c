/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of --counters that are read over time, of whole processors: they are the telemetry's, not the program's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	o->counters = program.s; /* kept; NULL: none is left */
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
