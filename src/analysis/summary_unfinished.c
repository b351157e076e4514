/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work that was submitted and was never seen to finish, and how often what the mode leaves out
 * was called: neither has records.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "base/units.h"
#include "base/vec.h"

/* ---- work that did not finish ------------------------------------------------------------------ */

struct kind_of_work {
	const struct summary *summary;
	const struct t_unfinished *oldest;
	uint64_t count, bytes;
};

static bool same_work(const struct t_unfinished *a, const struct t_unfinished *b)
{
	return a->process == b->process && a->thread == b->thread && a->op == b->op &&
	       a->agent == b->agent && a->queue == b->queue && a->kernel == b->kernel;
}

struct works {
	struct kind_of_work *list;
	uint32_t count, room;
};

static bool add_work(struct works *w, const struct summary *s, const struct t_unfinished *u)
{
	for (uint32_t i = 0; i < w->count; i++) {
		struct kind_of_work *k = &w->list[i];

		if (k->summary != s || !same_work(k->oldest, u))
			continue;
		k->count++;
		k->bytes += u->bytes;
		if (u->submit < k->oldest->submit)
			k->oldest = u;
		return true;
	}
	if (!vec_reserve(&w->list, &w->room, w->count, 1))
		return false;
	w->list[w->count++] = (struct kind_of_work){s, u, 1, u->bytes};
	return true;
}

static int oldest_first(const void *a, const void *b)
{
	const struct kind_of_work *x = a, *y = b;

	return (x->oldest->submit > y->oldest->submit) - (x->oldest->submit < y->oldest->submit);
}

static void put_label(struct table *t, struct cell *c, const struct summary *s,
		      enum tally_kind kind, const struct tally *row, unsigned by)
{
	struct text label = {0};

	label_add(&label, s, kind, row, by);
	cell_text(t, c, label.s ? label.s : "");
	text_release(&label);
}

static void add_row(struct table *t, const struct kind_of_work *k)
{
	const struct t_unfinished *u = k->oldest;
	const struct trace *trace = k->summary->trace;
	const struct tally place = {.key = {u->process, u->agent, u->queue, u->kernel}};
	const struct tally thread = {.key = {u->process, u->thread, 0}};
	int64_t end = trace->processes[u->process].end;
	struct cell *c = table_row(t);

	if (!c)
		return;
	end = end ? end : trace->end;
	cell_text(t, c++, u->kernel ? trace->kernels[u->kernel].name : trace->ops[u->op].name);
	put_label(t, c++, k->summary, TALLY_DISPATCH, &place, BY_QUEUE);
	put_label(t, c++, k->summary, TALLY_CALL, &thread, BY_THREAD);
	cell_number(c++, k->count);
	if (k->bytes)
		cell_number(c, k->bytes);
	c++;
	cell_number(c++, u->submit > trace->origin ? (uint64_t)(u->submit - trace->origin) : 0);
	cell_number(c, end > u->submit ? (uint64_t)(end - u->submit) : 0);
}

/* What was under way beyond the commands that are kept in mind. */
static void add_unlisted(struct table *t, const struct trace *trace)
{
	uint64_t unlisted = 0;
	struct cell *c;

	for (uint32_t i = 1; i < trace->processes_count; i++)
		unlisted += trace->processes[i].unlisted;
	c = unlisted ? table_row(t) : NULL;
	if (!c)
		return;
	cell_text(t, c, "(commands of which only the number is known)");
	cell_number(c + 3, unlisted);
}

static bool any_bytes(const struct works *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->list[i].bytes)
			return true;
	return false;
}

