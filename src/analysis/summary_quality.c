/* SPDX-License-Identifier: Apache-2.0 */
/* How far the numbers of a trace can be trusted: the lines below the summary's tables. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "analysis/table_names.h"
#include "base/units.h"
#include "stream/names.h"
#include "stream/recorded.h"
#include "stream/trace.h"
#include "wire/defs.h"
#include "wire/raw.h"

/* ---- open calls -------------------------------------------------------------------------------- */

static bool any_recording(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		for (uint32_t k = 1; k < s[i].trace->processes_count; k++)
			if (s[i].trace->processes[k].recording)
				return true;
	return false;
}

bool summary_open_calls(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *table = report_table(r, "open_calls",
					   any_recording(s, count) ? "Calls that had not finished"
								   : "Calls that never finished");
	struct text label = {0};

	if (!table)
		return false;
	table_column(table, "thread", "thread", CELL_TEXT);
	table_column(table, "call", "call", CELL_TEXT);
	table_column(table, "depth", "depth", CELL_COUNT);
	table_column(table, "start_ns", "began at", CELL_TIMESTAMP);
	table_column(table, "open_ns", "open for", CELL_TIME);
	for (unsigned i = 0; i < count; i++) {
		const struct trace *t = s[i].trace;

		for (uint32_t k = 1; k < t->open_calls_count; k++) {
			const struct t_open_call *o = &t->open_calls[k];
			struct tally row = {
				.key = {t->threads[o->thread].process, o->thread, o->op}};
			struct cell *c = table_row(table);
			const struct t_process *p = &t->processes[t->threads[o->thread].process];
			int64_t end = recorded_until(t, p);

			if (!c)
				break;
			label.length = 0;
			label_add(&label, &s[i], TALLY_CALL, &row, BY_THREAD);
			cell_text(table, c++, label.s ? label.s : "");
			cell_text(table, c++, t->ops[o->op].name);
			cell_number(c++, o->depth);
			cell_number(c++, (uint64_t)(o->start - t->origin));
			cell_number(c++, end > o->start ? (uint64_t)(end - o->start) : 0);
		}
	}
	text_release(&label);
	report_drop_empty(r);
	return true;
}

/* ---- quality ----------------------------------------------------------------------------------- */

/* Of records that another tool took. */
#define NOT_TOLD "what was lost, how exact times are and what recording cost is not told"

struct quality {
	uint64_t lost, samples, gaps, definitions, overwritten, untraced, untimed, damaged, late;
	double host_error, device_error;
	double rank_error, rank_measured; /* job clocks: bounds used, and measured */
	uint32_t ranks;                   /* whose clocks were compared */
	struct cost {
		double sure;                   /* ns of the program's threads */
		double variance;               /* of it */
		double loading;                /* of `sure` */
		double waiting, beside, drain; /* `beside` has the drain's */
		uint64_t cupti;                /* records that CUPTI made */
		bool known, forced, openmp;
		unsigned untold; /* processes whose cost their missing end would have told */
	} cost;
	double span;   /* ns: that threads were there, and what the process took before and after */
	bool selected; /* records: what was spent on these is not told apart */
	unsigned processes;
	unsigned endless;       /* processes whose recording has no end, or a drain without any */
	unsigned recording;     /* that are still being recorded */
	uint64_t known_until;   /* ns: of the endless, the first that is not known any longer */
	uint64_t unwritten;     /* of the lost records: refused by the file system */
	uint64_t no_memory;     /* of the lost records: the process had no memory for them */
	uint64_t dropped;       /* of the lost records: by the runtime that they are of */
	uint64_t left_out_rows; /* of tallies: the table of the job had no room for them */
	uint64_t unrecorded;    /* ranges beyond the limits of core/marker */
	unsigned missing;       /* files that are not there, or cannot be read */
	unsigned refused;       /* processes that could not be recorded */
	unsigned unaligned;     /* clocks */
	uint32_t nodes;         /* whose clocks were not compared */
	const char *imported;   /* format of another tool that the records came in */
	bool counted;           /* calls were counted in the program, instead of recorded */
	uint64_t beside, beside_ns; /* of calls that are recorded: those that were counted */
	bool coarse;                /* histograms kept in the program have wider buckets */
};

/*
 * What was measured, give or take two standard errors of the samples. It is a floor: what lies before a
 * sample's first tick and behind its last (the thunk, the wrapper's registers), and what the program's own
 * code loses in caches are not in it.
 */
static double cost_low(const struct cost *c)
{
	double low = c->sure - 2 * sqrt(c->variance);

	return low > 0 ? low : 0;
}

