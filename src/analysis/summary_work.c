/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the summary about what took time: host calls by domain, ranges, messages, kernels,
 * copies, waiting. They are one table with different columns.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/libraries.h"
#include "analysis/summary_columns.h"
#include "analysis/table_names.h"
#include "base/units.h"
#include "base/vec.h"
#include "record/fields.h"

/* What a table has beside labels, time, share, count and spread. */
enum {
	HAS_SELF = 1,     /* time without what is inside */
	HAS_BYTES = 2,    /* and their rate */
	HAS_MESSAGES = 4, /* bytes both ways */
	HAS_DEVICE = 8    /* time in the queue, and what has no device times */
};

struct table_spec {
	enum tally_kind kind;
	unsigned has;
	const char *name, *title;
	const char *op, *time, *times; /* headings */
	const char *counted[2];        /* after the number in the title: one, several */
	const char *errors, *errors_heading, *nested_note;
};

/* Kernels that a library is known to have launched by their names alone; rows by calls tell more. */
static const char *library_of(const struct group *x)
{
	const struct trace *t = x->summary->trace;
	uint32_t k = x->first->key[KEY_DISPATCH_KERNEL];
	const struct library *l =
		k && k < t->kernels_count
			? library_of_kernel(t->kernels[k].domain, t->kernels[k].name)
			: NULL;

	return l ? l->name : NULL;
}

static bool has_library(const struct table_spec *l, unsigned by)
{
	return l->kind == TALLY_DISPATCH && by & (BY_OP | BY_KERNEL) && !(by & BY_LIBRARY);
}

static bool some_library(const struct groups *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (library_of(g->list[i]))
			return true;
	return false;
}

static void add_columns(struct table *t, const struct table_spec *l, unsigned by, struct totals all,
			const struct groups *g)
{
	add_dimensions(t, by, l->op);
	table_column(t, "time_ns", l->time, CELL_TIME);
	if (l->has & HAS_SELF)
		table_column_if(t, all.self != all.total, "self_ns", "self", CELL_TIME);
	/* Messages under way at once add up to more than passed: they have no share of it. */
	table_column_if(t, !(l->has & HAS_MESSAGES), "percent", "%", CELL_PERCENT);
	table_column(t, "calls", l->times, CELL_COUNT);
	if (l->has & HAS_BYTES) {
		table_column(t, "bytes", "bytes", CELL_BYTES);
		table_column(t, "bytes_per_second", "bandwidth", CELL_RATE);
	}
	if (l->has & HAS_MESSAGES) {
		table_column(t, "sent", "sent", CELL_BYTES);
		table_column(t, "received", "received", CELL_BYTES);
		table_column_optional(t, 7, "bytes_each", "avg size", CELL_BYTES_MEAN);
	}
	add_spread(t);
	if (l->has & HAS_DEVICE) {
		table_column_optional(t, 5, "wait_ns", "avg in queue", CELL_TIME);
		table_column_if(t, all.untimed, "untimed", "untimed", CELL_COUNT);
	}
	if (l->errors)
		table_column_if(t, all.errors, l->errors, l->errors_heading, CELL_COUNT);
	if (has_library(l, by))
		table_column_if(t, some_library(g), "library", "library", CELL_TEXT);
}

static void add_row(struct table *t, const struct table_spec *l, const struct groups *g,
		    const struct group *x, struct totals all)
{
	const struct tally *n = &x->sum;
	uint64_t timed = n->count - n->untimed;
	struct cell *c = table_row(t);

	if (!c)
		return;
	c = put_labels(t, c, x);
	cell_number(c++, n->total);
	if (l->has & HAS_SELF)
		cell_number(c++, n->self);
	if (l->has & HAS_MESSAGES)
		c++;
	else
		c = l->has & HAS_SELF ? put_percent(c, n->self, all.self)
				      : put_percent(c, n->total, all.total);
	cell_number(c++, n->count);
	if (l->has & HAS_BYTES) {
		cell_number(c++, n->bytes);
		c = put_rate(c, n);
	}
	if (l->has & HAS_MESSAGES) {
		c = put_nonzero(c, n->bytes);
		c = put_nonzero(c, n->received);
		c = put_mean_size(c, n->sum, n->count - n->frees);
	}
	c = put_spread(c, g, n);
	if (l->has & HAS_DEVICE) {
		if (timed)
			cell_number(c, (n->wait + timed / 2) / timed);
		c = put_nonzero(c + 1, n->untimed);
	}
	if (l->errors)
		c = put_nonzero(c, n->errors);
	if (has_library(l, g->by) && library_of(x))
		cell_text(t, c, library_of(x));
}

