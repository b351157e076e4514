/* SPDX-License-Identifier: Apache-2.0 */
/* The rewritten text, and the private arrays of counts in it. */
#include "rewrite/emit.h"

#include <stdlib.h>
#include <string.h>

/* With more blocks than that a loop hands them over. */
enum { UNROLLED = 128, HEADER = 8 };

static const char prelude[] =
	"#ifdef cl_khr_int64_base_atomics\n"
	"#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
	"#endif\n"
	"#ifndef KYMO_OWN_SLOTS\n"
	"#define KYMO_OWN_SLOTS kymo_context[3]\n"
	"#endif\n"
	"__attribute__((always_inline)) void kymo_add(volatile __global ulong *to, ulong n)\n"
	"{\n"
	"#ifdef cl_khr_int64_base_atomics\n"
	"\tif (n) atom_add((volatile __global ulong *)to, n);\n"
	"#else\n"
	"\tvolatile __global uint *half_of = (volatile __global uint *)to;\n"
	"\tuint low = (uint)n, before;\n"
	"\tif (!n) return;\n"
	"\tbefore = atomic_add(half_of, low);\n"
	"\tatomic_add(half_of + 1, (uint)(n >> 32) + (before + low < before ? 1u : 0u));\n"
	"#endif\n"
	"}\n"
	"__attribute__((always_inline)) ulong kymo_group(void)\n"
	"{\n"
	"\treturn (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + "
	"get_group_id(0);\n"
	"}\n"
	"__attribute__((always_inline)) size_t kymo_copied(__private ulong *n, size_t count)\n"
	"{\n"
	"\tif (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0) *n += count;\n"
	"\treturn count;\n"
	"}\n";

static const char recording[] =
	"__attribute__((always_inline)) ulong kymo_item(void)\n"
	"{\n"
	"\treturn kymo_group() << 32 | (get_local_id(2) * get_local_size(1) + get_local_id(1)) * "
	"get_local_size(0) + get_local_id(0);\n"
	"}\n"
	"#ifndef KYMO_CLOCK\n"
	"#ifdef cl_khr_kernel_clock\n"
	"#define KYMO_CLOCK clock_read_device()\n"
	"#else\n"
	"#define KYMO_CLOCK 0ul\n"
	"#endif\n"
	"#endif\n"
	"__attribute__((always_inline)) void kymo_put(__private ulong *n, ulong site, ulong "
	"times, ulong address, ulong clock)\n"
	"{\n"
	"\t__global ulong *c = (__global ulong *)n[0];\n"
	"\tulong only = c[7] >> 32;\n"
	"\tif (only && (n[1] >> 32) - (c[7] & 0xfffffffful) >= only) return;\n"
	"#ifdef cl_khr_int64_base_atomics\n"
	"\tulong at = atom_inc((volatile __global ulong *)(c + 5));\n"
	"#else\n"
	"\tulong at = atomic_inc((volatile __global uint *)(c + 5));\n"
	"#endif\n"
	"\tif (at >= c[4]) return;\n"
	"\tc += c[6] + at * 4;\n"
	"\tc[0] = site | (n[1] >> 32) << 32;\n"
	"\tc[1] = (n[1] & 0xfffffffful) | (times - 1) << 32;\n"
	"\tc[2] = address;\n"
	"\tc[3] = clock;\n"
	"}\n"
	"__attribute__((noinline)) void kymo_record(__private ulong *n, ulong site, ulong "
	"times, ulong address)\n"
	"{\n"
	"\tkymo_put(n, site, times, address, 0);\n"
	"}\n"
	"__attribute__((noinline)) void kymo_start(__private ulong *n, ulong site, ulong "
	"times)\n"
	"{\n"
	"\tkymo_put(n, site, times + 1, 0, KYMO_CLOCK);\n"
	"}\n";

/* In front of the counts, where accesses are recorded: the context, and which item this is. */
static uint32_t before_counts(const struct plan *p)
{
	return p->mode ? 2 : 0;
}

/* ---- places in the private arrays ---- */

