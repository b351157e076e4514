/* SPDX-License-Identifier: Apache-2.0 */
/* See plan.h. */
#include "rewrite/plan.h"

#include <stdlib.h>

#include "base/vec.h"

uint32_t plan_block(struct plan *p, uint32_t function, const char *kind, uint32_t at)
{
	if (!vec_reserve(&p->blocks, &p->block_room, p->block_count, 1)) {
		tree_refuse(&p->tree, at, "no memory");
		return 0;
	}
	p->blocks[p->block_count] = (struct block){.function = function, .at = at, .kind = kind};
	return p->block_count++;
}

uint32_t plan_site(struct plan *p, const struct site *s)
{
	if (!vec_reserve(&p->sites, &p->site_room, p->site_count, 1)) {
		tree_refuse(&p->tree, s->at, "no memory");
		return 0;
	}
	p->sites[p->site_count] = *s;
	return p->site_count++;
}

void plan_operation(struct plan *p, const struct operation *o)
{
	if (!o->count)
		return;
	if (!vec_reserve(&p->operations, &p->operation_room, p->operation_count, 1)) {
		tree_refuse(&p->tree, o->at, "no memory");
		return;
	}
	p->operations[p->operation_count++] = *o;
}

void plan_region(struct plan *p, const struct region *r)
{
	if (!vec_reserve(&p->regions, &p->region_room, p->region_count, 1)) {
		tree_refuse(&p->tree, r->at, "no memory");
		return;
	}
	p->regions[p->region_count++] = *r;
}

void plan_edit(struct plan *p, const struct edit *e)
{
	if (!vec_reserve(&p->edits, &p->edit_room, p->edit_count, 1)) {
		tree_refuse(&p->tree, e->at, "no memory");
		return;
	}
	p->edits[p->edit_count] = *e;
	p->edits[p->edit_count].sequence = p->edit_count;
	if (!e->order)
		p->edits[p->edit_count].order = 2 * p->edit_count + 3;
	p->edit_count++;
}

void plan_before(struct plan *p, uint32_t at, const char *text)
{
	plan_edit(p, &(struct edit){.at = at, .opens = true, .before = text});
}

void plan_behind(struct plan *p, uint32_t at, const char *text)
{
	plan_edit(p, &(struct edit){.at = at, .before = text});
}

void plan_count(struct plan *p, uint32_t at, uint32_t block, const char *before, const char *after)
{
	plan_edit(p, &(struct edit){.at = at,
				    .kind = EDIT_COUNT,
				    .number = block,
				    .opens = true,
				    .before = before,
				    .after = after});
}

/* ---- accesses that are recorded ---- */

uint32_t plan_mark(const struct plan *p)
{
	return 2 * p->edit_count + 2;
}

void plan_around(struct plan *p, uint32_t at, uint32_t mark, const char *text)
{
	plan_edit(p, &(struct edit){.at = at, .order = mark, .opens = true, .before = text});
}

void plan_blank(struct plan *p, uint32_t begin, uint32_t end)
{
	plan_edit(p, &(struct edit){.at = begin, .end = end, .kind = EDIT_BLANK});
}

void plan_record(struct plan *p, uint32_t at, uint32_t site, const char *before, const char *after)
{
	plan_edit(p, &(struct edit){.at = at,
				    .kind = EDIT_SITE,
				    .number = site,
				    .before = before,
				    .after = after});
}

void plan_wrap(struct plan *p, const struct wrap *w)
{
	static const char packed[] =
		"(ulong)kymo_p); typedef __typeof__(*kymo_p) kymo_t __attribute__((aligned(1))); "
		"(kymo_t *)kymo_p; }))";

	if (!(p->mode & REWRITE_ADDRESS))
		return;
	plan_around(p, w->begin, w->mark,
		    w->place ? "(*({ __auto_type kymo_p = &(" : "({ __auto_type kymo_p = (");
	plan_edit(p, &(struct edit){.at = w->end,
				    .kind = EDIT_SITE,
				    .number = w->site,
				    .offset = w->offset,
				    .before = "); ",
				    .after = !w->place   ? "(ulong)kymo_p); kymo_p; })"
					     : w->packed ? packed
							 : "(ulong)kymo_p); kymo_p; }))"});
}

/* ---- all of it ---- */

/* One more parameter in each declaration. */
static void add_parameters(struct plan *p)
{
	struct tree *t = &p->tree;

	for (uint32_t i = 0; i < t->parameters_count; i++) {
		const struct parameters *at = &t->parameters[i];
		const struct function *f = &t->functions[at->function];

		if (!f->used)
			continue;
		if (at->empty && at->close > at->open + 1)
			plan_blank(p, at->open + 1, at->close);
		if (!at->empty)
			plan_behind(p, at->close, ", ");
		plan_behind(p, at->close,
			    f->kernel ? "__global ulong *restrict kymo_context"
				      : "__private ulong *kymo_n");
	}
}

static void use_function(struct tree *t, uint32_t function);

static void use_called(struct tree *t, uint32_t node)
{
	for (; node; node = tree_node(t, node)->next) {
		if (tree_node(t, node)->function)
			use_function(t, tree_node(t, node)->function - 1);
		use_called(t, tree_node(t, node)->child);
	}
}

/* It and what it calls; what is declared alone is others'. */
static void use_function(struct tree *t, uint32_t function)
{
	struct function *f = &t->functions[function];

	if (f->used || !f->node)
		return;
	f->used = true;
	use_called(t, tree_node(t, f->body)->child);
}

/* Libraries of functions of which a program uses few would make large tables, and take long to build: the others lose their bodies. */
static void leave_out(struct plan *p, const struct function *f)
{
	plan_blank(p, tree_node(&p->tree, f->body)->begin, tree_node(&p->tree, f->body)->end);
	plan_behind(p, tree_node(&p->tree, f->body)->begin, ";");
}

static void find_used(struct plan *p)
{
	struct tree *t = &p->tree;

	for (uint32_t i = 0; i < t->function_count; i++)
		if (t->functions[i].kernel)
			use_function(t, i);
	for (uint32_t i = 0; i < t->function_count; i++)
		if (t->functions[i].node && !t->functions[i].used)
			leave_out(p, &t->functions[i]);
}

void rewrite_plan(struct plan *p)
{
	find_used(p);
	for (uint32_t i = 0; i < p->tree.promise_count; i++)
		plan_blank(p, p->tree.promises[i].begin, p->tree.promises[i].end);
	add_parameters(p);
	for (uint32_t i = 0; i < p->tree.function_count && !p->tree.why[0]; i++)
		if (p->tree.functions[i].used)
			walk_function(p, i);
	plan_arguments(p);
}

void plan_release(struct plan *p)
{
	free(p->blocks);
	free(p->sites);
	free(p->operations);
	free(p->edits);
	free(p->regions);
	free(p->arguments);
	free(p->calls);
	tree_release(&p->tree);
}
