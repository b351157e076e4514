/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sleeps and polls: by place, what was waited for, how long, and how it ended. */
#include <stdlib.h>
#include <string.h>

#include "analysis/summary_parts.h"
#include "analysis/wait_use.h"

static int longest(const void *a, const void *b)
{
	const struct wait_use_row *x = *(const struct wait_use_row *const *)a,
				  *y = *(const struct wait_use_row *const *)b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->site != y->site ? (x->site < y->site ? -1 : 1) : strcmp(x->kinds, y->kinds);
}

static void add_row(struct table *t, const struct summary *s, const struct wait_use_row *u)
{
	struct cell *c = table_row(t);
	char text[600];

	if (!c)
		return;
	cell_text(t, c++, s->path);
	cell_text(t, c++, s->trace->ops[u->op].name);
	cell_text(t, c++, wait_use_kind(s->trace->ops[u->op].name));
	cell_text(t, c++, u->kinds);
	cell_number(c++, u->calls);
	cell_number(c++, u->ns);
	cell_number(c++, u->longest_ns);
	if (u->limited)
		cell_number(c, u->asked_ns);
	c++;
	cell_number(c++, u->timed_out);
	cell_number(c++, u->interrupted);
	if (u->site && s->symbols)
		cell_text(t, c, symbols_text(s->symbols, u->site, text, sizeof(text)));
}

static bool add_rows(struct table *t, const struct summary *s)
{
	const struct wait_use *use = s->timeline ? s->timeline->host_waits : NULL;
	const struct wait_use_row **order;

	if (!use || !use->rows_count)
		return true;
	order = calloc(use->rows_count, sizeof(*order));
	if (!order)
		return false;
	for (uint32_t i = 0; i < use->rows_count; i++)
		order[i] = &use->rows[i];
	qsort(order, use->rows_count, sizeof(*order), longest);
	for (uint32_t i = 0; i < use->rows_count; i++)
		add_row(t, s, order[i]);
	free(order);
	return !use->failed;
}

bool summary_waits(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t = by == BY_OP ? report_table(r, "waits", "Sleeps and polls") : NULL;
	bool ok = t != NULL;

	if (by != BY_OP)
		return true;
	if (!ok)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "call", "call", CELL_TEXT);
	table_column(t, "kind", "kind", CELL_TEXT);
	table_column(t, "descriptors", "descriptors", CELL_TEXT);
	table_column(t, "calls", "calls", CELL_COUNT);
	table_column(t, "ns", "waited", CELL_TIME);
	table_column(t, "longest_ns", "longest", CELL_TIME);
	table_column(t, "asked_ns", "at most", CELL_TIME);
	table_column(t, "timed_out", "timed out", CELL_COUNT);
	table_column(t, "interrupted", "interrupted", CELL_COUNT);
	table_column(t, "site", "at", CELL_TEXT);
	for (unsigned i = 0; ok && i < count; i++)
		ok = add_rows(t, &s[i]);
	report_drop_empty(r);
	return ok;
}
