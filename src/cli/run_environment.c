/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a traced program: Kymo's libraries first, the user's own kept. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/patterns.h"
#include "cli/cli.h"
#include "cli/run.h"

extern char **environ;

static bool set_libraries(struct launch_environment *e, struct text *error)
{
	if (!*e->libdir) {
		text_add(error, cli_libdir_error());
		return false;
	}
	if (strpbrk(e->libdir, " :")) {
		text_addf(error, "\"%s\" cannot be preloaded from: its name has a space or a colon",
			  e->libdir);
		return false;
	}
	return launch_backends(e);
}

/*
 * Of programs that bring options of their own for AddressSanitizer, and so are not asked for ours;
 * see inject/sanitizer.c.
 */
static bool set_sanitizer(struct launch_environment *e)
{
	const char *present = getenv("ASAN_OPTIONS"), *ours = "verify_asan_link_order=0";
	struct text t = {0};
	bool ok;

	if (!program_names(e->program, "__asan_default_options") ||
	    (present && strstr(present, "verify_asan_link_order")))
		return true;
	text_addf(&t, "%s%s%s", present ? present : "", present && *present ? ":" : "", ours);
	ok = !t.failed && launch_set(e, "ASAN_OPTIONS", t.s);
	text_release(&t);
	return ok;
}

static bool set_options(struct launch_environment *e, const struct knob_table *t)
{
	static char value[PATTERNS_MAX + 4096]; /* too large for small stacks */
	char name[80];

	for (unsigned i = 0; i < t->count; i++) {
		if (!(t->rows[i].flags & KNOB_HANDED_ON))
			continue;
		knob_environment_name(t, i, name, sizeof(name));
		if (!knob_text(t, i, value, sizeof(value)))
			launch_unset(e, name);
		else if (!launch_set(e, name, value))
			return false;
	}
	return true;
}

/* A rank's launcher hands its job on: the ranks' own parents differ, and with Hydra that is a name.
 */
static bool set_job(struct launch_environment *e)
{
	struct job job;

	job_of_process(&job, 0);
	return !job.id[0] || job.rank == JOB_UNKNOWN || launch_set(e, "KYMO_JOB", job.id);
}

/*
 * From when --after, --before and --period count, for processes that start later. Ranks with launchers of their own
 * count from when the first one of them began, which made the trace.
 */
static bool set_began(struct launch_environment *e, const char *trace)
{
	uint64_t first = e->options->dry_run ? 0 : trace_began(trace);
	char began[24];

	snprintf(began, sizeof(began), "%" PRIu64, first ? first : clock_ns(CLOCK_REALTIME));
	return (!e->options->after_ns && !e->options->before_ns && !e->options->period) ||
	       launch_set(e, "KYMO_BEGAN", began);
}

/* Before backends look: one of them traces functions. */
static bool set_functions(struct launch_environment *e)
{
	const struct run_options *o = e->options;
	char least[32];

	if (!o->functions_plan)
		return true;
	snprintf(least, sizeof(least), "%" PRIu64 "ns", o->functions_min_ns);
	return launch_set(e, "KYMO_FUNCTIONS_PLAN", o->functions_plan) &&
	       launch_set(e, "KYMO_FUNCTIONS_MIN", least);
}

bool environment_make(struct launch_environment *e, const struct knob_table *options,
		      const char *program, const char *trace, const char *socket,
		      struct text *error)
{
	unsigned n = 0;

	*e = (struct launch_environment){.options = options->values,
					 .libdir = cli_libdir(),
					 .program = program,
					 .warn = cli_warn};
	while (environ[n])
		n++;
	e->words = calloc(n + ENVIRONMENT_MOST, sizeof(*e->words));
	e->set = calloc(ENVIRONMENT_MOST, sizeof(*e->set));
	if (!e->words || !e->set) {
		text_add(error, "out of memory");
		return false;
	}
	memcpy(e->words, environ, n * sizeof(*e->words));
	e->count = n;
	if (!socket)
		return true;
	return set_functions(e) && set_libraries(e, error) && set_sanitizer(e) &&
	       launch_set(e, "KYMO_TRACE", trace) && launch_set(e, "KYMO_DRAIN", socket) &&
	       launch_set(e, "KYMO_BIN", cli_self()) && set_job(e) && set_began(e, trace) &&
	       set_options(e, options);
}

void environment_release(struct launch_environment *e)
{
	for (unsigned i = 0; i < e->set_count; i++)
		free(e->set[i]);
	free(e->set);
	free(e->words);
}
