/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds of programs and loads of modules, by program. A program is known by its kernels; one that was never
 * built has none.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "base/hash.h"
#include "base/map.h"
#include "stream/demangle.h"
#include "stream/trace.h"

enum { KERNELS = 3, LOG_LINES = 8, LOGS = 3 };

struct program {
	const struct summary *s;
	uint32_t program;
	const struct tl_build *last_failed;
	uint64_t builds, failed, ns, longest;
};

struct programs {
	struct program *list;
	uint32_t count;
};

/* Of several devices one call builds for, the one that failed first in front. */
static int by_program(const void *a, const void *b)
{
	const struct tl_build *x = *(const struct tl_build *const *)a,
			      *y = *(const struct tl_build *const *)b;

	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)y->failed - (int)x->failed;
}

static int by_time(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->program > y->program) - (x->program < y->program);
}

static bool same_call(const struct tl_build *x, const struct tl_build *y)
{
	return x->program == y->program && x->thread == y->thread && x->start == y->start &&
	       x->end == y->end;
}

static void add_build(struct programs *all, const struct summary *s, const struct tl_build *b)
{
	struct program *p = all->count ? &all->list[all->count - 1] : NULL;
	uint64_t ns = b->end > b->start ? (uint64_t)(b->end - b->start) : 0;

	if (!p || p->s != s || p->program != b->program) {
		p = &all->list[all->count++];
		*p = (struct program){.s = s, .program = b->program};
	}
	p->builds++;
	p->failed += b->failed;
	p->ns += ns;
	p->longest = ns > p->longest ? ns : p->longest;
	if (b->failed)
		p->last_failed = b;
}

/* False: no memory. */
static bool collect(struct programs *all, const struct summary *s)
{
	const struct timeline *tl = s->timeline;
	const struct tl_build **order;

	if (!tl || !tl->builds_count)
		return true;
	order = calloc(tl->builds_count, sizeof(const struct tl_build *));
	if (!order)
		return false;
	for (uint32_t i = 0; i < tl->builds_count; i++)
		order[i] = &tl->builds[i];
	qsort(order, tl->builds_count, sizeof(const struct tl_build *), by_program);
	for (uint32_t i = 0; i < tl->builds_count; i++)
		if (!i || !same_call(order[i - 1], order[i]))
			add_build(all, s, order[i]);
	free(order);
	return true;
}

/* "advance, border, measure, ... (5 kernels)" of each program; kernels that were created several times are named once. */
static bool name_programs(const struct trace *t, struct text *names)
{
	uint32_t *counts = calloc(t->programs_count + 1u, sizeof(*counts));
	struct map seen = {0};
	bool ok = counts != NULL;

	for (uint32_t i = 1; ok && i < t->kernels_count; i++) {
		uint32_t p = t->kernels[i].program;
		uint64_t key = hash_mix(hash_string(t->kernels[i].name), p);

		if (!p || p >= t->programs_count || map_get(&seen, key))
			continue;
		ok = map_set(&seen, key, 1);
		if (counts[p]++ < KERNELS) {
			struct text name = {0};

			name_shorten(&name, t->kernels[i].name);
			text_addf(&names[p], "%s%.60s", names[p].length ? ", " : "",
				  name.s ? name.s : "");
			text_release(&name);
		}
	}
	for (uint32_t p = 1; ok && p < t->programs_count; p++)
		if (counts[p] > KERNELS)
			text_addf(&names[p], ", ... (%u kernels)", counts[p]);
	map_release(&seen);
	free(counts);
	return ok;
}

static const char *name_of(const struct program *p)
{
	const struct trace *t = p->s->trace;

	return p->program < t->programs_count ? t->programs[p->program].name : "";
}

static const struct t_blob *log_of(const struct program *p)
{
	const struct trace *t = p->s->trace;
	uint32_t log = p->last_failed ? p->last_failed->log : 0;

	return log && log < t->blobs_count ? &t->blobs[log] : NULL;
}