bool summary_unfinished(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t = report_table(r, "unfinished", "Submitted, never seen to finish");
	struct works w = {0};
	bool ok = t != NULL;

	for (unsigned i = 0; ok && i < count; i++)
		for (uint32_t k = 1; ok && k < s[i].trace->unfinished_count; k++)
			ok = add_work(&w, &s[i], &s[i].trace->unfinished[k]);
	if (ok) {
		table_column(t, "name", "kernel or copy", CELL_TEXT);
		table_column(t, "queue", "queue", CELL_TEXT);
		table_column(t, "thread", "thread", CELL_TEXT);
		table_column(t, "commands", "commands", CELL_COUNT);
		table_column_if(t, any_bytes(&w), "bytes", "bytes", CELL_BYTES);
		table_column_optional(t, 1, "submit_ns", "first at", CELL_TIMESTAMP);
		table_column(t, "age_ns", "before the end", CELL_TIME);
		if (w.count)
			qsort(w.list, w.count, sizeof(*w.list), oldest_first);
		for (uint32_t i = 0; i < w.count; i++)
			add_row(t, &w.list[i]);
		for (unsigned i = 0; i < count; i++)
			add_unlisted(t, s[i].trace);
		report_drop_empty(r);
	}
	free(w.list);
	return ok;
}

/* ---- what the mode leaves out ------------------------------------------------------------------ */

struct left_out {
	const struct trace *trace;
	const struct t_op *op;
	uint64_t calls;
};

struct left_outs {
	struct left_out *list;
	uint32_t count, room;
};

static bool add_left_out(struct left_outs *l, const struct trace *t, const struct t_left_out *x)
{
	const struct t_op *op = &t->ops[x->op];
	for (uint32_t i = 0; i < l->count; i++) {
		const struct left_out *o = &l->list[i];

		if (strcmp(o->op->name, op->name) != 0 ||
		    strcmp(o->trace->domains[o->op->domain].name, t->domains[op->domain].name) != 0)
			continue;
		l->list[i].calls += x->calls;
		return true;
	}
	if (!vec_reserve(&l->list, &l->room, l->count, 1))
		return false;
	l->list[l->count++] = (struct left_out){t, op, x->calls};
	return true;
}

static int most_first(const void *a, const void *b)
{
	const struct left_out *x = a, *y = b;

	return (x->calls < y->calls) - (x->calls > y->calls);
}

static bool gather_left_out(struct left_outs *l, const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		for (uint32_t k = 1; k < s[i].trace->left_out_count; k++)
			if (!add_left_out(l, s[i].trace, &s[i].trace->left_out[k]))
				return false;
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), most_first);
	return true;
}

static void left_out_table(struct report *r, const struct left_outs *l)
{
	struct table *t = report_table(r, "not_recorded", "");

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "domain", "", CELL_TEXT);
	table_column(t, "op", "", CELL_TEXT);
	table_column(t, "calls", "", CELL_COUNT);
	for (uint32_t i = 0; i < l->count; i++) {
		struct cell *c = table_row(t);

		if (!c)
			break;
		cell_text(t, c++, l->list[i].trace->domains[l->list[i].op->domain].name);
		cell_text(t, c++, l->list[i].op->name);
		cell_number(c, l->list[i].calls);
	}
	report_drop_empty(r);
}

enum { NAMED = 5 };

void summary_left_out(struct report *r, const struct summary *s, unsigned count)
{
	struct left_outs l = {0};
	struct text line = {0};
	uint64_t others = 0;
	char number[32];

	if (gather_left_out(&l, s, count) && l.count) {
		left_out_table(r, &l);
		for (uint32_t i = 0; i < l.count; i++) {
			if (i >= NAMED)
				others += l.list[i].calls;
			else
				text_addf(&line, "%s%s %s call%s", i ? ", " : "",
					  l.list[i].op->name, units_count(l.list[i].calls, number),
					  l.list[i].calls == 1 ? "" : "s");
		}
		if (l.count > NAMED)
			text_addf(&line, ", %u other%s %s call%s", l.count - NAMED,
				  l.count - NAMED == 1 ? "" : "s", units_count(others, number),
				  others == 1 ? "" : "s");
		report_foot(r, "Not recorded in this mode: %s (--mode full records them).",
			    line.s ? line.s : "");
	}
	text_release(&line);
	free(l.list);
}
