/* SPDX-License-Identifier: Apache-2.0 */
/* What ran, and how it ended: the lines above the summary's tables. */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_columns.h"
#include "analysis/summary_parts.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/unseen.h"
#include "record/fields.h"
#include "stream/names.h"
#include "stream/trace.h"
#include "wire/defs.h"
#include "wire/raw.h"

enum {
	COMMAND_MAX = 200, /* bytes; the manifest has all of it */
	HEAD_WIDTH = 80,
	NAMED = 4, /* files */
	DEATHS_SHOWN = 8
};

static uint64_t sum_of(const struct summary *s, enum tally_kind kind)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->tallies->set[kind].count; i++)
		n += s->tallies->set[kind].rows[i]->count;
	return n;
}

static uint64_t calls_of(const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_CALL];
	uint64_t n = 0;

	for (uint32_t i = 0; i < set->count; i++)
		n += row_is_call(NULL, s->trace, set->rows[i]) ? set->rows[i]->count : 0;
	return n;
}

/* Fills and maps move nothing between memories; they have tables of their own. */
static uint64_t copies_of(const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_COPY];
	uint64_t n = 0;

	for (uint32_t i = 0; i < set->count; i++)
		if (label_transfer(s->trace, set->rows[i]) == TRANSFER_COPY)
			n += set->rows[i]->count;
	return n;
}

/* ", 1 thread", ", 20,222 kernels" */
static void add_number(struct text *out, uint64_t n, const char *one, const char *several)
{
	char number[32];

	text_addf(out, ", %s %s", units_count(n, number), n == 1 ? one : several);
}

/* What ranks did, by what it was: a message has a send and a receive, a collective a part in each of its ranks. */
static void add_messages(struct text *out, const struct summary *s)
{
	static const char *const names[][2] = {
		[COMM_OP_SEND] = {"send", "sends"},
		[COMM_OP_RECEIVE] = {"receive", "receives"},
		[COMM_OP_COLLECTIVE] = {"part in collectives", "parts in collectives"},
		[COMM_OP_PUT] = {"put", "puts"},
		[COMM_OP_GET] = {"get", "gets"},
		[COMM_OP_ACCUMULATE] = {"accumulate", "accumulates"},
		[COMM_OP_READ] = {"read of files", "reads of files"},
		[COMM_OP_WRITE] = {"write of files", "writes of files"}};
	enum { KINDS = sizeof(names) / sizeof(*names) };
	const struct tally_set *set = &s->tallies->set[TALLY_COMM];
	uint64_t n[KINDS + 1] = {0};

	for (uint32_t i = 0; i < set->count; i++) {
		uint64_t op = set->rows[i]->key[KEY_OP];
		uint32_t kind = op && op < s->trace->ops_count ? s->trace->ops[op].number : KINDS;

		n[kind < KINDS ? kind : KINDS] += set->rows[i]->count;
	}
	for (unsigned i = 0; i < KINDS; i++)
		if (n[i])
			add_number(out, n[i], names[i][0], names[i][1]);
	if (n[KINDS])
		add_number(out, n[KINDS], "other message", "other messages");
}

bool summary_nothing_recorded(const struct summary *s)
{
	return !sum_of(s, TALLY_CALL) && !sum_of(s, TALLY_DISPATCH) && !sum_of(s, TALLY_COPY) &&
	       !sum_of(s, TALLY_MARKER) && !sum_of(s, TALLY_COMM) && !sum_of(s, TALLY_SAMPLE) &&
	       !sum_of(s, TALLY_DEVICE_SAMPLE) && !sum_of(s, TALLY_COUNTER);
}

uint64_t summary_duration(const struct trace *t)
{
	return trace_duration(t);
}

const char *summary_command(const struct trace *t)
{
	if (*t->command)
		return t->command;
	return t->processes_count > 1 ? t->processes[1].argv : "";
}