static double cost_high(const struct cost *c)
{
	return c->sure + 2 * sqrt(c->variance);
}

/*
 * What CUPTI itself takes of the program's threads for a kernel or copy, in ns: a program cannot measure
 * it in itself, as that takes a run without CUPTI. Launches of an empty kernel by turns: 680 ns
 * (docs/cuda.md); with what slower processors and the start of CUPTI add, docs/overhead.md.
 */
#define CUPTI_LEAST 650
#define CUPTI_MOST  1600

static uint64_t made_by_cupti(const struct trace *t, const struct tally_set *set)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		uint32_t queue = set->rows[i]->key[KEY_DISPATCH_QUEUE];

		if (queue < t->queues_count && strcmp(t->queues[queue].domain, "cuda") == 0)
			n += set->rows[i]->count;
	}
	return n;
}

/* What runtimes take because they are recorded is not measured; which they are is told. */
static void quality_runtimes(struct cost *c, const struct summary *s)
{
	const struct trace *t = s->trace;

	c->cupti += made_by_cupti(t, &s->tallies->set[TALLY_DISPATCH]) +
		    made_by_cupti(t, &s->tallies->set[TALLY_COPY]);
	for (uint32_t i = 1; i < t->queues_count; i++)
		c->forced |= (t->queues[i].flags & QUEUE_PROFILING_FORCED) != 0;
	for (uint32_t i = 0; i < s->tallies->set[TALLY_CALL].count; i++) {
		uint32_t op = s->tallies->set[TALLY_CALL].rows[i]->key[KEY_OP];

		c->openmp |= strcmp(t->domains[t->ops[op].domain].name, "openmp") == 0;
	}
}

/* What recording costs a process is told at its end, most of it. */
static bool tells_cost(const struct t_process *p)
{
	return p->how_ended != UINT32_MAX || p->recording || p->merged_ranks || p->telemetry;
}

/*
 * That a thread was there. What Kymo takes as it begins and ends in a process is the main one's, which is recorded from when
 * it has begun.
 */
static double thread_span(const struct trace *t, const struct t_thread *th)
{
	const struct t_process *p = &t->processes[th->process];
	int64_t start = th->start, end = th->end ? th->end : t->end;

	if (th->main && p->start && p->start < start)
		start = p->start;
	if (th->main && p->end > end)
		end = p->end;
	return end > start ? (double)(end - start) : 0;
}

/* What recording took from each thread: calls from samples; other records at the cost of one. */
static void quality_overhead(struct quality *q, const struct summary *s)
{
	static const enum tally_kind apart[] = {TALLY_MARKER};
	const struct trace *t = s->trace;
	const struct t_process *p;

	for (unsigned k = 0; k < sizeof(apart) / sizeof(*apart); k++) {
		for (uint32_t i = 0; i < s->tallies->set[apart[k]].count; i++) {
			const struct tally *row = s->tallies->set[apart[k]].rows[i];

			p = &t->processes[row->key[KEY_PROCESS]];
			if (tells_cost(p))
				q->cost.sure += (double)row->count * p->record_cost_ns;
		}
	}
	quality_runtimes(&q->cost, s);
	for (uint32_t i = 1; i < t->threads_count; i++) {
		p = &t->processes[t->threads[i].process];
		if (!p->telemetry && !p->merged_ranks && !t->threads[i].own && tells_cost(p))
			q->span += thread_span(t, &t->threads[i]);
	}
}

/* Calls that were counted although calls of their op are recorded. */
static void count_beside(struct quality *q, const struct trace *t)
{
	for (uint32_t i = 1; i < t->tallies_count; i++) {
		if (!t->tallies[i].beside)
			continue;
		q->beside += t->tallies[i].count;
		q->beside_ns += t->tallies[i].total;
	}
}

/* Samples that were lost; a buffer that was full lost nobody knows how many. */
static void quality_samples(struct quality *q, const struct summary *s)
{
	const struct tally_set *threads = &s->tallies->set[TALLY_SAMPLE];
	const struct tally_set *devices = &s->tallies->set[TALLY_DEVICE_SAMPLE];

	for (uint32_t i = 0; i < threads->count; i++)
		q->samples += threads->rows[i]->errors;
	for (uint32_t i = 0; i < devices->count; i++) {
		q->samples += devices->rows[i]->errors;
		q->gaps += devices->rows[i]->frees;
	}
}

static void quality_endless(struct quality *q, const struct trace *t, const struct t_process *p)
{
	uint64_t until = p->seen > t->origin ? (uint64_t)(p->seen - t->origin) : 0;

	if (p->how_ended != UINT32_MAX || p->file_state)
		return;
	q->recording += p->recording;
	if (p->recording)
		return;
	if (!q->endless || until < q->known_until)
		q->known_until = until;
	q->endless++;
}

