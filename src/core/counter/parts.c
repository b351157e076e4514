/* SPDX-License-Identifier: Apache-2.0 */
/* See parts.h. */
#include "core/counter/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it counted ---- */

/* Of "global": the first of its counters; -1: it has none. */
static int space_total(const char *space)
{
	static const struct {
		const char *name;
		int first;
	} spaces[] = {{"global", CAP_LINE_GLOBAL_LOADS},   {"constant", CAP_LINE_CONSTANT_LOADS},
		      {"local", CAP_LINE_LOCAL_LOADS},     {"private", CAP_LINE_PRIVATE_LOADS},
		      {"generic", CAP_LINE_GENERIC_LOADS}, {"image", CAP_LINE_IMAGE_LOADS}};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (strcmp(spaces[i].name, space) == 0)
			return spaces[i].first;
	return -1;
}

static int work_total(const char *what)
{
	static const struct {
		const char *name;
		int total;
	} works[] = {{"flop_half", CAP_LINE_FLOP_HALF},
		     {"flop_single", CAP_LINE_FLOP_SINGLE},
		     {"flop_double", CAP_LINE_FLOP_DOUBLE},
		     {"int", CAP_LINE_INT},
		     {"int8", CAP_LINE_INT},
		     {"int16", CAP_LINE_INT},
		     {"int32", CAP_LINE_INT},
		     {"int64", CAP_LINE_INT},
		     {"branch", CAP_LINE_BRANCH},
		     {"barrier", CAP_LINE_BARRIER}};

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, what) == 0)
			return works[i].total;
	return -1;
}

