/* SPDX-License-Identifier: Apache-2.0 */
/* The table of calls that returned an error: by call and status, how often, when and where first. */
#include "analysis/summary_columns.h"

static bool some_rank(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		for (uint32_t k = 1; k < s[i].trace->processes_count; k++)
			if (s[i].trace->processes[k].rank != UINT32_MAX)
				return true;
	return false;
}

static struct cell *put_label(struct table *t, struct cell *c, const struct group *x, unsigned by)
{
	struct text label = {0};

	label_add(&label, x->earliest_summary, TALLY_ERROR, x->earliest, by);
	cell_text(t, c, label.s ? label.s : "");
	text_release(&label);
	return c + 1;
}

static void add_row(struct table *t, const struct group *x)
{
	struct cell *c = table_row(t);
	int64_t at;

	if (!c)
		return;
	c = put_labels(t, c, x);
	cell_number(c++, x->sum.count);
	if (!x->earliest)
		return;
	at = x->earliest->first - x->earliest_summary->trace->origin;
	cell_number(c++, at > 0 ? (uint64_t)at : 0);
	put_label(t, put_label(t, c, x, BY_RANK), x, BY_THREAD);
}

bool summary_errors(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	struct table *t = NULL;

	by |= BY_OP | BY_STATUS | BY_CODE;
	if (gather(&g, s, count, TALLY_ERROR, by, NULL, NULL))
		t = report_table(r, "errors", "Calls that returned an error");
	if (t) {
		add_dimensions(t, by, "call");
		t->columns[t->column_count - 1].right = true; /* the code */
		table_column(t, "calls", "calls", CELL_COUNT);
		table_column_optional(t, 1, "first_ns", "first at", CELL_TIMESTAMP);
		table_column_if(t, some_rank(s, count), "first_rank", "in rank", CELL_TEXT);
		table_column(t, "first_thread", "in thread", CELL_TEXT);
		for (uint32_t i = 0; i < g.count; i++)
			add_row(t, g.list[i]);
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}