static uint32_t refused_of(const struct trace *t, int *error)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		if (t->processes[i].how_ended != RAW_END_REFUSED)
			continue;
		if (n++ == 0)
			*error = t->processes[i].exit_status;
	}
	return n;
}

/* A process whose file has no end: it is still being recorded, or nobody could write one. */
static void head_endless(struct report *r, const struct t_process *p)
{
	char who[300];

	if (p->telemetry)
		snprintf(who, sizeof(who), "The telemetry of %.256s", p->hostname);
	else
		snprintf(who, sizeof(who), "Process %u", p->pid);
	if (p->recording)
		report_head(r, "%s is still recording (last data %.1f s ago).", who,
			    (double)p->quiet_ns / 1e9);
	else
		report_head(r, "%s: the recording has no end; it was cut short.", who);
}

static void head_refused(struct report *r, const struct trace *t)
{
	int error = 0;
	uint32_t refused = refused_of(t, &error);

	if (refused)
		report_head(r, "%u %s could not be recorded (%s); `kymo info` names %s.", refused,
			    refused == 1 ? "process" : "processes",
			    error > 0 ? strerror(error) : "what they shared was not in order",
			    refused == 1 ? "it" : "them");
}

static void head_program(void *report, const char *text, unsigned starts)
{
	report_head(report, "Not recorded: %s (started %s time%s).", text, UNITS_COUNT(starts),
		    starts == 1 ? "" : "s");
}

/* Files of the trace that are not there, or of which nothing can be read. */
static void head_unread(struct report *r, const struct trace *t, enum file_state state)
{
	struct text names = {0};
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		const char *file = t->processes[i].file, *slash = strrchr(file, '/');

		if (t->processes[i].file_state != state)
			continue;
		if (n++ < NAMED)
			text_addf(&names, "%s%s", n == 1 ? "" : ", ", slash ? slash + 1 : file);
	}
	if (n > NAMED)
		text_addf(&names, " and %u more", n - NAMED);
	if (n)
		report_head(r, "%s: %s. What the %s recorded is lost.",
			    state == FILE_MISSING ? "Missing in the trace"
						  : "In the trace, and cannot be read",
			    names.s ? names.s : "", n == 1 ? "process" : "processes");
	text_release(&names);
}

/* ---- how processes ended --------------------------------------------------------------------- */

/* A rank that has been in MPI_Init and not in MPI_Finalize: the others may have waited for it. */
static bool left_early(const struct t_process *p)
{
	return p->rank != UINT32_MAX && p->rank_stage == RANK_INITIALIZED && p->how_ended <= 1;
}

static bool died_unexpectedly(const struct t_process *p)
{
	return !p->merged_ranks && (p->how_ended == 2 || left_early(p));
}

static void head_death(struct report *r, const struct trace *t, const struct t_process *p)
{
	char who[400], status[32] = "";

	if (p->rank == UINT32_MAX)
		snprintf(who, sizeof(who), "Process %u", p->pid);
	else if (t->worlds > 1)
		snprintf(who, sizeof(who), "Rank %u.%u (process %u on %.256s)", p->world, p->rank,
			 p->pid, p->hostname);
	else
		snprintf(who, sizeof(who), "Rank %u (process %u on %.256s)", p->rank, p->pid,
			 p->hostname);
	if (p->exit_status >= 0)
		snprintf(status, sizeof(status), " with status %d", p->exit_status);
	if (p->how_ended != 2)
		report_head(r, "%s ended%s without MPI_Finalize.", who, status);
	else if (p->exit_status > 0)
		report_head(r, "%s was killed by signal %d (%s).%s", who, p->exit_status,
			    strsignal(p->exit_status),
			    p->exit_status == SIGSYS
				    ? " A filter of system calls (seccomp) forbids what it called: "
				      "it may be a call "
				      "of Kymo's, which the program itself does not make."
				    : "");
	else
		report_head(r, "%s was killed by a signal.", who);
}