/* Each is a number that can be; those of thousands of hostile files need not fit. */
static uint64_t add_up(uint64_t sum, uint64_t n)
{
	return n < UINT64_MAX - sum ? sum + n : UINT64_MAX;
}

static void quality_cost(struct quality *q, const struct t_process *p)
{
	if (!tells_cost(p)) {
		q->cost.untold++;
		return;
	}
	q->cost.sure += p->calls_cost_ns + p->overhead_ns + p->loading_ns;
	q->cost.loading += p->loading_ns;
	q->span += p->thread_time_ns + p->loading_ns; /* it was over before */
	q->cost.variance += p->calls_cost_variance;
	q->cost.waiting += p->waiting_ns;
	q->cost.beside += p->beside_ns + p->drain_ns;
	q->cost.drain += p->drain_ns;
	q->cost.known |= p->record_cost_ns > 0;
}

/* As notes of core/marker tell it: "a range was nested deeper than 256 and not recorded". */
static uint64_t unrecorded_ranges(const struct trace *t)
{
	static const char end[] = " and not recorded";
	uint64_t sum = 0;

	for (uint32_t i = 1; i < t->notes_count; i++) {
		const struct t_note *n = &t->notes[i];
		size_t length = strlen(n->text);

		if (strcmp(n->part, "marker") == 0 && length >= sizeof(end) &&
		    strcmp(n->text + length - sizeof(end) + 1, end) == 0)
			sum = add_up(sum, n->count);
	}
	return sum;
}

static void quality_add(struct quality *q, const struct summary *s)
{
	const struct trace *t = s->trace;
	const struct tally_set *loss = &s->tallies->set[TALLY_LOSS];
	uint64_t in_band = 0, counted = 0;

	quality_samples(q, s);
	q->unrecorded = add_up(q->unrecorded, unrecorded_ranges(t));
	q->ranks += summary_without_file(t);
	q->coarse |= s->tallies->coarse;
	q->counted |= s->tallies->counted;
	count_beside(q, t);
	q->imported = t->imported ? t->imported_format : q->imported;
	q->nodes = trace_clocks(t) > q->nodes ? trace_clocks(t) : q->nodes;
	for (uint32_t i = 0; i < loss->count; i++) {
		const struct t_process *p = &t->processes[loss->rows[i]->key[KEY_PROCESS]];

		in_band = add_up(in_band, loss->rows[i]->count);
		if (!p->overwritten_records) /* else the gaps are where records gave way */
			q->gaps += loss->rows[i]->errors;
	}
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		q->processes++;
		quality_endless(q, t, p);
		q->unwritten = add_up(q->unwritten, p->unwritten_records);
		q->no_memory = add_up(q->no_memory, p->no_memory_records);
		q->dropped = add_up(q->dropped, p->dropped_records);
		q->left_out_rows = add_up(q->left_out_rows, p->left_out_rows);
		q->missing += p->file_state != FILE_READ;
		q->refused += p->how_ended == RAW_END_REFUSED;
		counted = add_up(counted, p->lost_records);
		q->definitions += p->lost_definitions;
		q->overwritten += p->overwritten_records;
		q->untraced += p->untraced_calls;
		q->untimed += p->untimed;
		q->damaged += p->damaged_blocks;
		quality_cost(q, p);
		if (p->aligned) {
			q->ranks += !p->merged_ranks;
			q->rank_error =
				p->job_error_ns > q->rank_error ? p->job_error_ns : q->rank_error;
			if (p->job_measured_error_ns > q->rank_measured)
				q->rank_measured = p->job_measured_error_ns;
		}
		if (p->clock_error_ns > q->host_error)
			q->host_error = p->clock_error_ns;
	}
	if (summary_has_no_end(s)) {
		q->endless++;
		q->known_until = 0;
	}
	quality_overhead(q, s);
	q->selected |= s->selection != NULL;
	q->cost.known &= !q->selected;
	/* What processes counted includes what chunks say, and what came after the last chunk. */
	q->lost = add_up(q->lost, counted > in_band ? counted : in_band);
	for (uint32_t i = 1; i < t->clocks_count; i++) {
		q->unaligned += t->clocks[i].error_ns < 0;
		if (t->clocks[i].error_ns > q->device_error)
			q->device_error = t->clocks[i].error_ns;
	}
	for (unsigned k = TALLY_DISPATCH; k <= TALLY_COPY; k++)
		for (uint32_t i = 0; i < s->tallies->set[k].count; i++)
			q->late += s->tallies->set[k].rows[i]->untimed;
}

