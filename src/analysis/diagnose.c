/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the rules; see diagnose.h. */
#include "analysis/diagnose.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/brief_names.h"
#include "analysis/gaps.h"
#include "base/knob.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"
#include "stream/recorded.h"
#include "wire/raw.h"

enum { MOST_LINE = 1000 }; /* bytes of a title */

/* Rules tell of a twentieth of the run and less: what the machine did to a tenth of it may be that. */
#define DELAYED 0.1

#define RULE(name) extern const struct rule rule_##name;
#include "analysis/rules/rules.list"
#undef RULE

const struct rule *const rules[] = {
#define RULE(name) &rule_##name,
#include "analysis/rules/rules.list"
#undef RULE
};
const uint32_t rules_count = sizeof(rules) / sizeof(*rules);

/* Where processes were chosen, the others have no calls here. Where nobody has, nothing is told of calls. */
static bool is_here(const struct timeline *tl, uint32_t process)
{
	bool calls = !tl->calls_count;

	for (uint32_t i = 1; i < tl->trace->threads_count && !calls; i++)
		calls = tl->trace->threads[i].process == process && tl->threads[i].count;
	return calls;
}

/* Of one that is over at once nothing is told: it is none of those that the run waits for. */
static bool is_long(const struct timeline *tl, const struct t_process *p)
{
	return 20 * (recorded_until(tl->trace, p) - p->start) >= tl->end - tl->start;
}

uint32_t diagnosis_delayed(const struct timeline *tl, double *share)
{
	const struct trace *t = tl->trace;
	uint32_t most = 0;

	*share = DELAYED;
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];
		double is = recorded_delay(t, p);

		if (is >= *share && is_long(tl, p) && is_here(tl, i)) {
			*share = is;
			most = i;
		}
	}
	return most;
}

double diagnosis_share(const struct diagnosis *d, uint64_t ns)
{
	uint64_t run = timeline_length(d->tl);

	return run ? (double)ns / (double)run : 0;
}

uint64_t diagnosis_basis(const struct diagnosis *d, const struct rule *rule)
{
	uint64_t run = timeline_length(d->tl), work = d->work;

	if (!rule->repeats || !work)
		return run;
	work = work > DIAGNOSIS_LEAST_BASIS ? work : DIAGNOSIS_LEAST_BASIS;
	return work < run ? work : run;
}

bool diagnosis_is_enough(const struct diagnosis *d, uint64_t ns)
{
	return ns && (double)ns >= d->rule->threshold * (double)diagnosis_basis(d, d->rule);
}

/* Names are anything: a line break in one must not begin a line of a report. */
static void text_vaddf(struct text *out, const char *format, va_list args)
{
	struct text line = {0};
	size_t n;

	plain_vaddf(&line, format, args);
	n = line.length < MOST_LINE ? line.length : MOST_LINE;
	while (n < line.length && n && ((unsigned char)line.s[n] & 0xc0) == 0x80)
		n--;
	text_add_bytes(out, line.s ? line.s : "", n);
	text_release(&line);
}

static struct finding *add(struct diagnosis *d, uint64_t ns)
{
	struct finding *f;

	if (!diagnosis_is_enough(d, ns))
		return NULL;
	if (!vec_reserve(&d->findings, &d->room, d->count, 1)) {
		d->failed = true;
		return NULL;
	}
	f = &d->findings[d->count++];
	*f = (struct finding){.rule = d->rule};
	return f;
}

struct finding *finding_add(struct diagnosis *d, uint64_t gain, const char *title, ...)
{
	uint64_t run = timeline_length(d->tl);
	/* What happened in a pause is not known: nor is what could be won. */
	struct finding *f = timeline_gaps(d->tl) ? NULL : add(d, gain);
	va_list args;

	if (!f)
		return NULL;
	f->gain = gain < run ? gain : run;
	va_start(args, title);
	text_vaddf(&f->title, title, args);
	va_end(args);
	return f;
}

struct finding *finding_add_spent(struct diagnosis *d, uint64_t spent, const char *title, ...)
{
	/* What lies between the calls that are there is not known. */
	struct finding *f = d->tl->chosen || timeline_overwritten(d->tl) ? NULL : add(d, spent);
	va_list args;

	if (!f)
		return NULL;
	f->spent = spent;
	va_start(args, title);
	text_vaddf(&f->title, title, args);
	va_end(args);
	return f;
}

struct finding *finding_add_fact(struct diagnosis *d, const char *title, ...)
{
	struct finding *f;
	va_list args;