/* Kymo gives profiling to the queues that it sees being made while it records. */
static const char *untimed_note(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (s[i].trace->pauses_count > 1)
			return "untimed: no times of the device (untimed_name in SQL says why: "
			       "queues that were made while recording was off have none); "
			       "counted, but in no time";
	return "untimed: no times of the device (untimed_name in SQL says why); counted, but in no "
	       "time";
}

static bool fold_names(const struct report *r, enum tally_kind kind, struct groups *g)
{
	if (!r->fold || (kind != TALLY_MARKER && kind != TALLY_DISPATCH))
		return true;
	if (kind == TALLY_MARKER)
		groups_fold(g);
	else
		groups_shorten(g);
	if (kind != TALLY_MARKER || g->folded) /* else they are as they were */
		groups_sort(g, ORDER_TIME);
	return !g->failed;
}

static void tell_folded(struct table *t, enum tally_kind kind, const struct groups *g)
{
	if (g->folded && kind == TALLY_DISPATCH)
		table_note(t,
			   "%u kernels that differ only in parameters or in arguments of template "
			   "arguments are one where they are more than three; --names full shows "
			   "each",
			   g->folded);
	else if (g->folded)
		table_note(t,
			   "with *: %u names that differ only in a counter, a handle or fields; "
			   "--names full shows each",
			   g->folded);
}

static void tell_nested(struct table *t, const struct table_spec *l, const struct groups *g)
{
	uint64_t recursive = 0;

	for (uint32_t i = 0; i < g->count; i++)
		recursive += g->list[i]->sum.recursive;
	table_note(t, "%s", l->nested_note);
	if (recursive)
		table_note(t,
			   "%s %s others of the same name inside (recursion): their time counts "
			   "again in its time, not in self and %%",
			   UNITS_COUNT(recursive), recursive == 1 ? "has" : "have");
}

/* All of them where what is in the rows counts beyond the table: devices are numbered for people. */
static uint32_t rows_to_make(struct table *t, const struct report *r, const struct groups *g)
{
	return g->by & (BY_DEVICE | BY_SUBDEVICE | BY_QUEUE) ? g->count
							     : table_make(t, r, g->count);
}

