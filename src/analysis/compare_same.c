/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be the same, and what is not there; see compare_same.h. */
#include "analysis/compare_same.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/summary_parts.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"
#include "wire/raw.h"

#define COMMAND 36 /* columns: the line has 80 with how many runs and when they were */
#define SHOWN   24 /* columns of a value, two of which and their heading are a line */

/* Adds a word of a list that has each once. */
static void add_once(struct text *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list->s; n && p && *p; p += strcspn(p, ","), p += *p == ',' ? 2 : 0)
		if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return;
	text_addf(list, "%s%s", list->length && n ? ", " : "", word);
}

/* Words, in which order they came is nothing that differs. */
struct words {
	const char **at;
	uint32_t count, room;
};

static void words_add(struct compare *c, struct words *w, const char *word)
{
	if (!word || !*word)
		return;
	if (vec_reserve(&w->at, &w->room, w->count, 1))
		w->at[w->count++] = word;
	else
		c->failed = true;
}

static int by_word(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each once. */
static char *words_list(struct compare *c, struct words *w)
{
	struct text list = {0};
	char *s;

	if (w->count)
		qsort(w->at, w->count, sizeof(*w->at), by_word);
	for (uint32_t i = 0; i < w->count; i++)
		if (!i || strcmp(w->at[i], w->at[i - 1]) != 0)
			text_addf(&list, "%s%s", list.length ? ", " : "", w->at[i]);
	free(w->at);
	s = list.failed ? NULL : list.s ? list.s : strdup("");
	c->failed |= !s;
	return s;
}

/* The text itself, empty where there is none. */
static char *take_text(struct compare *c, struct text *t)
{
	char *s = t->failed ? NULL : t->s ? t->s : strdup("");

	c->failed |= !s;
	if (t->failed)
		text_release(t);
	return s;
}

static char *copy_text(struct compare *c, const char *s)
{
	char *copy = strdup(s);

	c->failed |= !copy;
	return copy;
}

static void read_process(struct compare_run *run, const struct t_process *p, int64_t end)
{
	int64_t begin = p->start_realtime;

	run->lost += p->lost_records;
	run->damaged +=
		(unsigned)p->damaged_blocks + (p->lost_definitions != 0) + (p->left_out_rows != 0);
	run->unread += p->file_state != FILE_READ || p->how_ended == RAW_END_REFUSED;
	run->endless +=
		p->how_ended == UINT32_MAX && !p->file_state && !p->merged_ranks && !p->telemetry;
	if (p->telemetry)
		return;
	run->processes++;
	if (!begin)
		return;
	run->begin = !run->begin || begin < run->begin ? begin : run->begin;
	end = begin + ((p->end ? p->end : end) - p->start);
	run->end = end > run->end ? end : run->end;
}

/* Calls that the mode leaves out are known by how many each op had; the ops say what the mode is. */
static char *left_out_ops(struct compare *c, const struct trace *t)
{
	struct text list = {0};

	for (uint32_t i = 1; i < t->processes_count; i++)
		add_once(&list, t->processes[i].filters ? t->processes[i].filters : "");
	return take_text(c, &list);
}

void compare_same_read(struct compare *c, struct compare_run *run, const struct trace *t,
		       uint64_t in_band)
{
	struct words hosts = {0}, devices = {0}, versions = {0};

	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		read_process(run, p, t->end);
		if (!p->merged_ranks)
			words_add(c, &hosts, p->hostname);
		words_add(c, &versions, p->version);
	}
	for (uint32_t i = 1; i < t->agents_count; i++)
		words_add(c, &devices, t->agents[i].label);
	run->lost = in_band > run->lost ? in_band : run->lost;
	run->ranks = summary_ranks(t);
	run->command = copy_text(c, summary_command(t));
	run->hosts = words_list(c, &hosts);
	run->devices = words_list(c, &devices);
	run->version = words_list(c, &versions);
	run->left_out = left_out_ops(c, t);
}

/* ---- head -------------------------------------------------------------------------------------- */

static const struct compare_run *first_run(const struct compare *c, unsigned side)
{
	return &c->runs[side ? c->count[0] : 0];
}