static void add_count(struct text *out, uint64_t n, const char *what)
{
	char number[32];

	if (n)
		text_addf(out, "%s%s %s%s", out->s[out->length - 1] == ':' ? " " : ", ",
			  units_count(n, number), what, n == 1 ? "" : "s");
}

/* Device work whose times never came, told by the process or seen in the records. */
static uint64_t untimed_of(const struct quality *q)
{
	return q->untimed > q->late ? q->untimed : q->late;
}

static bool lossy(const struct quality *q)
{
	return q->refused || q->missing || q->lost || q->samples || q->gaps || q->definitions ||
	       q->damaged || q->left_out_rows || q->unrecorded;
}

static uint64_t take_part(uint64_t *left, uint64_t n)
{
	uint64_t part = n < *left ? n : *left;

	*left -= part;
	return part;
}

/* What to do about it depends on where they went. */
static void add_advice(struct text *out, const struct quality *q)
{
	uint64_t left = q->lost;
	const uint64_t unwritten = take_part(&left, q->unwritten);
	const uint64_t no_memory = take_part(&left, q->no_memory);
	const uint64_t dropped = take_part(&left, q->dropped);
	char number[32];

	if (unwritten)
		text_addf(
			out,
			" The file system refused %s of the records; -o puts the trace elsewhere.",
			units_count(unwritten, number));
	if (no_memory)
		text_addf(out,
			  " For %s there was no memory: the program has used up what it may have.",
			  units_count(no_memory, number));
	if (dropped)
		text_addf(out,
			  " %s were dropped by the runtime that they are of; the notes say more.",
			  units_count(dropped, number));
	if (left && q->imported)
		text_add(out, " The other tool lost them, or they cannot be read in its file.");
	else if (left)
		text_addf(out,
			  " %s found no room in the buffer: a larger --buffer-size, --mode minimal "
			  "or a "
			  "longer --block-time helps, --on-full overwrite keeps the newest.",
			  units_count(left, number));
	if (q->left_out_rows)
		text_add(out, " The ranks have called more than the table of their job holds: "
			      "without --mode "
			      "summary nothing of that is left out.");
}

static void add_loss(struct text *out, const struct quality *q)
{
	char number[32], span[UNITS_TEXT];

	text_add(out, "Lost:");
	if (out->failed)
		return;
	if (q->refused)
		text_addf(out, " all of %u process%s", q->refused, q->refused == 1 ? "" : "es");
	if (q->missing)
		text_addf(out, "%s all that was in %u file%s", q->refused ? "," : "", q->missing,
			  q->missing == 1 ? "" : "s");
	add_count(out, q->lost, "record");
	add_count(out, q->samples, "sample");
	add_count(out, q->gaps, "unmeasured gap");
	add_count(out, q->definitions, "definition");
	add_count(out, q->damaged, "damaged block");
	add_count(out, q->left_out_rows, "tally row");
	add_count(out, q->unrecorded, "unrecorded range");
	if (!lossy(q))
		text_add(out, q->endless ? "" : " nothing");
	if (q->recording)
		text_addf(out, "%s so far; %u process%s still recording",
			  !lossy(q) && q->endless ? " nothing" : "", q->recording,
			  q->recording == 1 ? " is" : "es are");
	if (q->endless)
		text_addf(out,
			  "%s the end of %u recording%s is missing: what was lost after %s is "
			  "not known",
			  lossy(q) || q->recording ? ";" : "", q->endless,
			  q->endless == 1 ? "" : "s", units_span(q->known_until, span));
	text_add(out, ".");
	add_advice(out, q);
	if (q->overwritten)
		text_addf(out, " Overwritten: %s older record%s.",
			  units_count(q->overwritten, number), q->overwritten == 1 ? "" : "s");
	if (q->untraced)
		text_addf(out, " Untraced: %s call%s.", units_count(q->untraced, number),
			  q->untraced == 1 ? "" : "s");
	if (untimed_of(q))
		text_addf(out, " Without device times: %s.", units_count(untimed_of(q), number));
}

bool summary_lossy(const struct summary *s, unsigned count)
{
	struct quality q = {0};

	for (unsigned i = 0; i < count; i++)
		quality_add(&q, &s[i]);
	return lossy(&q) || q.endless;
}

