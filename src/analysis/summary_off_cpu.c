/* SPDX-License-Identifier: Apache-2.0 */
/* The table of times without a processor by stack. */
#include <stdlib.h>
#include <string.h>

#include "analysis/off_use.h"
#include "analysis/summary_parts.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"

enum { FRAMES_SHOWN = 5 /* to people: the innermost */ };

/* Times of stacks that look alike: those of one call may return to several places in a function. */
struct shown {
	char *stack;
	uint32_t op;
	uint64_t times, ns, longest_ns;
};

struct shown_rows {
	struct shown *at;
	uint32_t count, room;
	struct map places; /* by op and text: number from 1 */
};

static int longest(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->op != y->op ? (int)x->op - (int)y->op : strcmp(x->stack, y->stack);
}

static void release(struct shown_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++)
		free(rows->at[i].stack);
	free(rows->at);
	map_release(&rows->places);
}

/* Takes the text. NULL: no memory. */
static struct shown *row_of(struct shown_rows *rows, uint32_t op, char *stack)
{
	const uint64_t key = hash_mix(hash_bytes(stack, strlen(stack)), op);
	uint64_t i;

	map_each(&rows->places, key, i) {
		struct shown *x = &rows->at[i - 1];

		if (x->op == op && strcmp(x->stack, stack) == 0) {
			free(stack);
			return x;
		}
	}
	if (!vec_reserve(&rows->at, &rows->room, rows->count, 1) ||
	    !map_add(&rows->places, key, rows->count + 1u)) {
		free(stack);
		return NULL;
	}
	rows->at[rows->count] = (struct shown){.stack = stack, .op = op};
	return &rows->at[rows->count++];
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

/* As flame graphs have it: the outermost function first. NULL: no memory. */
static char *stack_text(const struct report *r, const struct summary *s, uint32_t stack)
{
	uint32_t count;
	const uint32_t *sites = symbols_stack(s->symbols, stack, SYMBOLS_TIME, &count);
	const uint32_t shown = r->people && count > FRAMES_SHOWN ? FRAMES_SHOWN : count;
	struct text text = {0};

	if (shown < count)
		text_add(&text, "...;");
	for (uint32_t i = shown; i--;) {
		put_frames(&text, symbols_site(s->symbols, sites[i]));
		text_add(&text, i ? ";" : "");
	}
	return text.s ? text.s : strdup("");
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
		   "%s of %s times have a stack, %s of %s: of waits of less than 5 ms and "
		   "of times of being preempted only some have, and only where the kernel may be "
		   "seen (kernel.perf_event_paranoid of at most 1, or CAP_PERFMON)",
		   UNITS_COUNT(with), UNITS_COUNT(with + use->without_stack), units_time(ns, share),
		   units_time(ns + use->without_stack_ns, all));
}

static bool collect(struct shown_rows *rows, const struct report *r, const struct summary *s)
{
	const struct off_use *use = &s->timeline->off;

	for (uint32_t i = 0; i < use->rows_count; i++) {
		const struct off_use_row *u = &use->rows[i];
		char *text = stack_text(r, s, u->stack);
		struct shown *x = text ? row_of(rows, u->op, text) : NULL;

		if (!x)
			return false;
		x->times += u->times;
		x->ns += u->ns;
		if (x->longest_ns < u->longest_ns)
			x->longest_ns = u->longest_ns;
	}
	qsort(rows->at, rows->count, sizeof(*rows->at), longest);
	return true;
}

static void add_rows(struct table *t, const struct report *r, const struct summary *s)
{
	struct shown_rows rows = {0};

	if (!s->timeline || !s->timeline->off.rows_count || !s->symbols)
		return;
	if (!collect(&rows, r, s))
		t->failed = true;
	for (uint32_t i = 0; i < rows.count && !t->failed; i++) {
		const struct shown *x = &rows.at[i];
		struct cell *c = table_row(t);

		if (!c)
			break;
		cell_text(t, c++, s->path);
		cell_text(t, c++, s->trace->ops[x->op].name);
		cell_number(c++, x->times);
		cell_number(c++, x->ns);
		cell_number(c++, x->longest_ns);
		cell_text(t, c, x->stack);
	}
	release(&rows);
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