static int by_end(const void *a, const void *b)
{
	const struct t_process *x = *(const struct t_process *const *)a,
			       *y = *(const struct t_process *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Those that died, the first first: the deaths of others may follow from its. */
static void head_deaths(struct report *r, const struct trace *t)
{
	const struct t_process **dead =
		calloc(t->processes_count, sizeof(const struct t_process *));
	uint32_t n = 0;

	for (uint32_t i = 1; dead && i < t->processes_count; i++)
		if (died_unexpectedly(&t->processes[i]))
			dead[n++] = &t->processes[i];
	if (n)
		qsort(dead, n, sizeof(const struct t_process *), by_end);
	for (uint32_t i = 0; i < n && i < DEATHS_SHOWN; i++)
		head_death(r, t, dead[i]);
	if (n > DEATHS_SHOWN)
		report_head(r, "%u more ended so after these; `kymo info` names processes.",
			    n - DEATHS_SHOWN);
	free(dead);
}

/* How processes ended that did not end well. */
static void head_ends(struct report *r, const struct trace *t)
{
	head_refused(r, t);
	unseen_programs(t->path, head_program, r);
	head_unread(r, t, FILE_MISSING);
	head_unread(r, t, FILE_UNREADABLE);
	head_deaths(r, t);
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (p->how_ended == 4 && !t->imported)
			report_head(r, "Process %u was still running when the recording ended.",
				    p->pid);
		else if (p->how_ended == UINT32_MAX && !p->file_state)
			head_endless(r, p);
	}
}

/* ---- empty traces ---------------------------------------------------------------------------- */

static void head_told(void *report, const char *text)
{
	report_head(report, "  %s", text);
}

/* What stood in the way, as it was left in the trace. */
static bool head_unseen(struct report *r, const char *trace)
{
	return unseen_told(trace, head_told, r) > 0;
}

/* Whether the launcher gave the program this option of a time. */
static bool is_set(const char *manifest, const char *option)
{
	const char *value = manifest ? strstr(manifest, option) : NULL;

	return value && strncmp(value + strlen(option), "0\"", 2) != 0;
}

static char *read_manifest(const char *trace)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/manifest.json", PATH_MAX - 32, trace);
	return file_read_regular(path, NULL);
}

bool summary_has_no_end(const struct summary *s)
{
	char *manifest;
	bool recording;

	if (s->trace->processes_count > 1)
		return false;
	manifest = read_manifest(s->path);
	recording = manifest && strstr(manifest, "\n  \"state\": \"recording\"");
	free(manifest);
	return recording && !file_is_held(s->path);
}

bool summary_option(const struct summary *s, const char *variable)
{
	char option[64], *manifest = read_manifest(s->path);
	bool set;

	snprintf(option, sizeof(option), "\"%s=", variable);
	set = is_set(manifest, option);
	free(manifest);
	return set;
}

/* Of the program's annotations, which tell the recording where to begin. */
static bool head_ranges(struct report *r, const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const char *filters = t->processes[i].filters;

		if (!filters || (!strstr(filters, "--range '") && !strstr(filters, "--during '")))
			continue;
		report_head(r,
			    "  No such range began: recorded with %s. Names are whole ones there, "
			    "or paths; executions count from 1 in each thread.",
			    filters);
		return true;
	}
	return false;
}

/* Only a part of the run was to be recorded. */
static bool head_window(struct report *r, const char *trace)
{
	char *manifest = read_manifest(trace);
	bool window, paused;

	window = is_set(manifest, "\"KYMO_DELAY=") || is_set(manifest, "\"KYMO_DURATION=") ||
		 is_set(manifest, "\"KYMO_AFTER=") || is_set(manifest, "\"KYMO_BEFORE=") ||
		 is_set(manifest, "\"KYMO_PERIOD=");
	paused = is_set(manifest, "\"KYMO_START_PAUSED=");
	free(manifest);
	if (paused)
		report_head(r, "  Recording was to begin paused (--start-paused), and nothing was "
			       "recorded after it "
			       "was resumed, if it was.");
	if (window)
		report_head(r, "  Nothing that is recorded began in the time that --delay, "
			       "--duration, --after, --before and --period left.");
	return window || paused;
}