static void add_time(struct text *out, int64_t ns, const char *format)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm when;
	char text[40];

	if (gmtime_r(&seconds, &when) && strftime(text, sizeof(text), format, &when))
		text_add(out, text);
}

/* As much of `s` as fits into so many columns. */
static void add_fitted(struct text *out, const char *s, unsigned width)
{
	struct text plain = {0};

	if (plain_width(s) <= width) {
		text_add(out, s);
		return;
	}
	plain_add_cut(&plain, s, width - 3);
	text_addf(out, "%s...", plain.s ? plain.s : "");
	text_release(&plain);
}

/* "heat --size 256" of "/opt/bin/heat --size 256": directories say less than options. */
static void add_command(struct text *out, const char *command, unsigned width)
{
	struct text brief = {0};

	if (plain_width(command) <= width) {
		text_add(out, command);
		return;
	}
	for (const char *word = command; *word;) {
		size_t n = strcspn(word, " "), from = 0;

		for (size_t i = 0; *word == '/' && i + 1 < n; i++)
			from = word[i] == '/' ? i + 1 : from;
		n += word[n] == ' ';
		text_addf(&brief, "%.*s", (int)(n - from), word + from);
		word += n;
	}
	add_fitted(out, brief.s ? brief.s : command, width);
	text_release(&brief);
}

static void head_side(struct report *r, const struct compare *c, unsigned side)
{
	const struct compare_run *first = first_run(c, side);
	int64_t begin = 0, end = 0;
	struct text line = {0};

	for (unsigned i = 0; i < c->count[side]; i++) {
		begin = !begin || (first[i].begin && first[i].begin < begin) ? first[i].begin
									     : begin;
		end = first[i].end > end ? first[i].end : end;
	}
	text_addf(&line, "%c: %u run%s of ", "AB"[side], c -> count[side],
		  c -> count[side] == 1 ? "" : "s");
	add_command(&line, *first->command ? first->command : first->path, COMMAND);
	if (begin) {
		add_time(&line, begin, ", %F %R");
		if (c->count[side] > 1)
			add_time(&line, end, " to %R");
		text_add(&line, " UTC");
	}
	report_head(r, "%s", line.s ? line.s : "");
	r->failed |= line.failed;
	text_release(&line);
}

static const struct {
	const char *what;
	size_t at;
} same[] = {
	{"machine", offsetof(struct compare_run, hosts)},
	{"devices", offsetof(struct compare_run, devices)},
	{"command", offsetof(struct compare_run, command)},
	{"recorded", offsetof(struct compare_run, left_out)},
	{"kymo", offsetof(struct compare_run, version)},
};

static const char *same_of(const struct compare_run *run, unsigned i)
{
	return *(char *const *)(const void *)((const char *)run + same[i].at);
}

/* The values of all runs of a side. */
static char *values_of(const struct compare *c, unsigned side, unsigned i)
{
	const struct compare_run *first = first_run(c, side);
	struct text list = {0};

	for (unsigned k = 0; k < c->count[side]; k++) {
		bool again = false;

		for (unsigned j = 0; j < k && !again; j++)
			again = strcmp(same_of(&first[j], i), same_of(&first[k], i)) == 0;
		if (!again)
			text_addf(&list, "%s%s", list.length ? "; " : "", same_of(&first[k], i));
	}
	return list.s ? list.s : strdup("");
}

/* What both have at their beginning, up to a blank, or to the last folder of a path. */
static size_t common_part(const char *a, const char *b)
{
	size_t part = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == ' ' || a[i] == '/')
			part = i + 1;
	return part;
}

static void head_differs(struct report *r, const struct compare *c, unsigned i)
{
	char *a = values_of(c, 0, i), *b = values_of(c, 1, i);
	size_t part = a && b ? common_part(a, b) : 0;
	struct text line = {0};

	if (a && b && strcmp(a, b) != 0) {
		text_addf(&line, "Not the same, %s: %s", same[i].what, part ? ".. " : "");
		add_fitted(&line, a[part] ? a + part : "-", SHOWN);
		text_addf(&line, " | %s", part ? ".. " : "");
		add_fitted(&line, b[part] ? b + part : "-", SHOWN);
		report_head(r, "%s", line.s ? line.s : "");
	}
	r->failed |= !a || !b || line.failed;
	text_release(&line);
	free(a);
	free(b);
}

