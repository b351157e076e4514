/* SPDX-License-Identifier: Apache-2.0 */
/* The table of locks: how long threads waited for each, for whom, and how long it was held meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/lock_use.h"
#include "analysis/summary_parts.h"
#include "stream/names.h"

static int longest(const void *a, const void *b)
{
	const struct lock_use_row *x = *(const struct lock_use_row *const *)a,
				  *y = *(const struct lock_use_row *const *)b;

	if (x->pool != y->pool)
		return x->pool ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

static void put_thread(struct table *t, struct cell *c, const struct trace *trace,
		       const struct lock_use_row *u)
{
	char name[64], text[80];

	if (!u->tid)
		return;
	snprintf(text, sizeof(text), "%u", (unsigned)u->tid);
	for (uint32_t i = 1; i < trace->threads_count; i++)
		if (trace->threads[i].process == u->process && trace->threads[i].tid == u->tid)
			snprintf(text, sizeof(text), "%u %s", (unsigned)u->tid,
				 name_thread(&trace->threads[i], name, sizeof(name)));
	cell_text(t, c, text);
}

static void add_row(struct table *t, const struct summary *s, const struct lock_use_row *u)
{
	const struct tally key = {.key = {u->process}};
	struct text process = {0};
	struct cell *c = table_row(t);
	char text[600];

	if (!c)
		return;
	label_add(&process, s, TALLY_CALL, &key, BY_PROCESS);
	cell_text(t, c++, s->path);
	cell_text(t, c++, process.s ? process.s : "");
	text_release(&process);
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)u->object);
	cell_text(t, c++, text);
	snprintf(text, sizeof(text), "%s%s", u->kind, u->pool ? ", idle pool" : "");
	cell_text(t, c++, text);
	cell_number(c++, u->waits);
	cell_number(c++, u->ns);
	cell_number(c++, u->longest_ns);
	if (u->held_ns) {
		cell_number(c, u->held_ns);
		cell_number(c + 1, u->longest_held_ns);
	}
	c += 2;
	put_thread(t, c++, s->trace, u);
	if (u->tid)
		cell_number(c, u->tid_ns);
	c++;
	if (u->longest_site && s->symbols)
		cell_text(t, c, symbols_text(s->symbols, u->longest_site, text, sizeof(text)));
}

static bool add_rows(struct table *t, const struct summary *s)
{
	const struct lock_use *use = s->timeline ? s->timeline->locks : NULL;
	const struct lock_use_row **order;
	uint32_t n = 0;
	bool pools = false;

	if (!use || !use->rows_count)
		return true;
	order = calloc(use->rows_count, sizeof(*order));
	if (!order)
		return false;
	for (uint32_t i = 0; i < use->rows_count; i++)
		if (use->rows[i].waits)
			order[n++] = &use->rows[i];
	qsort(order, n, sizeof(*order), longest);
	for (uint32_t i = 0; i < n; i++) {
		pools |= order[i]->pool;
		add_row(t, s, order[i]);
	}
	if (pools)
		table_note(t,
			   "idle pool: nine tenths of its waits are of threads that feed no device "
			   "and wait for work half of their time or more; these are below all "
			   "others, and not among the calls above");
	free(order);
	return !use->failed;
}

/* Several processes have locks. */
static bool has_processes(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct lock_use *use = s[i].timeline ? s[i].timeline->locks : NULL;

		for (uint32_t k = 1; use && k < use->rows_count; k++)
			if (use->rows[k].process != use->rows[0].process)
				return true;
	}
	return false;
}

bool summary_locks(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t = by == BY_OP ? report_table(r, "locks", "Locks") : NULL;
	bool ok = t != NULL;

	if (by != BY_OP)
		return true;
	if (!ok)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column_if(t, has_processes(s, count), "process", "process", CELL_TEXT);
	table_column(t, "lock", "lock", CELL_TEXT);
	table_column(t, "kind", "kind", CELL_TEXT);
	table_column(t, "waits", "waits", CELL_COUNT);
	table_column(t, "ns", "waited", CELL_TIME);
	table_column(t, "longest_ns", "longest", CELL_TIME);
	table_column(t, "held_ns", "held", CELL_TIME);
	table_column(t, "longest_held_ns", "held longest", CELL_TIME);
	table_column(t, "thread", "waited for", CELL_TEXT);
	table_column(t, "thread_ns", "for that", CELL_TIME);
	table_column(t, "site", "longest at", CELL_TEXT);
	for (unsigned i = 0; ok && i < count; i++)
		ok = add_rows(t, &s[i]);
	report_drop_empty(r);
	return ok;
}