	if (!vec_reserve(&d->findings, &d->room, d->count, 1)) {
		d->failed = true;
		return NULL;
	}
	f = &d->findings[d->count++];
	*f = (struct finding){.rule = d->rule};
	va_start(args, title);
	text_vaddf(&f->title, title, args);
	va_end(args);
	return f;
}

void finding_add_site(struct diagnosis *d, struct text *out, uint32_t site)
{
	char text[2000];
	char *file;

	if (!site || !d->symbols)
		return;
	symbols_text(d->symbols, site, text, sizeof(text));
	file = symbols_site(d->symbols, site)->function ? strrchr(text, ' ') : NULL;
	if (file && !d->whole_names) { /* behind the function, and never cut */
		*file = '\0';
		brief_name(out, text, FINDING_NAME_MOST);
		plain_addf(out, " %s", file + 1);
	} else {
		plain_addf(out, "%s", text);
	}
}

void diagnosis_abstain(struct diagnosis *d, const char *why, ...)
{
	va_list args;

	text_addf(&d->abstained, "%s: ", d->rule->id);
	va_start(args, why);
	text_vaddf(&d->abstained, why, args);
	va_end(args);
	text_add(&d->abstained, "\n");
}

bool diagnosis_ended(struct diagnosis *d, uint32_t process)
{
	const struct t_process *p = &d->trace->processes[process];

	if (recorded_to_end(p))
		return true;
	if (d->unended != process)
		diagnosis_abstain(d,
				  "process %" PRIu32 " %s: what it would still have given back is "
				  "not known",
				  p->pid,
				  p->recording                     ? "is still being recorded"
				  : p->how_ended == RAW_END_KILLED ? "was killed"
								   : "has no end");
	d->unended = process;
	return false;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static int most_gain(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->first != y->first)
		return x->first ? -1 : 1;
	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	for (uint32_t i = 0; x->rule != y->rule && i < rules_count; i++)
		if (rules[i] == x->rule || rules[i] == y->rule)
			return rules[i] == x->rule ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool find_idle(struct diagnosis *d)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	d->idle = calloc(d->tl->devices_count + 1, sizeof(*d->idle));
	for (uint32_t i = 0; d->idle && i < d->tl->devices_count; i++) {
		if (!idle_find(&d->idle[i], d->tl, i))
			return false;
		if (!d->tl->devices[i].count)
			continue;
		first = d->idle[i].begun < first ? d->idle[i].begun : first;
		last = d->idle[i].last > last ? d->idle[i].last : last;
	}
	d->work = last > first ? (uint64_t)(last - first) : 0;
	return d->idle;
}

/* What is start-up is told as that. */
static void tell_startup(struct gaps *gaps, const struct timeline *tl, const struct idle *idle)
{
	for (uint32_t i = 0; i < gaps->count && gaps->at[i].end <= idle->begun; i++) {
		struct gap *g = &gaps->at[i];
		int64_t until = idle_submitted(tl, &tl->work[g->next]);

		until = until < g->end ? until : g->end;
		g->told = until > g->start ? (uint64_t)(until - g->start) : 0;
	}
}

static bool find_gaps_of_all(struct diagnosis *d)
{
	d->gaps = calloc(d->tl->devices_count + 1, sizeof(*d->gaps));
	d->claimed = calloc((size_t)d->tl->work_count + 1, sizeof(*d->claimed));
	for (uint32_t i = 0; d->gaps && i < d->tl->devices_count; i++)
		if (gaps_find(&d->gaps[i], d->tl, i))
			tell_startup(&d->gaps[i], d->tl, &d->idle[i]);
		else
			return false;
	return d->gaps && d->claimed;
}

/* With records missing, or clocks that disagree, gaps and counts are only as good as what is there. */
static void tell_doubts(struct diagnosis *d, uint32_t first)
{
	for (uint32_t i = first; i < d->count; i++) {
		struct text *evidence = &d->findings[i].evidence;

		if (d->tl->lost)
			text_addf(evidence, "%s record%s lost: it may be more, or less\n",
				  UNITS_COUNT(d->tl->lost), d->tl->lost == 1 ? " was" : "s were");
		if (d->recording > 0 && d->findings[i].gain)
			text_addf(evidence,
				  "recording took %.0f %% of the time of a process's threads: it "
				  "may be its doing\n",
				  100 * d->recording);
		if (d->tl->early > d->tl->work_count / 100)
			text_addf(evidence,
				  "%s of %s pieces of device work start before their call: the "
				  "clocks disagree\n",
				  UNITS_COUNT(d->tl->early), UNITS_COUNT(d->tl->work_count));
	}
}

