/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each process, and each thread, used of processors and memory. A process is what the system takes for
 * one: programs that replaced each other in it (exec) are one row, under the name of the last.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "stream/names.h"
#include "stream/recorded.h"
#include "wire/raw.h"

struct row {
	const struct summary *s;
	uint32_t first, last; /* programs in the process */
};

struct rows {
	struct row *list;
	uint32_t count;
};

static bool is_programs(const struct t_process *p)
{
	return !p->telemetry && !p->merged_ranks && p->how_ended != RAW_END_REFUSED &&
	       !p->file_state;
}

static const struct t_process *last_of(const struct row *x)
{
	return &x->s->trace->processes[x->last];
}

static uint64_t processor_of(const struct row *x)
{
	return last_of(x)->usage ? last_of(x)->user_ns + last_of(x)->system_ns : 0;
}

/* The programs of one process next to each other, as they came. */
static int by_process(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const struct t_process *p = last_of(x), *q = last_of(y);
	int host = strcmp(p->hostname ? p->hostname : "", q->hostname ? q->hostname : "");

	if (host)
		return host;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	if (p->start != q->start)
		return p->start < q->start ? -1 : 1;
	return (x->last > y->last) - (x->last < y->last);
}

static int by_use(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->s != y->s)
		return x->s < y->s ? -1 : 1;
	if (processor_of(x) != processor_of(y))
		return processor_of(x) > processor_of(y) ? -1 : 1;
	return (x->last > y->last) - (x->last < y->last);
}

static bool goes_on(const struct row *x, const struct row *next)
{
	const struct t_process *p = last_of(x), *q = last_of(next);

	return p->how_ended == RAW_END_EXEC && p->pid == q->pid &&
	       strcmp(p->hostname ? p->hostname : "", q->hostname ? q->hostname : "") == 0;
}

/* Appends the processes of a trace. */
static void add_processes(struct rows *all, const struct summary *s)
{
	const struct trace *t = s->trace;
	struct row *list = all->list + all->count;
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		if (is_programs(&t->processes[i]))
			list[n++] = (struct row){s, i, i};
	if (n)
		qsort(list, n, sizeof(*list), by_process);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && goes_on(&list[kept - 1], &list[i]))
			list[kept - 1].last = list[i].last;
		else
			list[kept++] = list[i];
	}
	all->count += kept;
}

/* Some of them are ranks. */
static bool any_ranks(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (summary_ranks(s[i].trace))
			return true;
	return false;
}

/* Whose row it is. */
static void add_owner_columns(struct table *t, const struct summary *s, unsigned count)
{
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "process", "process", CELL_TEXT);
	table_column_if(t, any_ranks(s, count), "rank", "rank", CELL_TEXT);
}

/* Returns the cell behind them. */
static struct cell *put_owner(struct table *t, struct cell *c, const struct summary *s,
			      uint32_t process)
{
	static const unsigned by[] = {BY_PROCESS, BY_RANK};
	const struct tally key = {.key = {process}};

	cell_text(t, c++, s->path);
	for (unsigned i = 0; i < sizeof(by) / sizeof(*by); i++) {
		struct text label = {0};

		label_add(&label, s, TALLY_CALL, &key, by[i]);
		cell_text(t, c++, label.s ? label.s : "");
		text_release(&label);
	}
	return c;
}

static void add_columns(struct table *t, bool delayed)
{
	table_column(t, "wall_ns", "wall", CELL_TIME);
	table_column(t, "user_ns", "user", CELL_TIME);
	table_column(t, "system_ns", "system", CELL_TIME);
	table_column(t, "percent_of_wall", "% of wall", CELL_PERCENT);
	table_column(t, "peak_resident_bytes", "peak resident", CELL_BYTES);
	table_column_optional(t, 1, "delay_ns", "no processor", CELL_TIME);
	t->columns[t->column_count - 1].hidden = !delayed;
	table_column_if(t, false, "known", "known", CELL_TEXT);
}

