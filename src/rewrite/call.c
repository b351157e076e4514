/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: of the program's own functions, which get the counts, and of built-in ones, some of which access memory. */
#include "base/vec.h"
#include "rewrite/plan.h"

static void pass_counts(struct walk *w, uint32_t node, uint32_t callee)
{
	struct plan *p = w->plan;
	const struct node *n = walk_node(w, node);
	bool arguments = n->child && walk_node(w, n->child)->next;

	if (p->tree.text[n->end - 1] != ')') {
		tree_refuse(&p->tree, n->begin, "the end of a call was not found");
		return;
	}
	plan_behind(p, n->end - 1, arguments ? ", " : "");
	plan_behind(p, n->end - 1, p->tree.functions[callee].kernel ? "kymo_context" : "kymo_n");
	if (!vec_reserve(&p->calls, &p->call_room, p->call_count, 1)) {
		tree_refuse(&p->tree, n->begin, "no memory");
		return;
	}
	p->calls[p->call_count++] = (uint64_t)w->function << 32 | callee;
}

void walk_call(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t callee = n->child, mark = plan_mark(w->plan);

	for (uint32_t i = callee ? tree_node(t, callee)->next : 0; i; i = tree_node(t, i)->next)
		walk_expression(w, i, USE_VALUE, block);
	if (n->function && t->functions[n->function - 1].used)
		pass_counts(w, node, n->function - 1);
	else
		walk_builtin(w, node, block, mark);
}