void diagnosis_settle(struct diagnosis *d, uint32_t first)
{
	d->rule = NULL;
	tell_doubts(d, first);
	if (d->count)
		qsort(d->findings, d->count, sizeof(*d->findings), most_gain);
}

static void ask(struct diagnosis *d, const struct rule *rule)
{
	d->rule = rule;
	d->unended = 0;
	for (uint32_t i = 0; rule->find_of_device && i < d->tl->devices_count; i++)
		rule->find_of_device(d, i);
	if (rule->find)
		rule->find(d);
}

/* What a process did later is in no finding. */
static void tell_endless(struct diagnosis *d)
{
	for (uint32_t i = 1; i < d->trace->processes_count; i++) {
		const struct t_process *p = &d->trace->processes[i];

		if (p->how_ended != UINT32_MAX || p->file_state || p->merged_ranks || p->telemetry)
			continue;
		text_addf(&d->abstained,
			  p->recording ? "process %" PRIu32 " is still being recorded\n"
				       : "process %" PRIu32
					 " has no end: it was killed, or goes on\n",
			  p->pid);
	}
}

bool diagnose(struct diagnosis *d, const char *path, const struct timeline *tl,
	      struct tallies *tallies, struct symbols *symbols)
{
	*d = (struct diagnosis){.path = tl->trace->imported ? tl->trace->path : path,
				.tl = tl,
				.trace = tl->trace,
				.tallies = tallies,
				.symbols = symbols,
				.whole_names = d->whole_names};
	if (tl->failed || !find_idle(d) || !find_gaps_of_all(d) || !waits_find(&d->waits, tl)) {
		diagnosis_release(d);
		return false;
	}
	if (tl->cut)
		text_add(&d->abstained,
			 "there is more in this trace than findings are made of: choose "
			 "a part of it\n");
	if (tl->chosen)
		text_add(&d->abstained, "a part was recorded (-i, -x, -k, --device, --range): no "
					"time that could be won is told of such a run\n");
	else if (timeline_pauses(tl))
		text_add(&d->abstained,
			 "recording was paused: no time that could be won is told of such a run\n");
	else if (timeline_overwritten(tl))
		text_addf(&d->abstained,
			  "the first part of the run gave way to newer records: no time that could "
			  "be "
			  "won is told of the whole; of the rest: --after %.6f\n",
			  timeline_complete_from(tl));
	tell_endless(d);
	for (uint32_t i = 0; i < rules_count && !tl->cut; i++)
		ask(d, rules[i]);
	diagnosis_settle(d, 0);
	if (d->tl->counted)
		text_add(&d->abstained,
			 "calls of this run were counted, not recorded (mode summary): "
			 "what its threads did is not known\n");
	if (d->failed) {
		diagnosis_release(d);
		return false;
	}
	return true;
}

static void release_finding(struct finding *f)
{
	text_release(&f->title);
	text_release(&f->where);
	text_release(&f->evidence);
	text_release(&f->show);
	text_release(&f->advice);
}

/* "RULE: why": of another rule. What is said of all rules begins with no rule. */
static bool is_of_others(const struct diagnosis *d, const char *line)
{
	for (uint32_t i = 0; i < rules_count; i++) {
		size_t n = strlen(rules[i]->id);

		if (strncmp(line, rules[i]->id, n) == 0 && line[n] == ':')
			return !knob_list_names(d->only, rules[i]->id);
	}
	return false;
}

void diagnosis_keep(struct diagnosis *d, const char *only)
{
	struct text abstained = {0};
	uint32_t kept = 0;

	d->only = only;
	for (uint32_t i = 0; i < d->count; i++) {
		if (knob_list_names(only, d->findings[i].rule->id))
			d->findings[kept++] = d->findings[i];
		else
			release_finding(&d->findings[i]);
	}
	d->count = kept;
	for (const char *line = d->abstained.s; line && *line;) {
		size_t n = strcspn(line, "\n");

		n += line[n] != 0;
		if (!is_of_others(d, line))
			text_add_bytes(&abstained, line, n);
		line += n;
	}
	text_release(&d->abstained);
	d->abstained = abstained;
}

void diagnosis_release(struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		release_finding(&d->findings[i]);
	for (uint32_t i = 0; d->idle && i < d->tl->devices_count; i++)
		idle_release(&d->idle[i]);
	for (uint32_t i = 0; d->gaps && i < d->tl->devices_count; i++)
		free(d->gaps[i].at);
	free(d->gaps);
	free(d->claimed);
	intervals_release(&d->rebuilt);
	waits_release(&d->waits);
	free(d->idle);
	free(d->findings);
	text_release(&d->abstained);
	*d = (struct diagnosis){0};
}
