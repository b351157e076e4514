/* SPDX-License-Identifier: Apache-2.0 */
/* The table of times without a processor by stack. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/off_use.h"
#include "analysis/summary_parts.h"
#include "base/units.h"

enum { FRAMES_SHOWN = 5 /* to people: the innermost */ };

static int longest(const void *a, const void *b)
{
	const struct off_use_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->stack != y->stack ? (x->stack < y->stack ? -1 : 1) : (int)x->op - (int)y->op;
}

/* The function at a site, behind those that it is inlined into. */
static void put_frames(struct text *out, const struct symbol *y)
{
	if (y->caller) {
		put_frames(out, y->caller);
		text_add(out, ";");
	}
	text_addf(out, "%s%s", y->function ? y->function : "?", y->caller ? " (inlined)" : "");
}

/* As flame graphs have it: the outermost function first. */
static void put_stack(struct table *t, struct cell *c, const struct report *r,
		      const struct summary *s, uint32_t stack)
{
	const struct t_stack *k = &s->trace->stacks[stack];
	const uint32_t shown = r->people && k->count > FRAMES_SHOWN ? FRAMES_SHOWN : k->count;
	struct text text = {0};

	if (shown < k->count)
		text_add(&text, "...;");
	for (uint32_t i = shown; i--;) {
		put_frames(&text, symbols_site(s->symbols, k->sites[i]));
		text_add(&text, i ? ";" : "");
	}
	cell_text(t, c, text.s ? text.s : "");
	text_release(&text);
}

/* Stacks of some say nothing of the others: how many there are of each. */
static void tell_without(struct table *t, const struct summary *s)
{
	const struct off_use *use = &s->timeline->off;
	char share[UNITS_TEXT], all[UNITS_TEXT];
	uint64_t with = 0, ns = 0;

	for (uint32_t i = 0; i < use->rows_count; i++) {
		with += use->rows[i].times;
		ns += use->rows[i].ns;
	}
	if (!use->without_stack)
		return;
	table_note(t,
		   "%" PRIu64 " of %" PRIu64
		   " times have a stack, %s of %s: of waits of less than 5 ms and "
		   "of times of being preempted only some have, and only where the kernel may be "
		   "seen (kernel.perf_event_paranoid of at most 1, or CAP_PERFMON)",
		   with, with + use->without_stack, units_time(ns, share),
		   units_time(ns + use->without_stack_ns, all));
}

static void add_rows(struct table *t, const struct report *r, const struct summary *s)
{
	struct off_use *use = s->timeline ? &s->timeline->off : NULL;

	if (!use || !use->rows_count || !s->symbols)
		return;
	qsort(use->rows, use->rows_count, sizeof(*use->rows), longest);
	map_release(&use->places);
	for (uint32_t i = 0; i < use->rows_count; i++) {
		const struct off_use_row *u = &use->rows[i];
		struct cell *c = table_row(t);

		if (!c)
			return;
		cell_text(t, c++, s->path);
		cell_text(t, c++, s->trace->ops[u->op].name);
		cell_number(c++, u->times);
		cell_number(c++, u->ns);
		cell_number(c++, u->longest_ns);
		put_stack(t, c, r, s, u->stack);
	}
	tell_without(t, s);
}

bool summary_off_cpu(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t =
		by == BY_OP ? report_table(r, "off_cpu_stacks", "Without a processor, by stack")
			    : NULL;

	if (by != BY_OP)
		return true;
	if (!t)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "wait", "waits", CELL_TEXT);
	table_column(t, "times", "times", CELL_COUNT);
	table_column(t, "ns", "time", CELL_TIME);
	table_column(t, "longest_ns", "longest", CELL_TIME);
	table_column(t, "stack", "stack", CELL_TEXT);
	for (unsigned i = 0; i < count; i++)
		add_rows(t, r, &s[i]);
	report_drop_empty(r);
	return true;
}