static bool is_noted(const struct trace *t, const char *part)
{
	for (uint32_t i = 1; i < t->notes_count; i++)
		if (strcmp(t->notes[i].part, part) == 0)
			return true;
	return false;
}

/* A thread with records has the name or number, or is one that "main" means. */
static bool is_thread(const struct trace *t, const char *word, size_t length)
{
	char number[16];

	for (uint32_t i = 1; i < t->threads_count; i++) {
		const struct t_thread *h = &t->threads[i];

		snprintf(number, sizeof(number), "%" PRIu32, h->tid);
		if ((h->main && length == 4 && memcmp(word, "main", 4) == 0) ||
		    (strlen(h->name) == length && memcmp(word, h->name, length) == 0) ||
		    (strlen(number) == length && memcmp(word, number, length) == 0))
			return true;
	}
	return false;
}

/* Of a list of which some threads were sampled, those that are none: they may be misspelt. */
static void head_no_threads(struct report *r, const struct summary *s, const char *list,
			    size_t length)
{
	struct text none = {0};

	for (size_t at = 0, n; at < length; at += n + 1) {
		n = strcspn(list + at, ",\"");
		if (!is_thread(s->trace, list + at, n))
			text_addf(&none, "%s%.*s", none.length ? ", " : "", (int)n, list + at);
	}
	if (none.length)
		report_head(r, "--sample-threads: no thread that has records is called %s", none.s);
	text_release(&none);
}

/* Threads were chosen, and none that ran was one of them: unless it is noted why there are no samples. */
static bool head_samples(struct report *r, const struct summary *s)
{
	static const char option[] = "\"KYMO_SAMPLE_THREADS=";
	const bool some = sum_of(s, TALLY_SAMPLE);
	char *manifest;
	const char *list;

	if (s->selection || is_noted(s->trace, "sample"))
		return false;
	manifest = read_manifest(s->path);
	list = manifest ? strstr(manifest, option) : NULL;
	if (list) {
		list += sizeof(option) - 1;
		if (some)
			head_no_threads(r, s, list, strcspn(list, "\""));
		else
			report_head(
				r, "No samples: no thread that ran is one of --sample-threads %.*s",
				(int)strcspn(list, "\""), list);
	}
	free(manifest);
	return list != NULL && !some;
}

static bool counted_kernels(const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_COUNTER];

	for (uint32_t i = 0; i < set->count; i++) {
		const uint32_t op = set->rows[i]->key[KEY_OP];

		if (op < s->trace->ops_count && strcmp(s->trace->ops[op].name, "dispatch") == 0)
			return true;
	}
	return false;
}

/* Totals of kernels whose lines were counted are counters, too, which are defined with the first of them. */
static bool instrumented_kernels(const struct summary *s)
{
	for (uint32_t i = 0; i < s->trace->counters_count; i++)
		if (strcmp(s->trace->counters[i].provider, "instrument") == 0)
			return true;
	return is_noted(s->trace, "instrument");
}

/* Kernels were chosen to be `done`, and none was, though some ran: a name with a mistake in it, most likely. */
static void head_chosen(struct report *r, const struct summary *s, const char *variable,
			const char *option, const char *done)
{
	char *manifest = read_manifest(s->path);
	const char *list = manifest ? strstr(manifest, variable) : NULL;

	if (list) {
		list += strlen(variable);
		report_head(r, "No kernel was %s: %s %.*s names none that ran, or notes say why",
			    done, option, (int)strcspn(list, "\""), list);
	}
	free(manifest);
}

static void head_chosen_kernels(struct report *r, const struct summary *s)
{
	if (s->selection || !sum_of(s, TALLY_DISPATCH))
		return;
	if (!counted_kernels(s))
		head_chosen(r, s, "\"KYMO_COUNT_KERNEL=", "--count-kernel", "counted");
	if (!instrumented_kernels(s))
		head_chosen(r, s, "\"KYMO_INSTRUMENT_KERNELS=", "--instrument-kernels",
			    "instrumented");
}

