/* SPDX-License-Identifier: Apache-2.0 */
/* See rewrite.h: from the source to the result. */
#include "rewrite/rewrite.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rewrite/emit.h"
#include "rewrite/lines.h"
#include "rewrite/plan.h"
#include "rewrite/preprocess.h"

#define WORK_TEXT(name) #name,
static const char *const work_names[] = {WORK_CLASSES(WORK_TEXT)};
static const char *const access_names[] = {"load", "store", "rw", "atomic"};
static const char *const space_names[] = {"private",  "global",  "local",
					  "constant", "generic", "image"};

/* As one word of a line. */
static void add_escaped(struct text *out, const char *s)
{
	for (; *s; s++) {
		if (isgraph((unsigned char)*s) && *s != '%')
			text_add_bytes(out, s, 1);
		else
			text_addf(out, "%%%02X", (unsigned)(unsigned char)*s);
	}
}

static void add_place(struct text *out, const struct lines *l, uint32_t at)
{
	struct line_place p = lines_place(l, at);

	text_addf(out, " %u %u ", p.line, p.column);
	add_escaped(out, p.file);
	text_add(out, "\n");
}

/* ---- the parts of the result ---- */

static void add_refused(struct text *out, const char *name, const char *why)
{
	text_addf(out, "refused %s ", name);
	add_escaped(out, why);
	text_add(out, "\n");
}

static void add_kernels(struct text *out, const struct plan *p, const regex_t *chosen)
{
	for (uint32_t i = 0; i < p->tree.function_count; i++) {
		const struct function *f = &p->tree.functions[i];

		if (!f->kernel || !f->node)
			continue;
		if (chosen && regexec(chosen, f->name, 0, NULL, 0) != 0)
			continue;
		text_add(out, "kernel ");
		add_escaped(out, f->name);
		text_add(out, "\n");
	}
}

static void add_blocks(struct text *out, const struct plan *p, const struct lines *l)
{
	for (uint32_t i = 0; i < p->block_count; i++) {
		text_addf(out, "block %u ", i);
		add_escaped(out, p->tree.functions[p->blocks[i].function].name);
		text_addf(out, " %s", p->blocks[i].kind);
		add_place(out, l, p->blocks[i].at);
	}
}

static void add_sites(struct text *out, const struct plan *p, const struct lines *l)
{
	for (uint32_t i = 0; i < p->site_count; i++) {
		const struct site *s = &p->sites[i];

		text_addf(out, "site %u %u %s %s %u 1", i, s->block, access_names[s->access],
			  space_names[s->space], s->bytes);
		add_place(out, l, s->at);
	}
}

/* A literal's text, without its quotes, those of a text within it, and what escapes them. */
static void add_literal(struct text *out, const char *s, const char *end)
{
	struct text name = {0};

	for (; s < end; s++)
		if (*s != '"' && *s != '\\')
			text_add_bytes(&name, s, 1);
	add_escaped(out, name.s ? name.s : "");
	text_release(&name);
}

static void add_regions(struct text *out, const struct plan *p, const struct lines *l)
{
	for (uint32_t i = 0; i < p->region_count; i++) {
		const struct region *r = &p->regions[i];

		text_addf(out, "region %u %u %s ", plan_record_region(p, i), r->block,
			  r->begin ? "begin" : "end");
		add_literal(out, p->tree.text + r->text, p->tree.text + r->end);
		add_place(out, l, r->at);
	}
}

static void add_arguments(struct text *out, const struct plan *p)
{
	for (uint32_t i = 0; (p->mode & REWRITE_ADDRESS) && i < p->argument_count; i++) {
		const struct argument *a = &p->arguments[i];

		text_addf(out, "argument %u ", plan_record_argument(p, i));
		add_escaped(out, p->tree.functions[a->function].name);
		text_addf(out, " %u %.*s\n", a->number, (int)a->length, p->tree.text + a->name);
	}
}

