/* SPDX-License-Identifier: Apache-2.0 */
/* Tables about devices over the run: when they had no work, the longest first, and how busy they were when. */
#include <stdlib.h>

#include "analysis/brief_names.h"
#include "analysis/digest.h"
#include "analysis/summary_columns.h"
#include "analysis/table_names.h"
#include "base/plain.h"
#include "base/text.h"

/* ---- gaps -------------------------------------------------------------------------------------- */

enum { KERNEL_WIDTH = 40 };

/* A gap of one of the devices. */
struct row {
	const struct idle_gap *gap;
	uint32_t device;
};

/* The call that the submitting thread was in for most of a gap. */
struct inside {
	const struct tl_call *call; /* NULL: in none, or nothing is known */
	uint64_t ns;
};

static uint64_t length_of(const struct row *r)
{
	return (uint64_t)(r->gap->end - r->gap->start);
}

static int longest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (length_of(x) != length_of(y))
		return length_of(x) > length_of(y) ? -1 : 1;
	if (x->gap->start != y->gap->start)
		return x->gap->start < y->gap->start ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

static struct row *rows_of(const struct diagnosis *d, uint32_t *count)
{
	const struct timeline *tl = d->tl;
	struct row *rows;
	uint32_t n = 0;

	for (uint32_t i = 0; i < tl->devices_count; i++)
		n += d->idle[i].longest_count;
	rows = calloc(n + 1u, sizeof(*rows));
	*count = 0;
	for (uint32_t i = 0; rows && i < tl->devices_count; i++)
		for (uint32_t k = 0; k < d->idle[i].longest_count; k++)
			rows[(*count)++] = (struct row){&d->idle[i].longest[k], i};
	if (rows)
		qsort(rows, *count, sizeof(*rows), longest_first);
	return rows;
}

static struct inside inside_of(const struct timeline *tl, const struct idle_gap *g)
{
	const struct tl_call *c =
		g->next == TIMELINE_NONE ? NULL : timeline_call(tl, &tl->work[g->next]);
	const struct tl_thread *th = c ? &tl->threads[c->thread] : NULL;
	struct inside most = {0};

	for (uint32_t i = c ? timeline_at(tl, c->thread, g->start) : 0; c && i < th->count; i++) {
		const struct tl_call *o = &tl->calls[tl->outer[th->first + i]];
		int64_t from = o->start > g->start ? o->start : g->start;
		int64_t to = o->end < g->end ? o->end : g->end;

		if (o->start >= g->end)
			break;
		if (!(o->flags & CALL_BURST) && to > from && (uint64_t)(to - from) > most.ns)
			most = (struct inside){o, (uint64_t)(to - from)};
	}
	return most;
}

static void put_work(struct table *t, struct cell *c, const struct timeline *tl,
		     const struct report *r, uint32_t work)
{
	static const char *const kinds[WORK_KINDS] = {[WORK_COPY] = "copy",
						      [WORK_FILL] = "fill",
						      [WORK_MAP] = "map",
						      [WORK_MIGRATION] = "migration"};
	const struct tl_work *w = &tl->work[work];
	struct text name = {0};

	if (w->kind != WORK_KERNEL)
		text_add(&name, kinds[w->kind]);
	else if (r->people && r->fold)
		brief_name(&name, tl->trace->kernels[w->kernel].name, KERNEL_WIDTH);
	else
		text_add(&name, tl->trace->kernels[w->kernel].name);
	cell_text(t, c, name.s ? name.s : "");
	text_release(&name);
}

static void add_gap(struct table *t, const struct diagnosis *d, const struct report *r,
		    const struct row *row)
{
	const struct timeline *tl = d->tl;
	const struct idle_gap *g = row->gap;
	struct inside in = inside_of(tl, g);
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, tl->trace->agents[tl->devices[row->device].agent].label);
	cell_number(c++, (uint64_t)(g->start - tl->trace->origin));
	cell_number(c++, length_of(row));
	cell_text(t, c++, idle_name((enum idle_cause)g->cause));
	cell_number(c++, g->ns);
	if (g->next != TIMELINE_NONE)
		put_work(t, c, tl, r, g->next);
	c++;
	if (in.call) {
		cell_text(t, c, tl->trace->ops[in.call->op].name);
		cell_number(c + 1, in.ns);
	}
}