static void mark_called(const struct plan *p, uint32_t caller, bool *called)
{
	for (uint32_t i = 0; i < p->call_count; i++) {
		uint32_t callee = (uint32_t)p->calls[i];

		if (p->calls[i] >> 32 != caller || called[callee] ||
		    p->tree.functions[callee].kernel)
			continue;
		called[callee] = true;
		mark_called(p, callee, called);
	}
}

/* Blocks of functions have the same place whichever kernel calls; a kernel's own come behind those of what it calls. */
static void helper_places(struct plan *p)
{
	uint32_t n = before_counts(p);

	for (uint32_t i = 0; i < p->block_count; i++)
		if (!p->tree.functions[p->blocks[i].function].kernel)
			p->blocks[i].place = n++;
}

/* A range of blocks whose places follow each other too. */
struct range {
	uint32_t first, count;
};

struct kernel_counts {
	struct range *ranges;
	uint32_t range_count, room, size, blocks;
};

static void add_range(struct kernel_counts *k, const struct plan *p, uint32_t block)
{
	struct range *last = k->range_count ? &k->ranges[k->range_count - 1] : NULL;

	k->blocks++;
	if (last && last->first + last->count == block &&
	    p->blocks[last->first].place + last->count == p->blocks[block].place)
		last->count++;
	else
		k->ranges[k->range_count++] = (struct range){block, 1};
}

static bool kernel_counts(struct plan *p, uint32_t kernel, struct kernel_counts *k)
{
	bool *called = calloc(p->tree.function_count, sizeof(*called));
	uint32_t places = before_counts(p);

	*k = (struct kernel_counts){.ranges = calloc(p->block_count, sizeof(*k->ranges))};
	if (called && k->ranges) {
		mark_called(p, kernel, called);
		for (uint32_t i = 0; i < p->block_count; i++)
			if (called[p->blocks[i].function])
				places = p->blocks[i].place + 1;
		for (uint32_t i = 0; i < p->block_count; i++) {
			if (p->blocks[i].function == kernel)
				p->blocks[i].place = places++;
			if (p->blocks[i].function == kernel || called[p->blocks[i].function])
				add_range(k, p, i);
		}
	}
	k->size = places;
	free(called);
	return k->ranges != NULL;
}

/* ---- inserted text ---- */

/* Adds the counts of a range to the context: each by itself, so that the compiler may keep them in registers, or in a loop. */
static void emit_range(const struct plan *p, const struct range *r, bool own, bool loop,
		       struct text *out)
{
	const char *add = own ? "kymo_c[" : "kymo_add(kymo_c + ", *and = own ? "] += " : ", ";
	const char *index = loop ? " + kymo_i" : "", *end = own ? ";" : ");";
	uint32_t place = p->blocks[r->first].place, n = loop ? 1 : r->count;

	if (loop)
		text_addf(out, " for (uint kymo_i = 0; kymo_i < %u; kymo_i++)", r->count);
	for (uint32_t i = 0; i < n; i++)
		text_addf(out, " %s%u%s%skymo_n[%u%s]%s", add, r->first + i, index, and, place + i,
			  index, end);
}

/*
 * The context is volatile: compilers may run several items at once, as the language says that they do not depend on each other, and would
 * add for one of them.
 */
static void emit_end(const struct plan *p, const struct kernel_counts *k, struct text *out)
{
	text_add(out, "{ ");
	if (p->mode & REWRITE_BLOCK)
		text_addf(out, "kymo_start(kymo_n, %u, 0); ", plan_record_block(p, p->block_count));
	text_addf(out,
		  "volatile __global ulong *kymo_c = kymo_context + %d + (KYMO_OWN_SLOTS ? "
		  "kymo_group() : kymo_group() %% kymo_context[1]) * %uul; if (KYMO_OWN_SLOTS) {",
		  HEADER, p->block_count);
	for (uint32_t i = 0; i < k->range_count; i++)
		emit_range(p, &k->ranges[i], true, k->blocks > UNROLLED, out);
	text_add(out, " } else {");
	for (uint32_t i = 0; i < k->range_count; i++)
		emit_range(p, &k->ranges[i], false, k->blocks > UNROLLED, out);
	text_add(out, " } }");
}

