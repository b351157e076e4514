/* SPDX-License-Identifier: Apache-2.0 */
/* The table of memory of malloc(): by the line that allocated it, with how far the estimates may be off. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap_use.h"
#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "base/units.h"
#include "stream/names.h"

/* What a line of a process allocated. */
struct heap_line {
	uint32_t process, site;
	struct heap_use_row sum;
};

struct heap_lines {
	struct heap_line *at;
	uint32_t count;
	struct map places;
};

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Functions that allocate for whoever calls them. */
static bool is_allocator(const struct symbol *y)
{
	return y->function &&
	       (has_prefix(y->function, "operator new") || has_prefix(y->function, "std::") ||
		has_prefix(y->function, "__gnu_cxx::"));
}

/* The innermost frame that is the program's own; 0: no stack is known. */
static uint32_t site_of(const struct summary *s, uint32_t stack)
{
	uint32_t count;
	const uint32_t *sites = symbols_stack(s->symbols, stack, SYMBOLS_CALLER, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!is_allocator(symbols_site(s->symbols, sites[i])))
			return sites[i];
	return count ? sites[0] : 0;
}

static void sum_up(struct heap_use_row *to, const struct heap_use_row *from)
{
	to->samples += from->samples;
	to->bytes += from->bytes;
	to->live += from->live;
	to->at_peak += from->at_peak;
	to->objects += from->objects;
	to->live_objects += from->live_objects;
	to->variance += from->variance;
	to->live_variance += from->live_variance;
}

/* The text of a line, by which those of one function and line are one. */
static bool add_line(struct heap_lines *l, const struct summary *s, const struct heap_use_row *row)
{
	const uint32_t site = site_of(s, row->stack);
	const uint64_t key = ((uint64_t)row->process << 32 | site) + 1;
	uint64_t i = map_get(&l->places, key);

	if (!i) {
		i = ++l->count;
		l->at[i - 1] = (struct heap_line){.process = row->process, .site = site};
		if (!map_set(&l->places, key, i))
			return false;
	}
	sum_up(&l->at[i - 1].sum, row);
	return true;
}

static int most_first(const void *a, const void *b)
{
	const struct heap_line *x = a, *y = b;

	if (x->sum.bytes != y->sum.bytes)
		return x->sum.bytes > y->sum.bytes ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

/* Records of the process that are not here, any of which may be a sample: how far off the estimates are then nobody knows. */
static uint64_t missing(const struct summary *s, uint32_t process)
{
	const struct t_process *p = &s->trace->processes[process];

	return p->lost_records + p->overwritten_records +
	       s->timeline->heap->processes[process].lost;
}

static void add_row(struct table *t, const struct summary *s, const struct heap_line *l)
{
	const uint64_t gone = missing(s, l->process);
	const struct tally key = {.key = {l->process}};
	struct text process = {0};
	struct cell *c = table_row(t);
	char text[600];

	if (!c)
		return;
	label_add(&process, s, TALLY_CALL, &key, BY_PROCESS);
	cell_text(t, c++, s->path);
	cell_text(t, c++, process.s ? process.s : "");
	text_release(&process);
	cell_number(c++, l->sum.bytes);
	if (!gone)
		cell_real(c, 100 * heap_use_error(l->sum.variance, l->sum.bytes));
	c++;
	cell_number(c++, (uint64_t)(l->sum.objects + 0.5));
	cell_number(c++, l->sum.at_peak);
	cell_number(c++, l->sum.live);
	if (!gone)
		cell_real(c, 100 * heap_use_error(l->sum.live_variance, l->sum.live));
	c++;
	cell_number(c++, (uint64_t)(l->sum.live_objects + 0.5));
	cell_number(c++, l->sum.samples);
	cell_number(c++, gone);
	if (l->site)
		cell_text(t, c, symbols_text(s->symbols, l->site, text, sizeof(text)));
}

static void tell_missing(struct table *t, const struct t_process *p, uint64_t count,
			 const char *what)
{
	if (count)
		table_note(t,
			   "%s %u: %s record%s %s: sizes, the peak and what was left may be wrong",
			   name_program(p), p->pid, UNITS_COUNT(count),
			   count == 1 ? " was" : "s were", what);
}

static void tell_process(struct table *t, const struct summary *s, uint32_t process)
{
	const struct heap_use_process *p = &s->timeline->heap->processes[process];
	const struct t_process *of = &s->trace->processes[process];
	const int64_t since = p->peak_time - s->trace->origin;
	char peak[UNITS_TEXT], time[UNITS_TEXT], left[UNITS_TEXT];

	if (p->peak)
		table_note(t, "%s %u: peak %s at %s, %s were left at the end", name_program(of),
			   of->pid, units_bytes((double)p->peak, peak),
			   units_time(since > 0 ? (uint64_t)since : 0, time),
			   units_bytes((double)p->live, left));
	if (p->lost)
		table_note(t,
			   "%s %u: %s samples were lost, as more came than were recorded: take "
			   "--heap-interval larger",
			   name_program(of), of->pid, UNITS_COUNT(p->lost));
	tell_missing(t, of, of->lost_records, "lost");
	tell_missing(t, of, of->overwritten_records, "overwritten");
}

static bool add_rows(struct table *t, const struct summary *s)
{
	const struct heap_use *use = s->timeline ? s->timeline->heap : NULL;
	struct heap_lines lines = {0};
	bool ok = true;

	if (!use || !use->rows_count || !s->symbols)
		return true;
	lines.at = calloc(use->rows_count, sizeof(*lines.at));
	for (uint32_t i = 0; lines.at && ok && i < use->rows_count; i++)
		ok = add_line(&lines, s, &use->rows[i]);
	ok = ok && lines.at && !use->failed;
	if (ok)
		qsort(lines.at, lines.count, sizeof(*lines.at), most_first);
	for (uint32_t i = 0; ok && i < lines.count; i++)
		add_row(t, s, &lines.at[i]);
	for (uint32_t i = 0; ok && i < s->trace->processes_count; i++)
		tell_process(t, s, i);
	free(lines.at);
	map_release(&lines.places);
	return ok;
}

/* Several processes allocated. */
static bool has_processes(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct heap_use *use = s[i].timeline ? s[i].timeline->heap : NULL;

		for (uint32_t k = 1; use && k < use->rows_count; k++)
			if (use->rows[k].process != use->rows[0].process)
				return true;
	}
	return false;
}

bool summary_heap(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t = by == BY_OP ? report_table(r, "heap", "Memory of malloc()") : NULL;
	bool ok = t != NULL;

	if (by != BY_OP)
		return true;
	if (!ok)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column_if(t, has_processes(s, count), "process", "process", CELL_TEXT);
	table_column(t, "bytes", "allocated", CELL_BYTES);
	table_column(t, "error", "± %", CELL_PERCENT);
	table_column(t, "allocations", "allocations", CELL_COUNT);
	table_column(t, "peak_bytes", "at peak", CELL_BYTES);
	table_column(t, "left_bytes", "left", CELL_BYTES);
	table_column(t, "left_error", "± %", CELL_PERCENT);
	table_column_optional(t, 1, "left_allocations", "left", CELL_COUNT);
	table_column_optional(t, 2, "samples", "samples", CELL_COUNT);
	table_column_if(t, false, "missing_records", "missing",
			CELL_COUNT); /* people have a note */
	table_column(t, "site", "site", CELL_TEXT);
	for (unsigned i = 0; ok && i < count; i++)
		ok = add_rows(t, &s[i]);
	report_drop_empty(r);
	return ok;
}