/* A half is rounded up, as in the tables. */
static void add_time(struct text *out, double ns)
{
	ns = round(ns);
	if (ns < 1e3)
		text_addf(out, "%.0f ns", ns);
	else if (ns < 1e6)
		text_addf(out, "%.1f us", ns / 1e3);
	else if (ns < 1e9)
		text_addf(out, "%.1f ms", ns / 1e6);
	else if (ns < 6e10)
		text_addf(out, "%.1f s", ns / 1e9);
	else
		text_addf(out, "%" PRIu64 " min %" PRIu64 " s", (uint64_t)(ns / 1e9) / 60,
			  (uint64_t)(ns / 1e9) % 60);
}

/* Messages tell of clocks that are one only that they differ by no more than these took. */
static void add_ranks(struct text *out, const struct quality *q)
{
	text_addf(out, ", %u ranks compared", q->ranks);
	if (q->rank_error > 0) {
		text_add(out, " within ");
		add_time(out, q->rank_error);
		return;
	}
	text_add(out, ": they read one clock");
	if (q->rank_measured > 0) {
		text_add(out, " (messages alone would have given it within ");
		add_time(out, q->rank_measured);
		text_add(out, ")");
	}
}

static void add_clocks(struct text *out, const struct quality *q, bool devices)
{
	text_add(out, "Clock error: ");
	if (!q->processes) {
		text_add(out, "nothing was timed.");
		return;
	}
	text_add(out, "host within ");
	add_time(out, q->host_error);
	if (q->ranks)
		add_ranks(out, q);
	if (q->nodes > 1)
		text_addf(out, ", not known between %u nodes, whose clocks were not compared",
			  q->nodes);
	if (devices && (q->device_error > 0 || !q->unaligned)) {
		text_add(out, ", devices within ");
		add_time(out, q->device_error);
	}
	if (q->unaligned)
		text_addf(out, ", %u device clock%s not aligned", q->unaligned,
			  q->unaligned == 1 ? "" : "s");
	text_addf(out, ". Percentiles within %s %%.", q->coarse ? "5" : "1.6");
}

/* Of the time of the program's threads, what Kymo needed to begin and end in them included; NAN: not known. */
static double cost_share(const struct quality *q)
{
	const double cost = (cost_low(&q->cost) + cost_high(&q->cost)) / 2;

	if (q->selected || !q->cost.known || q->span <= 0)
		return NAN;
	return fmin(cost / q->span, 1); /* most of it is reckoned */
}

static void add_share(struct text *out, double share)
{
	if (isnan(share))
		return;
	if (share < 0.0001)
		text_add(out, ", below 0.01 % of their time");
	else if (share >= 0.995) /* a program that does nothing itself */
		text_add(out, ", 100 % of their time");
	else
		text_addf(out, ", %.2g %% of their time", 100 * share);
}

static void add_unmeasured(struct text *out, const struct cost *c)
{
	const char *and = ". Not in it, as no program can measure it in itself: ";

	if (c->cupti) {
		text_addf(out, "%swhat CUPTI takes, some ", and);
		add_time(out, (double)c->cupti * CUPTI_LEAST);
		text_add(out, " to ");
		add_time(out, (double)c->cupti * CUPTI_MOST);
		text_addf(out, " for %s records", UNITS_COUNT(c->cupti));
		and = "; ";
	}
	if (c->forced) {
		text_addf(out, "%swhat queues take that were given profiling", and);
		and = "; ";
	}
	if (c->openmp)
		text_addf(out, "%swhat the OpenMP runtime takes to call its tool", and);
	text_add(out, ".");
}

static void add_overhead(struct text *out, const struct quality *q)
{
	double low, high;

	text_add(out, "Overhead: ");
	if (q->selected) {
		text_add(out, "of the whole run; a summary without a selection tells it.");
		return;
	}
	if (!q->cost.known) {
		text_add(out, q->cost.untold ? "not known: the end of a recording tells it."
					     : "not known, no process measured it.");
		return;
	}
	low = cost_low(&q->cost);
	high = cost_high(&q->cost);
	text_add(out, "at least ");
	add_time(out, (low + high) / 2);
	if (high > low) {
		text_add(out, " (give or take ");
		add_time(out, (high - low) / 2);
		text_add(out, ")");
	}
	text_add(out, " in the program's threads");
	add_share(out, cost_share(q));
	if (q->cost.loading > 0) {
		text_add(out, ", ");
		add_time(out, q->cost.loading);
		text_add(out, " of it to load Kymo");
	}
	if (q->cost.waiting > 0) {
		text_add(out, ", ");
		add_time(out, q->cost.waiting);
		text_add(out, " of waiting for room");
	}
	if (q->cost.beside > 0) {
		text_add(out, ", and ");
		add_time(out, q->cost.beside);
		text_add(out, " of processor time beside it");
	}
	add_unmeasured(out, &q->cost);
	if (q->cost.untold)
		text_addf(out, " Of %u process%s whose recording has no end it is not known.",
			  q->cost.untold, q->cost.untold == 1 ? "" : "es");
}