static bool work_table(struct report *r, const struct summary *s, unsigned count, unsigned by,
		       const struct table_spec *l, row_wanted *wanted, const void *data)
{
	struct groups g;
	struct totals all;
	struct table *t = NULL;
	char number[32];
	struct text title = {0};
	uint32_t rows;
	bool ok;

	if (!table_names_has(r->chosen, l->name))
		return true;
	ok = gather(&g, s, count, l->kind, by, wanted, data) && fold_names(r, l->kind, &g);
	all = totals_of(&g);
	text_addf(&title, "%s: %s%s", l->title, units_count(all.count, number),
		  l->counted[all.count != 1]);
	if (ok && !title.failed)
		t = report_table(r, l->name, title.s);
	text_release(&title);
	if (t) {
		t->ranked = !(by & (BY_RANK | BY_PEER)); /* those are a list or a matrix */
		add_columns(t, l, by, all, &g);
		rows = rows_to_make(t, r, &g);
		for (uint32_t i = 0; i < rows && !t->failed; i++)
			add_row(t, l, &g, g.list[i], all);
		tell_folded(t, l->kind, &g);
		if (l->has & HAS_SELF && all.self != all.total)
			tell_nested(t, l, &g);
		if (l->has & HAS_DEVICE && all.untimed)
			table_note(t, "%s", untimed_note(s, count));
		if (l->has & HAS_MESSAGES)
			table_note(t, "time from start to completion of each, added up: those "
				      "under way at "
				      "once count each, so it may be more than passed");
		if (l->has & HAS_BYTES && all.stayed)
			table_note(t, "what was mapped where it lies has no bandwidth");
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

/* ---- host calls -------------------------------------------------------------------------------- */

static const struct t_domain *domain_of(const struct trace *t, const struct tally *row)
{
	uint32_t op = row->key[KEY_OP] < t->ops_count ? row->key[KEY_OP] : 0;

	return &t->domains[t->ops[op].domain];
}

static bool of_domain(const void *domain, const struct trace *t, const struct tally *row)
{
	return strcmp(domain_of(t, row)->name, domain) == 0;
}

static bool has_states(const struct trace *t, const struct t_domain *d)
{
	for (uint32_t i = 0; i < t->ops_count; i++)
		if (t->ops[i].flags & KYMO_OP_STATE &&
		    strcmp(t->domains[t->ops[i].domain].name, d->name) == 0)
			return true;
	return false;
}

static bool domain_table(struct report *r, const struct summary *s, unsigned count, unsigned by,
			 enum tally_kind kind, const struct t_domain *d)
{
	bool calls = kind == TALLY_CALL && !has_states(s->trace, d);
	struct table_spec look = {
		.kind = kind,
		.has = HAS_SELF,
		.name = *d->name ? d->name : "unknown",
		.title = *d->title  ? d->title
			 : *d->name ? d->name
				    : "Operations without definition",
		.op = calls ? "call" : "what",
		.time = "time",
		.times = calls ? "calls" : "times",
		.counted = {calls ? " call" : "", calls ? " calls" : ""},
		.errors = "errors",
		.errors_heading = "errors",
		.nested_note = "time includes traced calls made inside; self and % do not"};

	return work_table(r, s, count, by, &look, of_domain, d->name);
}

/* Each domain that has some, in order of first appearance; one table each. */
static bool all_domains(struct report *r, const struct summary *s, unsigned count, unsigned by,
			enum tally_kind kind)
{
	const struct t_domain **seen = NULL;
	unsigned n = 0, room = 0, d;
	bool ok = true;

	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[kind];

		for (uint32_t k = 0; ok && k < set->count; k++) {
			const struct t_domain *domain = domain_of(s[i].trace, set->rows[k]);

			for (d = 0; d < n && strcmp(seen[d]->name, domain->name) != 0; d++)
				;
			if (d < n)
				continue;
			ok = vec_reserve(&seen, &room, n, 1);
			if (!ok)
				break;
			seen[n++] = domain;
			ok = domain_table(r, s, count, by, kind, domain);
		}
	}
	free(seen);
	return ok;
}

bool summary_calls(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return all_domains(r, s, count, by, TALLY_CALL) &&
	       all_domains(r, s, count, by, TALLY_ACTIVITY);
}

/* ---- markers ----------------------------------------------------------------------------------- */

/* Marks take no time: they are a table of their own. */
static bool is_mark(const void *data, const struct trace *t, const struct tally *row)
{
	const char *name = row->key[KEY_OP] < t->ops_count ? t->ops[row->key[KEY_OP]].name : "";

	return strcmp(name, "mark") == 0 || strcmp(name, "submitted_mark") == 0;
}

static bool is_range(const void *data, const struct trace *t, const struct tally *row)
{
	return !is_mark(data, t, row);
}

static bool marks_table(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	struct table *t;
	uint32_t rows;

	if (!table_names_has(r->chosen, "marks"))
		return true;
	t = gather(&g, s, count, TALLY_MARKER, by, is_mark, NULL) && fold_names(r, TALLY_MARKER, &g)
		    ? report_table(r, "marks", "Marks")
		    : NULL;
	if (t) {
		t->ranked = !(by & (BY_RANK | BY_PEER));
		add_dimensions(t, by, "mark");
		table_column(t, "calls", "times", CELL_COUNT);
		rows = rows_to_make(t, r, &g);
		for (uint32_t i = 0; i < rows; i++) {
			struct cell *c = table_row(t);

			if (!c)
				break;
			cell_number(put_labels(t, c, g.list[i]), g.list[i]->sum.count);
		}
		tell_folded(t, TALLY_MARKER, &g);
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

bool summary_markers(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	static const struct table_spec ranges = {
		.kind = TALLY_MARKER,
		.has = HAS_SELF,
		.name = "ranges",
		.title = "Ranges",
		.op = "range",
		.time = "time",
		.times = "times",
		.counted = {"", ""},
		.errors = "left_open",
		.errors_heading = "left open",
		.nested_note = "time includes ranges inside; self and % do not"};

	return work_table(r, s, count, by, &ranges, is_range, NULL) && marks_table(r, s, count, by);
}

/* ---- the rest ---------------------------------------------------------------------------------- */

bool summary_messages(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	static const struct table_spec messages = {.kind = TALLY_COMM,
						   .has = HAS_MESSAGES,
						   .name = "messages",
						   .title = "Messages",
						   .op = "message",
						   .time = "added up",
						   .times = "messages",
						   .counted = {"", ""},
						   .errors = "incomplete",
						   .errors_heading = "incomplete"};

	if (r->people && by == (BY_RANK | BY_PEER))
		return summary_matrix(r, s, count);
	return work_table(r, s, count, by, &messages, NULL, NULL);
}

bool summary_kernels(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	static const struct table_spec kernels = {.kind = TALLY_DISPATCH,
						  .has = HAS_DEVICE,
						  .name = "kernels",
						  .title = "Kernels",
						  .op = "kernel",
						  .time = "device time",
						  .times = "dispatches",
						  .counted = {" dispatched", " dispatched"},
						  .errors = "errors",
						  .errors_heading = "failed"};

	return work_table(r, s, count, by, &kernels, NULL, NULL);
}

/* The `what` that a row of copies is; *what as data. */
static bool is_transfer(const void *what, const struct trace *t, const struct tally *row)
{
	return label_transfer(t, row) == *(const enum transfer *)what;
}

static bool add_transfers(struct report *r, const struct summary *s, unsigned count, unsigned by,
			  enum transfer what)
{
	static const struct {
		const char *name, *title, *op, *times;
	} words[] = {[TRANSFER_COPY] = {"copies", "Copies", "copy", "copies"},
		     [TRANSFER_FILL] = {"fills", "Fills", "fill", "fills"},
		     [TRANSFER_MAP] = {"maps", "Maps", "map", "times"}};
	const struct table_spec l = {.kind = TALLY_COPY,
				     .has = HAS_BYTES | HAS_DEVICE,
				     .name = words[what].name,
				     .title = words[what].title,
				     .op = words[what].op,
				     .time = "device time",
				     .times = words[what].times,
				     .counted = {"", ""},
				     .errors = "errors",
				     .errors_heading = "failed"};

	return work_table(r, s, count, by, &l, is_transfer, &what);
}

bool summary_copies(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return add_transfers(r, s, count, by, TRANSFER_COPY);
}

bool summary_fills(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return add_transfers(r, s, count, by, TRANSFER_FILL);
}

bool summary_maps(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return add_transfers(r, s, count, by, TRANSFER_MAP);
}

/* Not what a queue waits for, nor what the host tells it: their calls are with the others. */
static bool is_wait(const void *data, const struct trace *t, const struct tally *row)
{
	static const bool waits[SYNC_OPS] = {[SYNC_OP_QUEUE] = true,
					     [SYNC_OP_EVENTS] = true,
					     [SYNC_OP_BLOCKING] = true,
					     [SYNC_OP_DEVICE] = true};
	const struct t_op *op = &t->ops[row->key[KEY_OP] < t->ops_count ? row->key[KEY_OP] : 0];

	return op->number >= SYNC_OPS || waits[op->number] || row->total;
}

bool summary_waiting(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	static const struct table_spec waiting = {.kind = TALLY_SYNC,
						  .name = "waiting",
						  .title = "Host waiting for devices",
						  .op = "for",
						  .time = "time",
						  .times = "times",
						  .counted = {" time", " times"}};

	return work_table(r, s, count, by, &waiting, is_wait, NULL);
}

/* ---- queues ------------------------------------------------------------------------------------ */

static int by_queue(const void *a, const void *b)
{
	const struct group_queue *x = a, *y = b;

	if (x->summary != y->summary)
		return x->summary < y->summary ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->queue > y->queue) - (x->queue < y->queue);
}

/* What each process could see of its queues, of each trace; reckoned for those that have queues. */
struct walls {
	const struct summary *s;
	unsigned count;
	struct wall {
		uint64_t ns;
		bool known;
	} * *of;   /* by trace and process */
	bool *one; /* of the processes of a trace none */
};

static void walls_release(struct walls *w)
{
	for (unsigned i = 0; w->of && i < w->count; i++)
		free(w->of[i]);
	free(w->of);
	free(w->one);
}

static bool walls_init(struct walls *w, const struct summary *s, unsigned count)
{
	uint32_t most = 1;
	bool ok;

	*w = (struct walls){.s = s, .count = count, .of = calloc(count, sizeof(*w->of))};
	ok = w->of != NULL;
	for (unsigned i = 0; ok && i < count; i++) {
		uint32_t n = s[i].trace->processes_count;

		w->of[i] = calloc(n, sizeof(*w->of[i]));
		ok = w->of[i] != NULL;
		most = n > most ? n : most;
	}
	w->one = ok ? calloc(most, sizeof(*w->one)) : NULL;
	return w->one != NULL;
}

/* What one process could see its queue to be busy: the run, less the time that it did not record. */
static uint64_t observed_time(struct walls *w, const struct group_queue *q)
{
	const struct trace *t = q->summary->trace;
	struct wall *x;

	if (q->process >= t->processes_count)
		return 0;
	x = &w->of[q->summary - w->s][q->process];
	if (!x->known) {
		w->one[q->process] = true;
		x->ns = summary_recorded_wall(t, w->one);
		w->one[q->process] = false;
		if (t->processes[q->process].merged_ranks)
			x->ns *= t->processes[q->process].merged_ranks;
		x->known = true;
	}
	return x->ns;
}

/* Queues that are one row, as those of all ranks by one name, could be busy at the same time. */
static uint64_t available_time(struct walls *w, struct group *x)
{
	uint64_t ns = 0;

	qsort(x->queues, x->queue_count, sizeof(*x->queues), by_queue);
	for (uint32_t i = 0; i < x->queue_count; i++)
		if (i == 0 || by_queue(&x->queues[i - 1], &x->queues[i]) != 0)
			ns += observed_time(w, &x->queues[i]);
	return ns;
}

static bool queue_rows(struct table *t, struct walls *w, enum tally_kind kind, const char *what,
		       const enum transfer *transfer)
{
	struct groups g;
	bool ok =
		gather(&g, w->s, w->count, kind, BY_QUEUE, transfer ? is_transfer : NULL, transfer);

	for (uint32_t i = 0; ok && i < g.count; i++) {
		const struct tally *n = &g.list[i]->sum;
		struct cell *c = table_row(t);

		if (!c)
			break;
		c = put_labels(t, c, g.list[i]);
		cell_text(t, c++, what);
		cell_number(c++, n->total);
		c = put_percent(c, n->total, available_time(w, g.list[i]));
		cell_number(c++, n->count);
		put_nonzero(c, n->bytes);
	}
	groups_release(&g);
	return ok;
}

enum { QUEUES_IN_ORDER = 64 }; /* rows; of more people see the first */

/* Kernels, copies and the rest by queue, side by side. */
bool summary_queues(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	static const enum transfer copy = TRANSFER_COPY, fill = TRANSFER_FILL, map = TRANSFER_MAP;
	struct walls w;
	struct table *t;
	bool ok;

	if (by != BY_OP)
		return true;
	t = report_table(r, "queues", "Queues");
	if (!t)
		return false;
	ok = walls_init(&w, s, count);
	add_dimensions(t, BY_QUEUE, "");
	table_column(t, "what", "what", CELL_TEXT);
	table_column(t, "time_ns", "device time", CELL_TIME);
	table_column(t, "percent_of_run", "% of run", CELL_PERCENT);
	table_column(t, "calls", "commands", CELL_COUNT);
	table_column(t, "bytes", "bytes", CELL_BYTES);
	ok = ok && queue_rows(t, &w, TALLY_DISPATCH, "kernels", NULL) &&
	     queue_rows(t, &w, TALLY_COPY, "copies", &copy) &&
	     queue_rows(t, &w, TALLY_COPY, "fills", &fill) &&
	     queue_rows(t, &w, TALLY_COPY, "maps", &map);
	t->ranked = t->row_count > QUEUES_IN_ORDER;
	walls_release(&w);
	report_drop_empty(r);
	return ok;
}