static void add_note(struct table *t, const struct diagnosis *d, const struct idle_gap *g)
{
	int64_t origin = d->tl->trace->origin;
	struct text path = {0};

	text_add_shell(&path, d->path);
	table_note(t, "what was recorded in the first: kymo show --after %.6fs --before %.6fs %s",
		   (double)(g->start - origin) / 1e9, (double)(g->end - origin) / 1e9,
		   path.s ? path.s : "");
	text_release(&path);
}

bool summary_gaps(struct report *r, const struct diagnosis *d)
{
	struct table *t;
	struct row *rows;
	uint32_t count, whole = 0;

	if (!r->chosen || !table_names_has(r->chosen, "gaps"))
		return true;
	rows = rows_of(d, &count);
	t = rows ? report_table(r, "gaps", "Times without device work") : NULL;
	if (!t) {
		free(rows);
		return false;
	}
	t->ranked = true;
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "start_ns", "from", CELL_TIMESTAMP);
	table_column(t, "length_ns", "length", CELL_TIME);
	table_column(t, "cause", "cause", CELL_TEXT);
	table_column(t, "cause_ns", "of it", CELL_TIME);
	table_column(t, "next", "before", CELL_TEXT);
	table_column(t, "call", "host in", CELL_TEXT);
	table_column(t, "call_ns", "in it", CELL_TIME);
	for (uint32_t i = 0; i < count; i++)
		add_gap(t, d, r, &rows[i]);
	for (uint32_t i = 0; i < d->tl->devices_count; i++)
		whole += d->idle[i].longest_count == IDLE_LONGEST;
	if (whole)
		table_note(t, "of each device the %d longest", IDLE_LONGEST);
	if (count)
		add_note(t, d, rows[0].gap);
	report_drop_empty(r);
	free(rows);
	return true;
}

/* ---- devices over the run ------------------------------------------------------------------------ */

static int64_t part_start(const struct timeline *tl, unsigned part)
{
	return tl->start + (int64_t)((double)(tl->end - tl->start) * part / CURVE_PARTS);
}

static void put_busy(struct table *t, struct cell *c, const struct timeline *tl,
		     const struct report *r, const struct intervals *busy)
{
	uint64_t at[CURVE_PARTS], longest = 0;

	for (unsigned i = 0; i < CURVE_PARTS; i++) {
		int64_t start = part_start(tl, i), end = part_start(tl, i + 1);

		at[i] = intervals_within(busy, start, end);
		longest = (uint64_t)(end - start) > longest ? (uint64_t)(end - start) : longest;
	}
	put_curve(t, c, at, longest, r);
}

bool summary_device_use(struct report *r, const struct diagnosis *d)
{
	const struct timeline *tl = d->tl;
	/* Who asks by something else has these in the digest. */
	bool hidden = r->by && !r->chosen;
	struct table *t = report_table(r, "device_use", hidden ? "" : "Devices over the run");
	uint64_t run = timeline_length(tl);

	if (!t)
		return false;
	t->hidden = hidden;
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "kernels_percent", "kernels %", CELL_PERCENT);
	table_column(t, "transfers_percent", "transfers %", CELL_PERCENT);
	table_column(t, "busy_percent", "busy %", CELL_PERCENT);
	table_column(t, "busy_curve_ns", "busy, over the run", CELL_TEXT);
	for (uint32_t i = 0; i < tl->devices_count; i++) {
		const struct tl_device *v = &tl->devices[i];
		struct cell *c = v->count ? table_row(t) : NULL;

		if (!c)
			continue;
		cell_text(t, c++, tl->trace->agents[v->agent].label);
		c = put_percent(c, d->idle[i].kernels, run);
		c = put_percent(c, intervals_length(&v->transfers), run);
		c = put_percent(c, d->idle[i].kernels + d->idle[i].transfers, run);
		put_busy(t, c, tl, r, &v->all);
	}
	report_drop_empty(r);
	return true;
}