/* "kymo_n[PLACE]", which is counted up behind it if it is no copy's: then its start is recorded. Returns what follows. */
static const char *emit_count(const struct plan *p, const struct edit *e, struct text *out)
{
	const uint32_t place = p->blocks[e->number].place;

	if (!(p->mode & REWRITE_BLOCK) || strncmp(e->after, "++", 2) != 0) {
		text_addf(out, "kymo_n[%u]", place);
		return e->after;
	}
	text_addf(out, "kymo_start(kymo_n, %u, kymo_n[%u]++)", plan_record_block(p, e->number),
		  place);
	return e->after + 2;
}

static void emit_region(const struct plan *p, uint32_t region, struct text *out)
{
	if (p->mode & REWRITE_BLOCK)
		text_addf(out, "kymo_start(kymo_n, %u, kymo_n[%u] - 1)",
			  plan_record_region(p, region), p->blocks[p->regions[region].block].place);
	else
		text_add(out, "(void)0");
}

/* Their values, once. */
static void emit_arguments(const struct plan *p, uint32_t function, struct text *out)
{
	for (uint32_t i = 0; (p->mode & REWRITE_ADDRESS) && i < p->argument_count; i++) {
		const struct argument *a = &p->arguments[i];

		if (a->function == function)
			text_addf(out, " if (!kymo_n[1]) kymo_record(kymo_n, %u, 1, (ulong)%.*s);",
				  plan_record_argument(p, i), (int)a->length,
				  p->tree.text + a->name);
	}
}

static void emit_edit(const struct plan *p, const struct edit *e, const struct kernel_counts *k,
		      struct text *out)
{
	const char *after = e->after;

	if (e->before)
		text_add(out, e->before);
	switch (e->kind) {
	case EDIT_COUNT:
		after = emit_count(p, e, out);
		break;
	case EDIT_REGION:
		emit_region(p, e->number, out);
		break;
	case EDIT_SITE:
		text_addf(out, "kymo_record(kymo_n, %u, kymo_n[%u], %u + ", e->number,
			  p->blocks[p->sites[e->number].block].place, e->offset);
		break;
	case EDIT_ARRAY:
		text_addf(out, " __private ulong kymo_n[%u] = {%s};", k[e->number].size,
			  before_counts(p) ? "(ulong)kymo_context, kymo_item()" : "0");
		emit_arguments(p, e->number, out);
		break;
	case EDIT_COPY:
		text_add_bytes(out, p->tree.text + e->number, e->offset);
		break;
	case EDIT_END:
		emit_end(p, &k[e->number], out);
		break;
	default:
		break;
	}
	if (after)
		text_add(out, after);
}

/* What closes at a place comes before what opens there. */
static int by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->opens != y->opens)
		return x->opens ? 1 : -1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->sequence > y->sequence ? -1 : 1; /* what was found later is around it */
}

static void apply(struct plan *p, const struct kernel_counts *k, struct text *out)
{
	uint32_t at = 0;

	qsort(p->edits, p->edit_count, sizeof(*p->edits), by_place);
	for (uint32_t i = 0; i < p->edit_count; i++) {
		const struct edit *e = &p->edits[i];

		if (e->at > at) {
			text_add_bytes(out, p->tree.text + at, e->at - at);
			at = e->at;
		}
		emit_edit(p, e, k, out);
		if (e->kind == EDIT_BLANK && e->end > at)
			at = e->end;
	}
	text_add_bytes(out, p->tree.text + at, p->tree.length - at);
}

bool emit_source(struct plan *p, struct text *out)
{
	struct kernel_counts *k = calloc(p->tree.function_count + 1, sizeof(*k));
	bool ok = k != NULL;

	helper_places(p);
	for (uint32_t i = 0; ok && i < p->tree.function_count; i++)
		if (p->tree.functions[i].kernel && p->tree.functions[i].node)
			ok = kernel_counts(p, i, &k[i]);
	if (ok) {
		text_add(out, prelude);
		text_add(out, p->mode ? recording : "");
		apply(p, k, out);
	}
	for (uint32_t i = 0; k && i < p->tree.function_count; i++)
		free(k[i].ranges);
	free(k);
	return ok && !out->failed;
}