/* Of the same block and class, in the order of places: places of a line follow each other. */
static int by_work(const void *a, const void *b)
{
	const struct operation *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* One line for each line of the program. */
static void add_work(struct text *out, struct plan *p, const struct lines *l)
{
	struct operation *o = p->operations;
	uint32_t n = 0;

	if (o)
		qsort(o, p->operation_count, sizeof(*o), by_work);
	for (uint32_t i = 0; i < p->operation_count; i++) {
		struct line_place now = lines_place(l, o[i].at), next = {0};
		bool more = i + 1 < p->operation_count && o[i + 1].block == o[i].block &&
			    o[i + 1].class == o[i].class;

		if (more)
			next = lines_place(l, o[i + 1].at);
		n += o[i].count;
		if (more && next.line == now.line && next.file == now.file)
			continue;
		text_addf(out, "work %u %s %u", o[i].block, work_names[o[i].class], n);
		add_place(out, l, o[i].at);
		n = 0;
	}
}

static void add_refusal(struct text *out, const struct tree *t, const struct lines *l)
{
	struct line_place p = lines_place(l, t->why_at);
	struct text why = {0};

	text_addf(&why, "%s%sline %u: %s", p.file, *p.file ? " " : "", p.line, t->why);
	add_refused(out, "*", why.s ? why.s : t->why);
	text_release(&why);
}

static bool add_result(struct text *out, struct plan *p, const struct lines *l,
		       const regex_t *chosen, const struct text *options)
{
	struct text source = {0};
	bool ok = emit_source(p, &source);

	add_kernels(out, p, chosen);
	add_blocks(out, p, l);
	add_sites(out, p, l);
	add_regions(out, p, l);
	add_arguments(out, p);
	add_work(out, p, l);
	if (options->length)
		text_addf(out, "options %s\n", options->s);
	text_addf(out, "source %zu\n", source.length);
	text_add_bytes(out, source.s ? source.s : "", source.length);
	text_release(&source);
	return ok && !out->failed;
}

/* ---- all of it ---- */

/* What libclang need not be asked about, and (pipes) must not: it crashes. */
static bool foreign(struct tree *t, const struct words *both)
{
	for (uint32_t i = 0; i < both->count; i++)
		if (strncasecmp(both->items[i], "-cl-std=clc++", 13) == 0)
			tree_refuse(t, 0, "it is C++ for OpenCL");
	if (!memmem(t->text, t->length, "_pipe", 5))
		return t->why[0];
	for (uint32_t at = tree_skip(t, 0); at < t->length; at++)
		if (t->text[at] == 'p' && tree_word(t, at, "pipe") && at &&
		    isspace((unsigned char)t->text[at - 1]))
			tree_refuse(t, at, "pipes");
	return t->why[0];
}

/* What is inserted has names of its own, and would be about the program's where it has the same. */
static bool clashes(struct tree *t)
{
	static const char *const ours[] = {
		"kymo_add",       "kymo_c",     "kymo_context", "kymo_copied",  "kymo_d",
		"kymo_end",       "kymo_group", "kymo_i",       "kymo_item",    "kymo_n",
		"kymo_o",         "kymo_p",     "kymo_put",     "kymo_record",  "kymo_start",
		"kymo_t",         "KYMO_CLOCK", "KYMO_GROUP_X", "KYMO_GROUP_Y", "KYMO_GROUP_Z",
		"KYMO_OWN_SLOTS", "KYMO_SIZED"};
	uint32_t next = 0, at;

	while ((at = tree_next_word(t, &next)) < t->length)
		for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			if (tree_word(t, at, ours[i]))
				tree_refuse(t, at, "%s is a name that the rewritten program has",
					    ours[i]);
	return t->why[0];
}

static bool parse(struct plan *p, const struct clang *c, const struct words *both)
{
	return !foreign(&p->tree, both) && !clashes(&p->tree) &&
	       tree_build(&p->tree, c, (const char *const *)both->items, (int)both->count);
}

static bool rewrite_text(const struct rewrite_request *q, const struct clang *c,
			 const struct words *both, const struct text *options,
			 const struct text *plain, const regex_t *chosen, struct text *out)
{
	struct plan p = {.mode = q->mode};
	struct lines lines;
	bool ok = lines_read(&lines, plain->s, (uint32_t)plain->length);

	p.tree.text = plain->s;
	p.tree.length = (uint32_t)plain->length;
	if (ok && parse(&p, c, both))
		rewrite_plan(&p);
	if (p.tree.why[0])
		add_refusal(out, &p.tree, &lines);
	else
		ok = ok && add_result(out, &p, &lines, chosen, options);
	plan_release(&p);
	lines_release(&lines);
	return ok && !out->failed;
}

static bool rewrite_with(const struct rewrite_request *q, const struct clang *c,
			 const regex_t *chosen, struct text *out, char why[REWRITE_WHY])
{
	struct words both = {0}, macros = {0};
	struct text options = {0}, plain = {0};
	bool program_error, ok;

	preprocess_options(q, c, &both, &macros, &options);
	ok = preprocess(q, c, &both, &macros, &plain, &program_error, why);
	if (ok) {
		ok = rewrite_text(q, c, &both, &options, &plain, chosen, out);
		if (!ok)
			snprintf(why, REWRITE_WHY, "no memory");
	} else if (program_error) {
		add_refused(out, "*", why);
		ok = true;
	}
	text_release(&plain);
	text_release(&options);
	words_release(&both);
	words_release(&macros);
	return ok;
}

bool rewrite_program(const struct rewrite_request *q, struct text *out, char why[REWRITE_WHY])
{
	static struct clang c;
	char missing[LIBRARY_WHY];
	regex_t chosen;
	bool ok;

	if (!clang_load(&c, missing)) {
		snprintf(why, REWRITE_WHY, "%s", missing);
		return false;
	}
	if (q->functions && (!text_regex_bearable(q->functions, NULL, 0) ||
			     regcomp(&chosen, q->functions, REG_EXTENDED | REG_NOSUB) != 0)) {
		snprintf(why, REWRITE_WHY, "\"%s\" is not a regular expression", q->functions);
		return false;
	}
	text_addf(out, "kymo-rewrite 1\nclang %d ", c.version);
	add_escaped(out, c.library);
	text_add(out, "\n");
	ok = rewrite_with(q, &c, q->functions ? &chosen : NULL, out, why);
	if (q->functions)
		regfree(&chosen);
	return ok;
}