/* Of an access: loads, bytes that they load, stores ... follow each other. */
static void add_access(double *totals, const struct cap_rewritten_part *p, double times)
{
	static const struct {
		const char *name;
		bool at[3]; /* loads, stores, atomics */
	} kinds[] = {{"load", {true, false, false}},
		     {"store", {false, true, false}},
		     {"rw", {true, true, false}},
		     {"atomic", {false, false, true}}};
	int first = space_total(p->space);

	for (size_t k = 0; first >= 0 && k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (int i = 0; i < 3 && strcmp(kinds[k].name, p->what) == 0; i++) {
			totals[first + 2 * i] += kinds[k].at[i] ? times : 0;
			totals[first + 2 * i + 1] += kinds[k].at[i] ? times * (double)p->bytes : 0;
		}
}

static void add_part(double *totals, const struct cap_rewritten_part *p, uint64_t executed)
{
	double times = (double)executed * (double)p->times;
	int work = work_total(p->what);

	if (*p->space)
		add_access(totals, p, times);
	else if (work >= 0)
		totals[work] += times;
}

/* ---- definitions ---- */

static uint32_t define(const struct cap_rewritten_part *p, uint32_t program, uint32_t block)
{
	const struct cap_place place = {.program = program,
					.function = p->name,
					.what = block ? p->what : "block",
					.kind = block ? p->space : p->what,
					.file = p->file,
					.block = block,
					.line = p->line,
					.column = p->column,
					.times = block ? p->times : 1,
					.bytes = p->bytes};

	return cap_place_define(&place);
}

/* Of the blocks from `i` on that are of one function, the one behind the last. */
static uint32_t function_end(const struct cap_rewritten_list *blocks, uint32_t i)
{
	const char *name = blocks->at[i].name;

	while (i < blocks->count && strcmp(blocks->at[i].name, name) == 0)
		i++;
	return i;
}

static bool any_of(const uint64_t *counts, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (counts[i])
			return true;
	return false;
}

/* What the blocks from `from` to `to` do. */
static void define_parts(struct cap_parts *t, uint32_t from, uint32_t to, uint32_t program)
{
	for (uint32_t i = 0; i < t->rewritten.parts.count; i++) {
		const struct cap_rewritten_part *p = &t->rewritten.parts.at[i];

		if (p->block >= from && p->block < to)
			t->parts[i] = define(p, program, t->blocks[p->block]);
	}
}

/*
 * Ids of the blocks of functions that ran, others are 0. They are defined when their function has run for the first time; the
 * gate lets one launch through at a time.
 */
static void find_places(struct cap_parts *t, const uint64_t *counts, uint32_t program,
			uint32_t *ids)
{
	const struct cap_rewritten *r = &t->rewritten;
	uint32_t end;

	for (uint32_t i = 0; i < r->blocks.count; i = end) {
		end = function_end(&r->blocks, i);
		if (!any_of(counts, i, end))
			continue;
		for (uint32_t b = i; !t->blocks[i] && b < end; b++)
			ids[b] = define(&r->blocks.at[b], program, 0);
		if (!t->blocks[i]) {
			memcpy(t->blocks + i, ids + i, (end - i) * sizeof(*ids));
			define_parts(t, i, end, program);
		}
		memcpy(ids + i, t->blocks + i, (end - i) * sizeof(*ids));
	}
}

void cap_parts_write(struct cap_parts *t, struct cap_line_counts *out, const uint64_t *sums,
		     uint32_t program)
{
	uint32_t *ids = calloc(t->rewritten.blocks.count + 1u, sizeof(*ids));

	if (!ids)
		return;
	find_places(t, sums, program, ids);
	for (uint32_t i = 0; i < t->rewritten.parts.count; i++)
		add_part(out->totals, &t->rewritten.parts.at[i],
			 sums[t->rewritten.parts.at[i].block]);
	t->copies = false;
	for (uint32_t b = 0; b < t->rewritten.blocks.count; b++)
		t->copies |= sums[b] && strcmp(t->rewritten.blocks.at[b].what, "copy") == 0;
	if (!t->branches)
		out->totals[CAP_LINE_BRANCH] = __builtin_nan(""); /* it is not known */
	for (int i = CAP_LINE_DEVICE_FIRST; i < CAP_LINE_TOTAL_COUNT; i++)
		out->totals[i] = __builtin_nan("");
	out->blocks = ids;
	out->counts = sums;
	out->count = t->rewritten.blocks.count;
	cap_lines_write(out);
	free(ids);
}

/* ---- sites ---- */

static uint32_t number_of(const char *const *names, const char *name)
{
	for (uint32_t i = 1; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

static uint32_t space_of(const char *space)
{
	static const char *const names[] = {[KYMO_SPACE_OTHER] = "",
					    [KYMO_SPACE_GLOBAL] = "global",
					    [KYMO_SPACE_CONSTANT] = "constant",
					    [KYMO_SPACE_LOCAL] = "local",
					    [KYMO_SPACE_PRIVATE] = "private",
					    [KYMO_SPACE_GENERIC] = "generic",
					    [KYMO_SPACE_IMAGE] = "image",
					    NULL};

	return number_of(names, space);
}

static uint32_t kind_of(const char *what)
{
	static const char *const names[] = {
		[KYMO_SITE_NONE] = "",         [KYMO_SITE_LOAD] = "load",
		[KYMO_SITE_STORE] = "store",   [KYMO_SITE_LOAD_STORE] = "rw",
		[KYMO_SITE_ATOMIC] = "atomic", NULL};

	return number_of(names, what);
}

static kymo_handler_site_t site_of(const struct cap_rewritten_part *p, uint32_t place)
{
	return (kymo_handler_site_t){.place = place,
				     .kind = kind_of(p->what),
				     .space = space_of(p->space),
				     .bytes = (uint32_t)p->bytes,
				     .block = UINT32_MAX,
				     .line = p->line,
				     .column = p->column,
				     .function = p->name,
				     .what = p->what,
				     .file = p->file};
}

static void add_accesses(const struct cap_parts *t, struct cap_sites *out)
{
	const struct cap_rewritten_list *parts = &t->rewritten.parts;

	for (uint32_t i = 0; i < parts->count; i++) {
		const struct cap_rewritten_part *p = &parts->at[i];

		if (!p->site || p->site > out->accesses)
			continue;
		out->at[p->site - 1] = site_of(p, t->parts[i]);
		out->at[p->site - 1].block = out->accesses + p->block;
	}
}

static void add_blocks(const struct cap_parts *t, struct cap_sites *out)
{
	const struct cap_rewritten_list *blocks = &t->rewritten.blocks;

	for (uint32_t i = 0; i < blocks->count; i++) {
		kymo_handler_site_t *s = &out->at[out->accesses + i];

		*s = site_of(&blocks->at[i], t->blocks[i]);
		s->kind = KYMO_SITE_BLOCK;
	}
	out->at[out->accesses + blocks->count] = (kymo_handler_site_t){.kind = KYMO_SITE_END,
								       .block = UINT32_MAX,
								       .function = "",
								       .what = "end",
								       .file = ""};
}

static void add_regions(const struct cap_parts *t, struct cap_sites *out)
{
	const struct cap_rewritten_list *parts = &t->rewritten.parts;

	for (uint32_t i = 0; i < parts->count; i++) {
		const struct cap_rewritten_part *p = &parts->at[i];
		kymo_handler_site_t *s = &out->at[p->record];

		if (!p->record || p->record >= out->count)
			continue;
		*s = site_of(p, t->parts[i]);
		s->kind = strcmp(p->what, "begin") == 0 ? KYMO_SITE_REGION_BEGIN
							: KYMO_SITE_REGION_END;
		s->what = p->space; /* its name */
		s->block = out->accesses + p->block;
	}
}

bool cap_parts_sites(const struct cap_parts *t, struct cap_sites *out)
{
	const struct cap_rewritten_list *parts = &t->rewritten.parts;
	uint32_t regions = 0;

	*out = (struct cap_sites){.at = NULL};
	for (uint32_t i = 0; i < parts->count; i++) {
		out->accesses =
			parts->at[i].site > out->accesses ? parts->at[i].site : out->accesses;
		regions += parts->at[i].record != 0;
	}
	out->blocks = t->rewritten.blocks.count;
	out->count = out->accesses + out->blocks + 1 + regions;
	out->at = calloc(out->count, sizeof(*out->at));
	if (!out->at)
		return false;
	for (uint32_t i = 0; i < out->count; i++)
		out->at[i].function = out->at[i].what = out->at[i].file = "";
	add_accesses(t, out);
	add_blocks(t, out);
	add_regions(t, out);
	return true;
}

/* ---- making ---- */

bool cap_parts_make(struct cap_parts *t)
{
	t->blocks = calloc(t->rewritten.blocks.count + 1u, sizeof(*t->blocks));
	t->parts = calloc(t->rewritten.parts.count + 1u, sizeof(*t->parts));
	for (uint32_t i = 0; i < t->rewritten.parts.count; i++)
		t->branches |= strcmp(t->rewritten.parts.at[i].what, "branch") == 0;
	return t->blocks && t->parts;
}

void cap_parts_release(struct cap_parts *t)
{
	cap_rewritten_release(&t->rewritten);
	free(t->blocks);
	free(t->parts);
	t->blocks = t->parts = NULL;
}
