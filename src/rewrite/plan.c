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

void plan_edit(struct plan *p, const struct edit *e)
{
	if (!vec_reserve(&p->edits, &p->edit_room, p->edit_count, 1)) {
		tree_refuse(&p->tree, e->at, "no memory");
		return;
	}
	p->edits[p->edit_count] = *e;
	p->edits[p->edit_count].order = p->edit_count;
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

/* One more parameter in each declaration. */
static void add_parameters(struct plan *p)
{
	struct tree *t = &p->tree;

	for (uint32_t i = 0; i < t->parameters_count; i++) {
		const struct parameters *at = &t->parameters[i];
		const struct function *f = &t->functions[at->function];

		if (!f->node)
			continue; /* others define it */
		if (at->empty && at->close > at->open + 1)
			plan_edit(p, &(struct edit){.at = at->open + 1,
						    .end = at->close,
						    .kind = EDIT_BLANK});
		if (!at->empty)
			plan_behind(p, at->close, ", ");
		plan_behind(p, at->close,
			    f->kernel ? "__global ulong *restrict kymo_context"
				      : "__private ulong *kymo_n");
	}
}

void plan_make(struct plan *p)
{
	for (uint32_t i = 0; i < p->tree.promise_count; i++)
		plan_edit(p, &(struct edit){.at = p->tree.promises[i].begin,
					    .end = p->tree.promises[i].end,
					    .kind = EDIT_BLANK});
	add_parameters(p);
	for (uint32_t i = 0; i < p->tree.function_count && !p->tree.why[0]; i++)
		if (p->tree.functions[i].node)
			walk_function(p, i);
}

void plan_release(struct plan *p)
{
	free(p->blocks);
	free(p->sites);
	free(p->edits);
	free(p->calls);
	tree_release(&p->tree);
}
