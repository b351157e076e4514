/* SPDX-License-Identifier: Apache-2.0 */
/* Where call stacks end: how many reach the first function of their thread, and why others do not. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/heap_use.h"
#include "analysis/summary_parts.h"
#include "base/units.h"
#include "stream/names.h"

#define ENDS (STACK_REPLACED + 1u)

struct ends {
	uint64_t samples[ENDS]; /* by the end of their stacks */
	uint64_t calls[ENDS];   /* distinct stacks of calls */
	uint64_t heap[ENDS];    /* samples of malloc() */
};

static void add_heap(struct ends *e, const struct summary *s, bool *sampled)
{
	const struct heap_use *use = s->timeline ? s->timeline->heap : NULL;

	for (uint32_t i = 0; use && i < use->rows_count; i++) {
		const uint32_t stack = use->rows[i].stack;

		if (!stack || stack >= s->trace->stacks_count)
			continue;
		sampled[stack] = true;
		e->heap[stack_end_named(s->trace->stacks[stack].end)] += use->rows[i].samples;
	}
}

static bool add_trace(struct ends *e, const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_SAMPLE];
	const struct trace *t = s->trace;
	bool *sampled = calloc(t->stacks_count + 1u, sizeof(*sampled));

	if (!sampled)
		return false;
	for (uint32_t i = 0; i < set->count; i++) {
		uint32_t stack = set->rows[i]->key[KEY_SAMPLE_STACK];

		if (!stack || stack >= t->stacks_count)
			continue;
		sampled[stack] = true;
		e->samples[stack_end_named(t->stacks[stack].end)] += set->rows[i]->count;
	}
	add_heap(e, s, sampled);
	for (uint32_t i = 1; i < t->stacks_count; i++)
		e->calls[stack_end_named(t->stacks[i].end)] += !sampled[i];
	free(sampled);
	return true;
}

static uint64_t known(const uint64_t count[ENDS])
{
	uint64_t sum = 0;

	for (unsigned i = STACK_UNKNOWN + 1; i < ENDS; i++)
		sum += count[i];
	return sum;
}

/* Not for times off processors, nor in a program that runs already. */
static bool wall_can_be_had(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (summary_option(&s[i], "KYMO_OFF_CPU") || summary_option(&s[i], "KYMO_ATTACHED"))
			return false;
	return true;
}

static void add_rows(struct table *t, const char *of, const uint64_t count[ENDS], bool wall)
{
	const uint64_t all = known(count), rest = all - count[STACK_OUTERMOST];

	for (unsigned i = STACK_UNKNOWN + 1; i < ENDS; i++) {
		struct cell *c = count[i] ? table_row(t) : NULL;

		if (!c)
			continue;
		cell_text(t, c++, of);
		cell_text(t, c++, name_stack_end(i));
		cell_number(c++, count[i]);
		cell_real(c, 100.0 * (double)count[i] / (double)all);
	}
	if (rest)
		table_note(t, "%s of %s stacks of %s do not reach the start of their thread%s",
			   UNITS_COUNT(rest), UNITS_COUNT(all), of,
			   wall && (count[STACK_CUT] + count[STACK_REPLACED]) * 20 > all
				   ? ": kymo run --sample-clock wall reads them "
				     "where they lie, whole"
				   : "");
}

bool summary_stack_ends(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	const bool wall = wall_can_be_had(s, count);
	struct ends e = {0};
	struct table *t;

	for (unsigned i = 0; i < count; i++)
		if (!add_trace(&e, &s[i]))
			return false;
	t = known(e.samples) || known(e.calls) || known(e.heap)
		    ? report_table(r, "stack_ends", "Where stacks end")
		    : NULL;
	if (!t)
		return true;
	table_column(t, "of", "of", CELL_TEXT);
	table_column(t, "end", "end", CELL_TEXT);
	table_column(t, "stacks", "stacks", CELL_COUNT);
	table_column(t, "percent", "%", CELL_PERCENT);
	add_rows(t, "samples", e.samples, wall);
	add_rows(t, "calls", e.calls, wall);
	add_rows(t, "malloc", e.heap, false);
	return true;
}