static bool has_devices(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (s[i].trace->clocks_count > 1)
			return true;
	}
	return false;
}

static const char *severity_of(const struct t_note *n)
{
	static const char *const severity[] = {"note", "note", "warning", "error"};

	return severity[n->severity & 3];
}

/* What several processes note alike is said once. */
struct said {
	const struct t_note *note;
	uint64_t count;
	uint32_t processes, last; /* notes of a process lie together */
};

static bool is_same(const struct t_note *a, const struct t_note *b)
{
	return a->severity == b->severity && strcmp(a->part, b->part) == 0 &&
	       strcmp(a->text, b->text) == 0;
}

static uint32_t unite_notes(const struct trace *t, struct said *said)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->notes_count; i++) {
		const struct t_note *note = &t->notes[i];
		uint32_t k = 0;

		while (k < n && !is_same(said[k].note, note))
			k++;
		if (k == n)
			said[n++].note = note;
		said[k].processes += said[k].count == 0 || said[k].last != note->process;
		said[k].last = note->process;
		said[k].count += note->count ? note->count : 1;
	}
	return n;
}

static void add_notes(struct report *r, const struct summary *s)
{
	const struct trace *t = s->trace;
	struct said *said;
	uint32_t n;

	if (summary_nothing_recorded(s))
		return; /* said at the top */
	said = calloc(t->notes_count + 1, sizeof(*said));
	n = said ? unite_notes(t, said) : 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct said *x = &said[i];
		char often[64] = "";

		if (summary_is_short_threads(x->note) && s->tallies->set[TALLY_SAMPLE].count)
			continue;
		if (x->count > x->processes)
			snprintf(often, sizeof(often), " (%s times)", UNITS_COUNT(x->count));
		else if (x->processes > 1)
			snprintf(often, sizeof(often), " (in %u processes)", x->processes);
		report_foot(r, "%s: %s: %s%s", severity_of(x->note), x->note->part, x->note->text,
			    often);
	}
	free(said);
}

/* ---- for programs ------------------------------------------------------------------------------ */

static void quality_row(struct table *t, const struct summary *s)
{
	struct quality q = {0};
	struct recorded_sum recorded = summary_recorded_sum(s->trace);
	struct cell *c = table_row(t);
	uint32_t processes, threads = summary_threads(s->trace, &processes);

	if (!c)
		return;
	quality_add(&q, s);
	cell_text(t, c++, s->path);
	cell_text(t, c++, summary_command(s->trace));
	cell_number(c++, summary_duration(s->trace));
	cell_number(c++, summary_ranks(s->trace));
	cell_number(c++, processes);
	if (!summary_without_file(s->trace))
		cell_number(c, threads);
	c++;
	cell_number(c++, q.lost);
	cell_number(c++, q.samples);
	cell_number(c++, q.gaps);
	cell_number(c++, q.definitions);
	cell_number(c++, q.damaged);
	cell_number(c++, q.endless + q.recording);
	cell_number(c++, q.overwritten);
	cell_number(c++, q.untraced);
	cell_number(c++, untimed_of(&q));
	cell_real(c++, q.host_error);
	cell_real(c++, q.device_error);
	cell_number(c++, q.unaligned);
	if (q.ranks)
		cell_real(c, q.rank_error);
	c++;
	if (q.cost.known) {
		cell_real(c++, (cost_low(&q.cost) + cost_high(&q.cost)) / 2);
		cell_real(c++, cost_low(&q.cost));
		cell_real(c++, cost_high(&q.cost));
		cell_real(c++, q.cost.waiting);
		cell_real(c++, q.cost.beside);
		cell_real(c++, q.cost.drain);
		cell_real(c++, (double)q.cost.cupti * CUPTI_LEAST);
		cell_real(c++, (double)q.cost.cupti * CUPTI_MOST);
	} else {
		c += 8;
	}
	cell_real(c++, q.coarse ? 5 : 1.6);
	cell_number(c++, q.refused);
	cell_number(c++, (uint64_t)recorded.lived);
	cell_number(c++, (uint64_t)recorded.ns);
	cell_number(c++, recorded.pauses);
	cell_text(t, c++, summary_filters(s->trace));
	cell_number(c++, q.missing);
	cell_number(c++, q.unwritten);
	cell_number(c++, q.no_memory);
	cell_number(c++, q.left_out_rows);
	cell_real(c++, q.cost.loading);
	cell_number(c, q.dropped);
}