static void head_numbers_differ(struct report *r, const struct compare *c, const char *what,
				size_t at)
{
	unsigned least = 0, most = 0, n = c->count[0] + c->count[1];

	for (unsigned i = 0; i < n; i++) {
		unsigned v = *(const unsigned *)(const void *)((const char *)&c->runs[i] + at);

		least = !i || v < least ? v : least;
		most = !i || v > most ? v : most;
	}
	if (least != most)
		report_head(r, "Not the same, %s: %u to %u in a run", what, least, most);
}

void compare_same_head(struct report *r, const struct compare *c)
{
	head_side(r, c, 0);
	head_side(r, c, 1);
	for (unsigned i = 0; i < sizeof(same) / sizeof(*same); i++)
		head_differs(r, c, i);
	if (c->selection)
		report_head(r, "Selected: %s", c->selection);
	head_numbers_differ(r, c, "ranks", offsetof(struct compare_run, ranks));
	head_numbers_differ(r, c, "processes", offsetof(struct compare_run, processes));
}

/* ---- foot -------------------------------------------------------------------------------------- */

static void foot_lost(struct report *r, const struct compare *c, unsigned side)
{
	const struct compare_run *first = first_run(c, side);
	uint64_t lost = 0, kept = 0;
	unsigned damaged = 0, endless = 0, unread = 0;
	char a[32], b[32];

	for (unsigned i = 0; i < c->count[side]; i++) {
		lost += first[i].lost;
		kept += first[i].records;
		damaged += first[i].damaged;
		endless += first[i].endless;
		unread += first[i].unread;
	}
	if (lost)
		report_foot(r, "Lost in %c: %s of %s records (%.2g %%).", "AB"[side],
			    units_count(lost, a), units_count(lost + kept, b),
			    100.0 * (double)lost / (double)(lost + kept));
	if (damaged)
		report_foot(r, "Damaged in %c: %u place%s; what is missing there is not known.",
			    "AB"[side], damaged, plural(damaged));
	if (unread)
		report_foot(r, "Missing in %c: %u process%s that could not be read or recorded.",
			    "AB"[side], unread, unread == 1 ? "" : "es");
	if (endless)
		report_foot(r, "Without an end in %c: %u process%s (killed, or still recorded).",
			    "AB"[side], endless, endless == 1 ? "" : "es");
}

static void foot_order(struct report *r, const struct compare *c)
{
	int64_t begin[2] = {INT64_MAX, INT64_MAX}, end[2] = {0, 0};

	for (unsigned i = 0; i < c->count[0] + c->count[1]; i++) {
		const struct compare_run *run = &c->runs[i];

		if (!run->begin)
			return;
		begin[run->side] = run->begin < begin[run->side] ? run->begin : begin[run->side];
		end[run->side] = run->end > end[run->side] ? run->end : end[run->side];
	}
	if (c->count[0] > 1 && c->count[1] > 1 && (begin[0] >= end[1] || begin[1] >= end[0])) {
		report_foot(r,
			    "All runs of one side came before those of the other: what changed on");
		report_foot(r, "the machine meanwhile looks the same. Record them by turns.");
	}
}

void compare_same_foot(struct report *r, const struct compare *c)
{
	uint64_t late = 0;
	char number[32];

	foot_lost(r, c, 0);
	foot_lost(r, c, 1);
	if (c->lossy && c->lost_share > COMPARE_LOST) {
		report_foot(r, "Nothing is judged: too much is missing.");
	} else if (c->lossy) {
		report_foot(r,
			    "So totals are not judged, typical times are those of what was kept,");
		report_foot(r, "and what only one side has may be lost in the other.");
	}
	for (unsigned i = 0; i < c->count[0] + c->count[1]; i++)
		late += c->runs[i].late;
	if (late)
		report_foot(r, "Busy times are a floor: %s intervals came too late to be added up.",
			    units_count(late, number));
	foot_order(r, c);
}
