/* SPDX-License-Identifier: Apache-2.0 */
/* The table of objects that were there at the end of their process: of which kind, how many, and which line made them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/objects.h"
#include "analysis/summary_parts.h"
#include "base/hash.h"

/* A line of the source: of a loop that was unrolled there are several calls in it. */
struct source_line {
	struct object_line sum;
	char *site;
};

struct source_lines {
	struct source_line *list;
	uint32_t count;
	struct map places; /* by hash: number from 1 */
};

static bool is_same(const struct source_line *x, const struct object_line *l, const char *site)
{
	return x->sum.process == l->process && x->sum.kind == l->kind && x->sum.op == l->op &&
	       strcmp(x->site, site) == 0;
}

/* False: no memory. */
static bool add_line(struct source_lines *all, const struct object_line *l, const char *site)
{
	const uint32_t key[] = {l->process, l->kind, l->op};
	uint64_t i, hash = hash_add(hash_string(site), key, sizeof(key));

	map_each(&all->places, hash, i) {
		struct object_line *sum = &all->list[i - 1].sum;

		if (!is_same(&all->list[i - 1], l, site))
			continue;
		sum->made += l->made;
		sum->alive += l->alive;
		sum->most += l->most;
		sum->first = l->first < sum->first ? l->first : sum->first;
		return true;
	}
	all->list[all->count] = (struct source_line){*l, strdup(site)};
	return all->list[all->count].site && map_add(&all->places, hash, ++all->count);
}

static int most_alive(const void *a, const void *b)
{
	const struct object_line *x = &((const struct source_line *)a)->sum,
				 *y = &((const struct source_line *)b)->sum;

	if (x->alive != y->alive)
		return x->alive > y->alive ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static bool collect(struct source_lines *all, const struct summary *s, const struct objects *o)
{
	char text[600];
	bool ok = true;

	all->list = calloc(o->lines_count + 1u, sizeof(*all->list));
	for (uint32_t i = 0; ok && all->list && i < o->lines_count; i++) {
		const struct object_line *l = &o->lines[i];

		ok = add_line(all, l,
			      l->site && s->symbols
				      ? symbols_text(s->symbols, l->site, text, sizeof(text))
				      : "(not known)");
	}
	if (all->list && all->count)
		qsort(all->list, all->count, sizeof(*all->list), most_alive);
	return ok && all->list;
}

static void release(struct source_lines *all)
{
	for (uint32_t i = 0; all->list && i <= all->count; i++)
		free(all->list[i].site);
	free(all->list);
	map_release(&all->places);
}

static void add_columns(struct table *t, unsigned traces, bool processes)
{
	table_column_if(t, traces > 1, "trace", "trace", CELL_TEXT);
	table_column_if(t, processes, "process", "process", CELL_TEXT);
	table_column(t, "kind", "kind", CELL_TEXT);
	table_column(t, "alive", "at end", CELL_COUNT);
	table_column(t, "created", "created", CELL_COUNT);
	table_column(t, "released", "released", CELL_COUNT);
	table_column_optional(t, 1, "first_ns", "first at", CELL_TIMESTAMP);
	table_column(t, "function", "by", CELL_TEXT);
	table_column(t, "site", "site", CELL_TEXT);
}

static void add_row(struct table *t, const struct summary *s, const struct source_line *x)
{
	const struct object_line *l = &x->sum;
	const struct trace *trace = s->trace;
	const struct tally key = {.key = {l->process}};
	int64_t first = l->first - trace->origin;
	struct cell *c = table_row(t);
	struct text process = {0};

	if (!c)
		return;
	label_add(&process, s, TALLY_CALL, &key, BY_PROCESS);
	cell_text(t, c++, s->path);
	cell_text(t, c++, process.s ? process.s : "");
	cell_text(t, c++, objects_kind_name(l->kind));
	cell_number(c++, l->alive);
	if (l->op != UINT32_MAX) {
		cell_number(c, l->made);
		cell_number(c + 1, l->made > l->most ? l->made - l->most : 0);
	}
	c += 2;
	cell_number(c++, first > 0 ? (uint64_t)first : 0);
	cell_text(t, c++, l->op != UINT32_MAX ? trace->ops[l->op].name : "");
	cell_text(t, c, x->site);
	text_release(&process);
}

static bool several_processes(const struct summary *s, unsigned count)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct objects *o = s[i].timeline ? s[i].timeline->objects : NULL;

		for (uint32_t k = 0; o && k < o->alive_count; k++) {
			if (first && o->order[k]->process != first)
				return true;
			first = o->order[k]->process;
		}
	}
	return count > 1;
}

/* Why it may be otherwise. */
static void tell_doubt(struct table *t, const struct summary *s, const struct objects *o)
{
	bool counted = false;

	for (uint32_t i = 0; i < o->alive_count; i++)
		counted |= o->order[i]->most > o->order[i]->alive || o->order[i]->op == UINT32_MAX;
	if (counted)
		table_note(t, "of objects whose releases this mode only counts at least so many "
			      "are there (--mode full tells exactly)");
	if (s->timeline->chosen)
		table_note(t, "a part was recorded: what releases them may have been left out");
	if (o->cut || o->failed)
		table_note(t, "there are more than could be kept");
}

static bool add_trace(struct table *t, const struct summary *s)
{
	const struct objects *o = s->timeline ? s->timeline->objects : NULL;
	struct source_lines all = {0};
	bool ok;

	/* What was made before, or is released by a part that is not selected, is not known. */
	if (!o || !o->alive_count || s->in_part || s->timeline->counted)
		return true;
	ok = collect(&all, s, o);
	for (uint32_t i = 0; ok && i < all.count; i++)
		if (all.list[i].sum.alive)
			add_row(t, s, &all.list[i]);
	tell_doubt(t, s, o);
	release(&all);
	return ok;
}

bool summary_objects(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t;
	bool ok = true;

	if (by != BY_OP)
		return true;
	t = report_table(r, "objects", "Objects that were there at the end");
	if (!t)
		return false;
	t->ranked = count == 1;
	add_columns(t, count, several_processes(s, count));
	for (unsigned i = 0; ok && i < count; i++)
		ok = add_trace(t, &s[i]);
	if (t->row_count)
		summary_tell_unfreed(t, s, count);
	report_drop_empty(r);
	return ok;
}