/* What the lines around the tables tell people, a row for each trace. */
static void quality_table(struct report *r, const struct summary *s, unsigned count)
{
	struct table *t = report_table(r, "quality", "");

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "trace", "", CELL_TEXT);
	table_column(t, "command", "", CELL_TEXT);
	table_column(t, "duration_ns", "", CELL_TIME);
	table_column(t, "ranks", "", CELL_COUNT);
	table_column(t, "processes", "", CELL_COUNT);
	table_column(t, "threads", "", CELL_COUNT);
	table_column(t, "lost_records", "", CELL_COUNT);
	table_column(t, "lost_samples", "", CELL_COUNT);
	table_column(t, "unmeasured_gaps", "", CELL_COUNT);
	table_column(t, "lost_definitions", "", CELL_COUNT);
	table_column(t, "damaged_blocks", "", CELL_COUNT);
	table_column(t, "recordings_without_end", "", CELL_COUNT);
	table_column(t, "overwritten_records", "", CELL_COUNT);
	table_column(t, "untraced_calls", "", CELL_COUNT);
	table_column(t, "untimed", "", CELL_COUNT);
	table_column(t, "host_clock_error_ns", "", CELL_NUMBER);
	table_column(t, "device_clock_error_ns", "", CELL_NUMBER);
	table_column(t, "device_clocks_not_aligned", "", CELL_COUNT);
	table_column(t, "rank_clock_error_ns", "", CELL_NUMBER);
	table_column(t, "overhead_ns", "", CELL_NUMBER);
	table_column(t, "overhead_low_ns", "", CELL_NUMBER);
	table_column(t, "overhead_high_ns", "", CELL_NUMBER);
	table_column(t, "overhead_waiting_ns", "", CELL_NUMBER);
	table_column(t, "overhead_beside_ns", "", CELL_NUMBER);
	table_column(t, "overhead_drain_ns", "", CELL_NUMBER);
	table_column(t, "overhead_cupti_low_ns", "", CELL_NUMBER);
	table_column(t, "overhead_cupti_high_ns", "", CELL_NUMBER);
	table_column(t, "percentile_error_percent", "", CELL_NUMBER);
	table_column(t, "processes_not_recorded", "", CELL_COUNT);
	table_column(t, "lived_ns", "", CELL_TIME);
	table_column(t, "recorded_ns", "", CELL_TIME);
	table_column(t, "pauses", "", CELL_COUNT);
	table_column(t, "filters", "", CELL_TEXT);
	table_column(t, "files_missing", "", CELL_COUNT);
	table_column(t, "unwritten_records", "", CELL_COUNT);
	table_column(t, "no_memory_records", "", CELL_COUNT);
	table_column(t, "left_out_rows", "", CELL_COUNT);
	table_column(t, "overhead_loading_ns", "", CELL_NUMBER);
	table_column(t, "dropped_records", "", CELL_COUNT);
	for (unsigned i = 0; i < count; i++)
		quality_row(t, &s[i]);
}

static void notes_table(struct report *r, const struct summary *s, unsigned count)
{
	struct table *t = report_table(r, "notes", "");

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "trace", "", CELL_TEXT);
	table_column(t, "pid", "", CELL_NUMBER);
	table_column(t, "severity", "", CELL_TEXT);
	table_column(t, "part", "", CELL_TEXT);
	table_column(t, "text", "", CELL_TEXT);
	table_column(t, "times", "", CELL_COUNT);
	for (unsigned i = 0; i < count; i++) {
		const struct trace *trace = s[i].trace;

		for (uint32_t k = 1; k < trace->notes_count; k++) {
			const struct t_note *n = &trace->notes[k];
			struct cell *c = table_row(t);

			if (!c)
				break;
			cell_text(t, c++, s[i].path);
			cell_real(c++, trace->processes[n->process].pid);
			cell_text(t, c++, severity_of(n));
			cell_text(t, c++, n->part);
			cell_text(t, c++, n->text);
			cell_number(c, n->count);
		}
	}
	report_drop_empty(r);
}

