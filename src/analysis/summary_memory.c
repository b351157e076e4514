/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the summary about memory: what was in use at most, and what was allocated and freed. */
#include <inttypes.h>

#include "analysis/memory_curve.h"
#include "analysis/summary_columns.h"
#include "base/units.h"

enum { PEOPLE_ROWS = 20 }; /* of the whole summary; a job has rows for each of its processes */

/* As far as one trace has one: what a store holds has none, nor memory that many processes had together. */
static const struct memory_curve *curve_of(const struct memory_curves *curves,
					   const struct group *x)
{
	const uint32_t *key = x->first->key;
	const struct memory_curve *c =
		memory_curves_of(curves, key[KEY_PROCESS], key[KEY_POOL_AGENT], key[KEY_POOL_KIND]);

	return c && c->peak == x->sum.peak ? c : NULL;
}

/* Peaks of processes do not add up: each has rows of its own. */
bool summary_pools(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	uint32_t limit = by == BY_OP ? PEOPLE_ROWS : UINT32_MAX;
	struct groups g;
	struct memory_curves curves = {0};
	struct table *t = NULL;
	uint64_t late = 0;

	/* What was allocated before, or by somebody else, is not among what is selected. */
	if (count && s[0].in_part)
		return true;
	by = (by & ~(unsigned)BY_OP) | BY_PROCESS | BY_DEVICE | BY_MEMORY;
	if (gather(&g, s, count, TALLY_POOL, by, NULL, NULL)) {
		groups_sort(&g, ORDER_BYTES);
		t = report_table(r, "memory", "Memory in use");
	}
	if (t) {
		add_dimensions(t, by, "");
		table_column(t, "peak_bytes", "peak", CELL_BYTES);
		table_column_optional(t, 2, "peak_at_ns", "peak at", CELL_TIMESTAMP);
		table_column(t, "in_use_bytes", "at end", CELL_BYTES);
		table_column_optional(t, 3, "allocations", "allocations", CELL_COUNT);
		table_column_optional(t, 1, "frees", "frees", CELL_COUNT);
		table_column_optional(t, 1, "curve_bytes", "over the run", CELL_TEXT);
		t->failed |= count == 1 && s->timeline && !memory_curves_find(&curves, s->timeline);
	}
	for (uint32_t i = 0; t && i < g.count && i < limit; i++) {
		const struct group *x = g.list[i];
		int64_t at = x->first->peak_time - x->summary->trace->origin;
		struct cell *c = table_row(t);

		if (!c)
			break;
		c = put_labels(t, c, x);
		cell_number(c++, x->sum.peak);
		if (x->first->peak_time) /* not known of ranks that were counted together */
			cell_number(c, at > 0 ? (uint64_t)at : 0);
		c++;
		cell_number(c++, x->sum.in_use);
		cell_number(c++, x->sum.count);
		cell_number(c++, x->sum.frees);
		if (curve_of(&curves, x))
			put_curve(t, c, curve_of(&curves, x)->at, x->sum.peak, r);
	}
	if (t && t->column_count)
		t->columns[t->column_count - 1].hidden = !curves.count;
	memory_curves_release(&curves);
	if (t && g.count > limit)
		table_note(t, "the %s largest peaks of %s; --by process shows all",
			   UNITS_COUNT(limit), UNITS_COUNT(g.count));
	for (unsigned i = 0; i < count; i++)
		late += s[i].tallies->late;
	if (t && late)
		table_note(t, "allocations reached the trace late: peaks are approximate");
	if (t)
		report_drop_empty(r);
	groups_release(&g);
	return t != NULL;
}

void summary_tell_unfreed(struct table *t, const struct summary *s, unsigned count)
{
	bool lost = false, ended = true, paused = false;

	for (unsigned i = 0; i < count; i++) {
		const struct trace *trace = s[i].trace;

		paused |= trace->pauses_count > 1;
		for (uint32_t k = 1; k < trace->processes_count; k++) {
			lost |= trace->processes[k].lost_records ||
				trace->processes[k].damaged_blocks;
			ended &= trace->processes[k].how_ended <= 1 ||
				 trace->processes[k].telemetry || trace->processes[k].merged_ranks;
		}
	}
	if (!ended)
		table_note(t, "a process was killed, or goes on: what it had then is among them");
	if (lost)
		table_note(t, "records were lost: some of it may have been freed");
	if (paused)
		table_note(t, "recording was off at times: some of it may have been freed then");
}

bool summary_leaks(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	struct table *t = NULL;

	by |= BY_SITE | BY_OP | BY_MEMORY;
	if (gather(&g, s, count, TALLY_LEAK, by, NULL, NULL)) {
		groups_sort(&g, ORDER_BYTES);
		t = report_table(r, "leaks", "Memory that was never freed");
	}
	if (t) {
		t->ranked = !(by & BY_RANK);
		add_dimensions(t, by, "what");
		table_column(t, "allocations", "allocations", CELL_COUNT);
		table_column(t, "bytes", "bytes", CELL_BYTES);
		table_column_optional(t, 1, "first_ns", "first at", CELL_TIMESTAMP);
	}
	for (uint32_t i = 0; t && i < g.count; i++) {
		const struct group *x = g.list[i];
		int64_t at =
			x->earliest ? x->earliest->first - x->earliest_summary->trace->origin : 0;
		struct cell *c = table_row(t);

		if (!c)
			break;
		c = put_labels(t, c, x);
		cell_number(c++, x->sum.count);
		cell_number(c++, x->sum.bytes);
		cell_number(c, at > 0 ? (uint64_t)at : 0);
	}
	if (t && g.count)
		summary_tell_unfreed(t, s, count);
	if (t)
		report_drop_empty(r);
	groups_release(&g);
	return t != NULL;
}

bool summary_allocations(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	struct table *t = NULL;

	by |= BY_OP | BY_MEMORY;
	if (gather(&g, s, count, TALLY_ALLOCATION, by, NULL, NULL)) {
		groups_sort(&g, ORDER_BYTES);
		t = report_table(r, "allocations", "Allocations");
	}
	if (t) {
		add_dimensions(t, by, "what");
		table_column(t, "allocations", "allocations", CELL_COUNT);
		table_column(t, "bytes", "bytes", CELL_BYTES);
		table_column(t, "frees", "frees", CELL_COUNT);
		table_column(t, "freed_bytes", "freed", CELL_BYTES);
	}
	for (uint32_t i = 0; t && i < g.count; i++) {
		const struct tally *n = &g.list[i]->sum;
		struct cell *c = table_row(t);

		if (!c)
			break;
		c = put_labels(t, c, g.list[i]);
		cell_number(c++, n->count);
		cell_number(c++, n->bytes);
		cell_number(c++, n->frees);
		cell_number(c++, n->freed);
	}
	if (t)
		report_drop_empty(r);
	groups_release(&g);
	return t != NULL;
}
