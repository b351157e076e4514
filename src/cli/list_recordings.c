/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list recordings`: what is being recorded on this machine, by the folders of drains (drain/place.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#include "cli/run.h"
#include "drain/steer.h"

struct recording {
	char *trace;
	char *command;  /* JSON; NULL: not known */
	uint64_t began; /* realtime ns; 0: not known */
	const char *steered;
};

struct recordings {
	struct recording *at;
	unsigned count, room;
};

static const char *word_of(unsigned what)
{
	return what == KYMO_STEER_PAUSE ? "pause" : what == KYMO_STEER_RESUME ? "resume" : NULL;
}

/* Several drains may record into one trace: launchers of a job that did not meet. */
static void add(const char *trace, unsigned steered, void *data)
{
	struct recordings *all = data;

	for (unsigned i = 0; i < all->count; i++)
		if (strcmp(all->at[i].trace, trace) == 0)
			return;
	if (!vec_reserve(&all->at, &all->room, all->count, 1))
		return;
	all->at[all->count++] = (struct recording){.trace = strdup(trace),
						   .command = trace_command(trace),
						   .began = trace_began(trace),
						   .steered = word_of(steered)};
}

static int by_age(const void *x, const void *y)
{
	const struct recording *a = x, *b = y;

	if (a->began != b->began)
		return a->began < b->began ? -1 : 1;
	return strcmp(a->trace, b->trace);
}

static int print_json(const struct recordings *all)
{
	struct text t = {0};
	struct json j = {.out = &t};

	json_open(&j, '{');
	json_name(&j, "recordings");
	json_open(&j, '[');
	for (unsigned i = 0; i < all->count; i++) {
		const struct recording *r = &all->at[i];

		json_line(&j, 2);
		json_open(&j, '{');
		json_name(&j, "trace");
		json_add_string(&j, r->trace);
		json_name(&j, "started_ns");
		if (r->began)
			json_add_unsigned(&j, r->began);
		else
			json_add_null(&j);
		json_name(&j, "command");
		json_add_raw(&j, r->command ? r->command : "null");
		json_name(&j, "ctl");
		json_add_string(&j, r->steered);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	printf("%s\n", t.s ? t.s : "");
	text_release(&t);
	return CLI_OK;
}

static int print_text(const struct recordings *all)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	char age[UNITS_TEXT];

	if (!all->count)
		plain_printf(stdout, "Nothing of this user is being recorded on this machine.\n");
	for (unsigned i = 0; i < all->count; i++) {
		const struct recording *r = &all->at[i];
		struct text words = {0};

		trace_command_words(r->command ? r->command : "", false, &words);
		plain_printf(stdout, "%s: for %s%s: %s\n", r->trace,
			     r->began && r->began < now ? units_time(now - r->began, age) : "?",
			     r->steered && strcmp(r->steered, "pause") == 0 ? ", paused by kymo ctl"
									    : "",
			     words.s ? words.s : "?");
		text_release(&words);
	}
	return CLI_OK;
}

static int print_table(const struct recordings *all)
{
	struct list_output o;

	list_begin(&o, "recordings", "Recordings",
		   (const char *const[]){"trace", "started_ns", "ctl", "command", NULL}, NULL);
	for (unsigned i = 0; i < all->count; i++) {
		const struct recording *r = &all->at[i];
		struct text words = {0};
		char began[24];

		snprintf(began, sizeof(began), "%" PRIu64, r->began);
		trace_command_words(r->command ? r->command : "", false, &words);
		LIST_ROW(&o, r->trace, r->began ? began : NULL, r->steered, words.s);
		text_release(&words);
	}
	return list_end(&o);
}

static int print(const struct recordings *all)
{
	switch (list_format()) {
	case REPORT_TEXT:
		return print_text(all);
	case REPORT_JSON:
		return print_json(all);
	default:
		return print_table(all);
	}
}

static int run(int argc, char **argv)
{
	struct recordings all = {0};
	int status;

	if (argc)
		return cli_usage("list", "list recordings takes no operand, not \"%s\"", argv[0]);
	place_each(add, &all);
	if (all.count)
		qsort(all.at, all.count, sizeof(*all.at), by_age);
	status = print(&all);
	for (unsigned i = 0; i < all.count; i++) {
		free(all.at[i].trace);
		free(all.at[i].command);
	}
	free(all.at);
	return status;
}

extern const struct list list_recordings;
const struct list list_recordings = {
	"recordings", "What is being recorded on this machine by this user", run, NULL};