void summary_quality_line(struct text *out, const struct summary *s)
{
	struct quality q = {0};
	char number[32];

	quality_add(&q, s);
	if (q.imported) {
		text_addf(out, "Imported (%s): %s" NOT_TOLD ".", q.imported,
			  lossy(&q) ? "a part could not be taken, see below; " : "");
		return;
	}
	if (lossy(&q) || q.endless)
		text_add(out, "Lost: see below");
	else
		text_add(out, "Lost nothing");
	if (q.lost)
		text_addf(out, " (%s records)", units_count(q.lost, number));
	text_add(out, "; clocks within ");
	add_time(out, q.device_error > q.host_error ? q.device_error : q.host_error);
	if (q.unaligned)
		text_add(out, ", not all compared");
	if (q.cost.known) {
		const double share = cost_share(&q);

		text_add(out, "; overhead at least ");
		add_time(out, (cost_low(&q.cost) + cost_high(&q.cost)) / 2);
		if (!isnan(share))
			text_addf(out, share < 0.1 ? " (%.2g %%)" : " (%.0f %%)", 100 * share);
	}
	text_add(out, ".");
}

/* ---- all --------------------------------------------------------------------------------------- */

/* What is so of the numbers in all tables. */
static void tell_counted(struct report *r, const struct quality *q, const struct summary *s,
			 unsigned count)
{
	bool together = false;
	char time[UNITS_TEXT];

	for (unsigned i = 0; i < count; i++)
		together |= summary_together(s[i].trace);
	if (together)
		report_foot(r, "Of ranks that were counted together, MPI_Finalize counts until all "
			       "ranks had come "
			       "to it, and their threads and queues cannot be distinguished.");
	if (q->beside)
		report_foot(r,
			    "%s calls of functions (%s) were counted, not recorded: shorter than "
			    "is asked for, or nested too deep.",
			    UNITS_COUNT(q->beside), units_time(q->beside_ns, time));
	if (q->counted)
		report_foot(r, "Calls were counted in the program, not recorded (mode summary): "
			       "their errors "
			       "have no status, and they have no scope.");
}

static void tell_quality(struct report *r, const struct quality *q, const struct summary *s,
			 unsigned count)
{
	struct text line = {0};
	bool recorded = false; /* one of them was */

	for (unsigned i = 0; i < count; i++)
		recorded |= !s[i].trace->imported;
	if (q->imported)
		report_foot(r, "Records came from another tool (%s): " NOT_TOLD ".", q->imported);
	if (!recorded && !lossy(q))
		return;
	add_loss(&line, q);
	report_foot(r, "%s", line.s ? line.s : "");
	if (recorded) {
		line.length = 0;
		add_clocks(&line, q, has_devices(s, count));
		report_foot(r, "%s", line.s ? line.s : "");
		line.length = 0;
		add_overhead(&line, q);
		report_foot(r, "%s", line.s ? line.s : "");
	}
	text_release(&line);
}

/* Who asks for a table wants no page about the recording below it. */
static void tell_briefly(struct report *r, const struct summary *s, unsigned count)
{
	struct text line = {0};

	for (unsigned i = 0; i < count && !r->digest; i++) {
		line.length = 0;
		summary_quality_line(&line, &s[i]);
		report_foot(r, "%s%s%s", count > 1 ? s[i].path : "", count > 1 ? ": " : "",
			    line.s ? line.s : "");
	}
	text_release(&line);
}

void summary_quality(struct report *r, const struct summary *s, unsigned count)
{
	struct quality q = {0};

	quality_table(r, s, count);
	notes_table(r, s, count);
	for (unsigned i = 0; i < count; i++) {
		quality_add(&q, &s[i]);
		add_notes(r, &s[i]);
	}
	tell_counted(r, &q, s, count);
	if (table_names_has(r->chosen, "not_recorded"))
		summary_left_out(r, s, count);
	if (table_names_has(r->chosen, "quality") || lossy(&q) || q.endless)
		tell_quality(r, &q, s, count);
	else
		tell_briefly(r, s, count);
}

void summary_tell_quality(const struct summary *s, struct summary_told *told)
{
	struct quality q = {0};

	*told = (struct summary_told){.overhead_share = NAN, .clock_error_ns = NAN};
	quality_add(&q, s);
	told->lost = q.lost;
	if (q.imported) {
		text_addf(&told->loss, "Records came from another tool (%s): " NOT_TOLD ".",
			  q.imported);
		if (lossy(&q)) {
			told->loss.length = 0;
			add_loss(&told->loss, &q);
		}
		text_add(&told->clock, "Clock error: not told.");
		text_add(&told->overhead, "Overhead: not told.");
		return;
	}
	add_loss(&told->loss, &q);
	add_clocks(&told->clock, &q, has_devices(s, 1));
	add_overhead(&told->overhead, &q);
	if (q.processes)
		told->clock_error_ns = fmax(q.host_error, fmax(q.rank_error, q.device_error));
	told->overhead_share = cost_share(&q);
}

void summary_told_release(struct summary_told *told)
{
	text_release(&told->loss);
	text_release(&told->clock);
	text_release(&told->overhead);
}