static bool is_recording(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].recording)
			return true;
	return false;
}

/* By the clock, by events, or times without a processor. */
static bool is_sampled(const char *trace)
{
	char path[PATH_MAX], *manifest;
	bool yes;

	snprintf(path, sizeof(path), "%.*s/manifest.json", PATH_MAX - 32, trace);
	manifest = file_read_regular(path, NULL);
	yes = manifest &&
	      (strstr(manifest, "\"KYMO_SAMPLE=") || strstr(manifest, "\"KYMO_SAMPLE_EVENT=") ||
	       strstr(manifest, "\"KYMO_OFF_CPU="));
	free(manifest);
	return yes;
}

/* Why a trace is empty: what the processes noted, else what is left, unless something was said before. */
static void head_nothing(struct report *r, const struct summary *s, bool said)
{
	const struct trace *t = s->trace;

	report_head(r, "Nothing was recorded.");
	said |= head_unseen(r, s->path);
	said |= head_window(r, s->path);
	said |= head_ranges(r, t);
	for (uint32_t i = 1; i < t->notes_count; i++) {
		report_head(r, "  %s%s%s", t->notes[i].part, *t->notes[i].part ? ": " : "",
			    t->notes[i].text);
		said = true;
	}
	for (uint32_t i = 1; i < t->processes_count; i++) {
		if (t->processes[i].untraced_calls) {
			report_head(r, "  process %u: %s calls went past Kymo", t->processes[i].pid,
				    UNITS_COUNT(t->processes[i].untraced_calls));
			said = true;
		}
	}
	if (!said && is_recording(t))
		report_head(r, "  Not yet: the recording goes on.");
	else if (!said && summary_has_no_end(s))
		report_head(r, "  The recording has no end: its drain was killed before it had "
			       "written what a process recorded.");
	else if (!said && summary_lossy(s, 1))
		report_head(r, "  What was to be recorded is lost; see the line \"Lost\" below.");
	else if (!said && t->processes_count <= 1)
		report_head(r,
			    "  No process used an interface that is traced (`kymo list backends`), "
			    "or none could be traced; `kymo doctor` shows more.");
	else if (!said && is_sampled(s->path))
		report_head(
			r,
			"  No samples: no thread met what takes one (an interval of its time, an "
			"event, a time without a processor); nor did one call an API that is "
			"traced (`kymo list backends`).");
	else if (!said)
		report_head(r, "  The processes in it called none of the APIs that were traced "
			       "(`kymo list backends`).");
}

/* Kymo's sampler is no part of the program. */
static bool in_person(const struct t_process *p)
{
	return !p->telemetry && !p->merged_ranks;
}

/* Of the ranks of a job that were counted together, those that have left a file as well. */
static uint32_t in_files(const struct trace *t, const struct t_process *job)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		n += t->processes[i].aligned && !t->processes[i].merged_ranks &&
		     strcmp(t->processes[i].job, job->job) == 0;
	return n < job->merged_ranks ? n : job->merged_ranks;
}

bool summary_together(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].merged_ranks)
			return true;
	return false;
}

uint32_t summary_without_file(const struct trace *t)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].merged_ranks)
			n += t->processes[i].merged_ranks - in_files(t, &t->processes[i]);
	return n;
}

uint32_t summary_threads(const struct trace *t, uint32_t *processes)
{
	uint32_t threads = 0;

	*processes = summary_without_file(t);
	for (uint32_t i = 1; i < t->processes_count; i++)
		*processes += in_person(&t->processes[i]);
	for (uint32_t i = 1; i < t->threads_count; i++)
		threads += !t->threads[i].own && in_person(&t->processes[t->threads[i].process]);
	return threads;
}