/* Compilers at run time are told a name. */
static bool has_names(const struct summary *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		for (uint32_t p = 1; p < s[i].trace->programs_count; p++)
			if (*s[i].trace->programs[p].name)
				return true;
	return false;
}

static void add_columns(struct table *t, unsigned traces, bool named)
{
	table_column_if(t, traces > 1, "trace", "trace", CELL_TEXT);
	table_column(t, "program", "program", CELL_COUNT);
	table_column_if(t, named, "name", "name", CELL_TEXT);
	table_column(t, "kernels", "kernels", CELL_TEXT);
	table_column(t, "domain", "of", CELL_TEXT);
	table_column(t, "time_ns", "time", CELL_TIME);
	table_column(t, "builds", "builds", CELL_COUNT);
	table_column(t, "failed", "failed", CELL_COUNT);
	table_column(t, "max_ns", "longest", CELL_TIME);
	table_column_if(t, false, "status", "status", CELL_NUMBER);
	table_column_if(t, false, "log", "log", CELL_TEXT);
}

static void add_row(struct table *t, const struct program *p, const struct text *names)
{
	const struct trace *trace = p->s->trace;
	bool known = p->program && p->program < trace->programs_count;
	const struct t_blob *log = log_of(p);
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, p->s->path);
	cell_number(c++, p->program);
	cell_text(t, c++, name_of(p));
	cell_text(t, c++, known && names[p->program].s ? names[p->program].s : "");
	cell_text(t, c++, known ? trace->programs[p->program].domain : "");
	cell_number(c++, p->ns);
	cell_number(c++, p->builds);
	cell_number(c++, p->failed);
	cell_number(c++, p->longest);
	if (p->last_failed)
		cell_real(c, p->last_failed->status);
	if (log)
		cell_text(t, c + 1, log->data);
}

/* The first lines of what the compiler said. */
static void tell_log(struct table *t, const struct program *p)
{
	const struct t_blob *log = log_of(p);
	const char *line = log ? log->data : "", *name = name_of(p);
	unsigned n = 0;

	table_note(t, "program %u%s%.100s%s failed to build (%d)%s", p->program, *name ? " (" : "",
		   name, *name ? ")" : "", p->last_failed->status,
		   *line ? "; its log:" : ", and there is no log");
	for (; *line && n < LOG_LINES; line += strspn(line, "\r\n")) {
		size_t length = strcspn(line, "\r\n");

		if (length && ++n)
			table_note(t, "  %.*s", length > 200 ? 200 : (int)length, line);
		line += length;
	}
	if (*line)
		table_note(t, "  ... (all of it: --format json)");
}

static void add_rows(struct table *t, const struct programs *all, const struct text *names)
{
	unsigned told = 0;

	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_time);
	for (uint32_t i = 0; i < all->count; i++)
		add_row(t, &all->list[i], names);
	for (uint32_t i = 0; i < all->count; i++)
		if (all->list[i].last_failed && told++ < LOGS)
			tell_log(t, &all->list[i]);
}

static bool add_trace(struct table *t, const struct summary *s)
{
	uint32_t room = s->timeline ? s->timeline->builds_count : 0;
	uint32_t programs = s->trace->programs_count;
	struct programs all = {.list = calloc(room + 1u, sizeof(*all.list))};
	struct text *names = calloc(programs + 1u, sizeof(*names));
	bool ok = all.list && names && collect(&all, s) && name_programs(s->trace, names);

	if (ok)
		add_rows(t, &all, names);
	for (uint32_t i = 0; names && i < programs; i++)
		text_release(&names[i]);
	free(names);
	free(all.list);
	return ok;
}

bool summary_builds(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t;
	bool ok = true;

	if (by != BY_OP)
		return true;
	t = report_table(r, "builds", "Builds by program");
	if (!t)
		return false;
	t->ranked = count == 1;
	add_columns(t, count, has_names(s, count));
	for (unsigned i = 0; ok && i < count; i++)
		ok = add_trace(t, &s[i]);
	report_drop_empty(r);
	return ok;
}
