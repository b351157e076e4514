/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When recording was on, and what it left out: what the head of a summary says of it, and the time that
 * shares of the run are shares of.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/summary_parts.h"
#include "base/text.h"
#include "base/units.h"
#include "stream/recorded.h"
#include "wire/raw.h"

enum { FILTERS = 4, FILTER_MAX = 160 }; /* lines; bytes of one */

static bool of_program(const struct t_process *p)
{
	return !p->telemetry && !p->merged_ranks && p->how_ended != RAW_END_REFUSED;
}

struct recorded_sum summary_recorded_sum(const struct trace *t)
{
	struct recorded_sum sum = {.least = INT64_MAX};

	for (uint32_t i = 1; i < t->processes_count; i++) {
		struct recorded r = recorded_of(t, i);

		if (!of_program(&t->processes[i]))
			continue;
		sum.processes++;
		sum.pauses += r.pauses;
		sum.paused += r.pauses > 0;
		sum.lived += r.lived;
		sum.ns += r.ns;
		sum.least = r.ns < sum.least ? r.ns : sum.least;
		sum.most = r.ns > sum.most ? r.ns : sum.most;
	}
	if (!sum.processes)
		sum.least = 0;
	return sum;
}

static void head_pauses(struct report *r, const struct trace *t)
{
	struct recorded_sum s = summary_recorded_sum(t);
	struct text line = {0};
	char ns[UNITS_TEXT], lived[UNITS_TEXT], least[UNITS_TEXT], most[UNITS_TEXT];

	if (!s.pauses)
		return;
	if (s.processes == 1)
		text_addf(&line, "Recorded: %s of %s", units_span(s.ns, ns),
			  units_span(s.lived, lived));
	else
		text_addf(&line, "Recorded: %s of the %s of %u processes (%s to %s of each)",
			  units_span(s.ns, ns), units_span(s.lived, lived), s.processes,
			  units_span(s.least, least), units_span(s.most, most));
	if (s.pauses == 1)
		text_add(&line, ", paused once");
	else
		text_addf(&line, ", paused %u times", s.pauses);
	if (s.paused < s.processes)
		text_addf(&line, " in %u of them", s.paused);
	report_head(r, "%s", line.s ? line.s : "");
	text_release(&line);
}

static const char *filters_of(const struct t_process *p)
{
	return of_program(p) && p->filters ? p->filters : "";
}

static bool said_before(const struct trace *t, uint32_t process)
{
	for (uint32_t i = 1; i < process; i++)
		if (strcmp(filters_of(&t->processes[i]), filters_of(&t->processes[process])) == 0)
			return true;
	return false;
}

/* Of each process those that it was started with; mostly of all the same. */
static void head_filters(struct report *r, const struct trace *t)
{
	unsigned lines = 0;

	for (uint32_t i = 1; i < t->processes_count && lines < FILTERS; i++) {
		const char *filters = filters_of(&t->processes[i]);

		if (!*filters || said_before(t, i))
			continue;
		report_head(r, "Recorded with: %.*s%s", FILTER_MAX, filters,
			    strlen(filters) > FILTER_MAX ? "..." : "");
		lines++;
	}
}

/* A kernel or device that was asked for and never worked is most likely a name that is written wrong. */
static void head_no_work(struct report *r, const struct summary *s)
{
	const struct trace *t = s->trace;
	bool asked = false;

	for (uint32_t i = 1; i < t->processes_count; i++)
		asked |= strstr(filters_of(&t->processes[i]), "-k '") ||
			 strstr(filters_of(&t->processes[i]), "--exclude-kernel '") ||
			 strstr(filters_of(&t->processes[i]), "--device '");
	if (asked && !s->selection && !s->tallies->set[TALLY_DISPATCH].count &&
	    !s->tallies->set[TALLY_COPY].count)
		report_head(r, "No work of a device was recorded: none was of that kernel, or on "
			       "that device.");
}

/* What is no rank is recorded all the same: the launcher is. */
static void head_no_rank(struct report *r, const struct trace *t)
{
	bool asked = false;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		asked |= strstr(filters_of(&t->processes[i]), "--rank '") != NULL;
		if (t->processes[i].rank != UINT32_MAX || t->processes[i].merged_ranks)
			return;
	}
	if (asked)
		report_head(r, "No rank was recorded: no process is known to be one of those; what "
			       "is no rank is "
			       "recorded all the same.");
}

void summary_head_recorded(struct report *r, const struct summary *s)
{
	head_pauses(r, s->trace);
	head_filters(r, s->trace);
	head_no_work(r, s);
	head_no_rank(r, s->trace);
}

uint64_t summary_recorded_wall(const struct trace *t, const bool *of)
{
	int64_t run = t->end > t->origin ? t->end - t->origin : 0;
	int64_t gaps = t->pauses_count > 1 ? recorded_gaps(t, of) : 0;

	return (uint64_t)(gaps > 0 && gaps < run ? run - gaps : gaps < run ? run : 0);
}

const char *summary_filters(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (*filters_of(&t->processes[i]))
			return filters_of(&t->processes[i]);
	return "";
}