static void add_row(struct table *t, const struct row *x)
{
	const struct trace *trace = x->s->trace;
	const struct t_process *p = last_of(x);
	int64_t wall = recorded_until(trace, p) - trace->processes[x->first].start;
	struct cell *c = table_row(t);

	if (!c)
		return;
	c = put_owner(t, c, x->s, x->last);
	cell_number(c++, wall > 0 ? (uint64_t)wall : 0);
	if (p->usage) {
		cell_number(c, p->user_ns);
		cell_number(c + 1, p->system_ns);
		if (wall > 0)
			cell_real(c + 2, 100.0 * (double)processor_of(x) / (double)wall);
	}
	if (p->resident_bytes)
		cell_number(c + 3, p->resident_bytes);
	if (p->delay_ns)
		cell_number(c + 4, recorded_delay_ns(trace, p));
	if (p->usage)
		cell_text(t, c + 5, p->usage == RAW_USAGE_WHOLE ? "whole" : "at least");
}

/* So much that people are to see it. */
static bool is_delayed(const struct rows *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (recorded_delay(all->list[i].s->trace, last_of(&all->list[i])) >= 0.01)
			return true;
	return false;
}

static void tell_unknown(struct table *t, const struct rows *all)
{
	uint32_t unknown = 0, least = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		unknown += last_of(&all->list[i])->usage == RAW_USAGE_UNKNOWN;
		least += last_of(&all->list[i])->usage == RAW_USAGE_SEEN;
	}
	if (least)
		table_note(t,
			   "of %u that did not come to an end at least so much, as was seen last",
			   least);
	if (unknown)
		table_note(t, "of %u nothing is known", unknown);
}

static bool summary_wants(const struct summary *s, unsigned count, unsigned by)
{
	for (unsigned i = 0; i < count; i++)
		if (s[i].selection)
			return false; /* the processes used it for what is not selected as well */
	return by == BY_OP || by == BY_PROCESS || by == (BY_PROCESS | BY_OP);
}

bool summary_processes(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct rows all = {0};
	struct table *t;
	size_t room = 0;

	if (!summary_wants(s, count, by))
		return true;
	for (unsigned i = 0; i < count; i++)
		room += s[i].trace->processes_count;
	all.list = calloc(room + 1, sizeof(*all.list));
	t = all.list ? report_table(r, "processes", "Processes") : NULL;
	if (!t) {
		free(all.list);
		return false;
	}
	t->ranked = true;
	for (unsigned i = 0; i < count; i++)
		add_processes(&all, &s[i]);
	add_owner_columns(t, s, count);
	add_columns(t, is_delayed(&all));
	if (all.count)
		qsort(all.list, all.count, sizeof(*all.list), by_use);
	for (uint32_t i = 0; i < all.count; i++)
		add_row(t, &all.list[i]);
	tell_unknown(t, &all);
	if (is_delayed(&all))
		table_note(t, "no processor: the main thread was ready to run, and others had the "
			      "processors");
	report_drop_empty(r);
	free(all.list);
	return true;
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void add_thread(struct table *t, const struct summary *s, uint32_t thread)
{
	const struct trace *trace = s->trace;
	const struct t_thread *th = &trace->threads[thread];
	int64_t end = th->end ? th->end : recorded_until(trace, &trace->processes[th->process]);
	int64_t start = recorded_thread_start(trace, th);
	struct cell *c = table_row(t);
	char name[64];

	if (!c)
		return;
	c = put_owner(t, c, s, th->process);
	cell_text(t, c++, name_thread(th, name, sizeof(name)));
	cell_number(c++, end > start ? (uint64_t)(end - start) : 0);
	if (th->processor_ns) {
		cell_number(c, th->processor_ns);
		if (end > start)
			cell_real(c + 1, 100.0 * (double)th->processor_ns / (double)(end - start));
	}
}

bool summary_threads_used(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t;

	if (!summary_wants(s, count, by))
		return true;
	t = report_table(r, "threads", "");
	if (!t)
		return false;
	t->hidden = true;
	add_owner_columns(t, s, count);
	table_column(t, "thread", "thread", CELL_TEXT);
	table_column(t, "wall_ns", "wall", CELL_TIME);
	table_column(t, "processor_ns", "on processors", CELL_TIME);
	table_column(t, "percent_of_wall", "% of wall", CELL_PERCENT);
	for (unsigned i = 0; i < count; i++) {
		const struct trace *trace = s[i].trace;

		for (uint32_t k = 1; k < trace->threads_count; k++)
			if (!trace->threads[k].own &&
			    is_programs(&trace->processes[trace->threads[k].process]))
				add_thread(t, &s[i], k);
	}
	report_drop_empty(r);
	return true;
}