static int compare_places(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* A rank may have been several processes, one after the other. */
uint32_t summary_ranks(const struct trace *t)
{
	uint32_t ranks = summary_without_file(t), n = 0;
	uint64_t *places = calloc(t->processes_count, sizeof(*places));

	for (uint32_t i = 1; places && i < t->processes_count; i++)
		if (t->processes[i].rank != UINT32_MAX)
			places[n++] = (uint64_t)t->processes[i].world << 32 | t->processes[i].rank;
	if (n)
		qsort(places, n, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < n; i++)
		ranks += i == 0 || places[i] != places[i - 1];
	free(places);
	return ranks;
}

/* Who says which process is which rank, where it is not MPI alone: " by torchrun". */
static void add_sources(struct text *out, const struct trace *t)
{
	enum { SOURCES = 4 };
	const char *named[SOURCES];
	unsigned n = 0;

	for (uint32_t i = 1; i < t->processes_count && n < SOURCES; i++) {
		const char *by = t->processes[i].rank == UINT32_MAX ? "" : t->processes[i].rank_by;
		unsigned k = 0;

		while (k < n && strcmp(named[k], by) != 0)
			k++;
		if (*by && k == n)
			named[n++] = by;
	}
	if (n == 1 && strcmp(named[0], "MPI") == 0)
		return;
	for (unsigned k = 0; k < n; k++)
		text_addf(out, "%s%s", k ? " and " : " by ", named[k]);
}

/* In two lines, after a comma, where one would be too long. */
static void add_broken(struct report *r, char *line)
{
	char *at = strlen(line) > HEAD_WIDTH ? line + HEAD_WIDTH - 1 : NULL;

	while (at && at > line && (at[0] != ',' || at[1] != ' '))
		at--;
	if (!at || at == line) {
		report_head(r, "%s", line);
		return;
	}
	report_head(r, "%.*s", (int)(at - line) + 1, line);
	report_head(r, "%s", at + 2);
}

static void head_numbers(struct report *r, const struct summary *s)
{
	const struct trace *t = s->trace;
	uint32_t processes, threads = summary_threads(t, &processes), ranks = summary_ranks(t);
	struct text line = {0};
	char span[UNITS_TEXT];

	text_add(&line, units_span((uint64_t)summary_duration(t), span));
	if (ranks > 1) {
		add_number(&line, ranks, "rank", "ranks");
		add_sources(&line, t);
	}
	add_number(&line, processes, "process", "processes");
	if (!summary_without_file(t) && !s->selection) /* else nobody has counted them */
		add_number(&line, threads, "thread", "threads");
	add_number(&line, calls_of(s), "call", "calls");
	add_number(&line, sum_of(s, TALLY_DISPATCH), "kernel", "kernels");
	add_number(&line, copies_of(s), "copy", "copies");
	add_messages(&line, s);
	if (line.s)
		add_broken(r, line.s);
	text_release(&line);
}

/* Ranks that have added up their tallies are there as one. */
static void head_ranks(struct report *r, const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (p->merged_ranks)
			report_head(r, "%u of %u ranks, counted together up to MPI_Finalize (%s)",
				    p->merged_ranks, p->ranks, name_program(p));
	}
}

void summary_head(struct report *r, const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct trace *t = s[i].trace;
		bool samples;

		report_head(r, "%s: %.*s%s", t->imported ? t->path : s[i].path, COMMAND_MAX,
			    summary_command(t),
			    strlen(summary_command(t)) > COMMAND_MAX ? "..." : "");
		head_numbers(r, &s[i]);
		head_ranks(r, t);
		head_ends(r, t);
		summary_head_recorded(r, s);
		samples = head_samples(r, &s[i]);
		head_chosen_kernels(r, &s[i]);
		if (s[i].selection)
			report_head(r, "Only what is selected: %s", s[i].selection);
		if (summary_nothing_recorded(&s[i]) && s[i].selection)
			report_head(r, "No records that match.");
		else if (summary_nothing_recorded(&s[i]))
			head_nothing(r, &s[i], samples);
	}
}
