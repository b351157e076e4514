/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements: where blocks begin. Counters are inserted behind what comes before a statement, not in front of it, where a
 * pragma may stand that belongs to it.
 */
#include <string.h>

#include "rewrite/plan.h"

static bool labelled(uint16_t kind)
{
	return kind == CX_CASE || kind == CX_DEFAULT || kind == CX_LABEL;
}

/* The statement may be left before its end or entered after its beginning: what follows is another block. */
static bool breaks_up(const struct tree *t, uint32_t node)
{
	while (labelled(tree_node(t, node)->kind)) {
		node = tree_node(t, node)->child;
		while (tree_node(t, node)->next)
			node = tree_node(t, node)->next;
	}
	return tree_node(t, node)->flow != 0;
}

static uint32_t new_block(struct walk *w, const char *kind, uint32_t at)
{
	return plan_block(w->plan, w->function, kind, at);
}

/* The body of an if or loop, whose '(...)' , else or do ends at `at`. */
static void walk_body(struct walk *w, uint32_t node, uint32_t at, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);

	if (n->kind == CX_COMPOUND) {
		plan_count(w->plan, n->begin + 1, block, " ", "++;");
		walk_statement(w, node, block);
		return;
	}
	plan_count(w->plan, at, block, " { ", "++;");
	walk_statement(w, node, block);
	plan_behind(w->plan, tree_statement_end(t, node), " }");
}

/* Behind the ')' that follows the condition. */
static uint32_t after_condition(struct walk *w, uint32_t node)
{
	struct tree *t = &w->plan->tree;
	uint32_t at = tree_skip(t, tree_node(t, node)->end);

	if (at < t->length && t->text[at] == ')')
		return at + 1;
	tree_refuse(t, tree_node(t, node)->begin, "the end of a condition was not found");
	return at;
}

static void walk_if(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	uint32_t condition = tree_node(t, node)->child, then = tree_node(t, condition)->next;
	uint32_t other = tree_node(t, then)->next, at;

	walk_expression(w, condition, USE_VALUE, block);
	walk_branch(w, condition, block);
	walk_body(w, then, after_condition(w, condition),
		  new_block(w, "then", tree_node(t, then)->begin));
	if (!other)
		return;
	at = tree_skip(t, tree_statement_end(t, then));
	if (!tree_word(t, at, "else")) {
		tree_refuse(t, at, "an else was not found");
		return;
	}
	walk_body(w, other, at + 4, new_block(w, "else", tree_node(t, other)->begin));
}

/* What a loop does at the end of each turn: a block of its own. */
static uint32_t walk_repeated(struct walk *w, uint32_t node, const char *kind)
{
	const struct node *n = walk_node(w, node);
	uint32_t block = new_block(w, kind, n->begin);

	plan_count(w->plan, n->begin, block, "", "++, ");
	walk_expression(w, node, USE_VALUE, block);
	return block;
}

static void walk_condition(struct walk *w, uint32_t node)
{
	if (!walk_constant(&w->plan->tree, node))
		walk_branch(w, node, walk_repeated(w, node, "condition"));
}

/* All of the body runs in each turn. */
static bool whole(const struct node *body)
{
	return !(body->flow & (LEAVES_FUNCTION | LEAVES_BREAK | HAS_LABEL | HAS_CASE));
}

static void walk_while(struct walk *w, uint32_t node)
{
	struct tree *t = &w->plan->tree;
	uint32_t condition = tree_node(t, node)->child, body = tree_node(t, condition)->next;

	walk_condition(w, condition);
	walk_body(w, body, after_condition(w, condition),
		  new_block(w, "loop", tree_node(t, body)->begin));
}

static void walk_do(struct walk *w, uint32_t node)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t body = n->child, condition = tree_node(t, body)->next;
	uint32_t at = n->begin, block = new_block(w, "loop", tree_node(t, body)->begin);

	if (!tree_word(t, at, "do"))
		tree_refuse(t, at, "the beginning of a loop was not found");
	walk_body(w, body, at + 2, block);
	if (!whole(tree_node(t, body))) {
		walk_condition(w, condition);
		return;
	}
	walk_expression(w, condition, USE_VALUE, block);
	walk_branch(w, condition, block);
}

/* The parts of a for, any of which may be missing; 0: it is. */
struct for_parts {
	uint32_t first, condition, step, body;
	uint32_t close;
};

static void find_for_parts(struct walk *w, uint32_t node, struct for_parts *out)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t open = tree_find(t, n->begin, '('), one, two;

	*out = (struct for_parts){0};
	out->close = open < t->length ? tree_closing(t, open) : t->length;
	one = tree_find(t, open + 1, ';');
	two = tree_find(t, one + 1, ';');
	if (out->close >= t->length || two >= out->close) {
		tree_refuse(t, n->begin, "the parts of a loop were not found");
		return;
	}
	for (uint32_t i = n->child; i; i = tree_node(t, i)->next) {
		uint32_t at = tree_node(t, i)->begin;

		if (at > out->close)
			out->body = i;
		else if (at > two)
			out->step = i;
		else if (at > one)
			out->condition = i;
		else
			out->first = i;
	}
}

static void walk_for(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	struct for_parts parts;
	uint32_t body;

	find_for_parts(w, node, &parts);
	if (!parts.body) {
		tree_refuse(t, tree_node(t, node)->begin, "the body of a loop was not found");
		return;
	}
	if (parts.first)
		walk_statement(w, parts.first, block);
	if (parts.condition)
		walk_condition(w, parts.condition);
	body = new_block(w, "loop", tree_node(t, parts.body)->begin);
	if (parts.step && whole(tree_node(t, parts.body)))
		walk_expression(w, parts.step, USE_VALUE, body);
	else if (parts.step)
		walk_repeated(w, parts.step, "step");
	walk_body(w, parts.body, parts.close + 1, body);
}

static void walk_switch(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	uint32_t value = tree_node(t, node)->child, body = tree_node(t, value)->next;

	walk_expression(w, value, USE_VALUE, block);
	walk_branch(w, value, block);
	/* What comes before the first case never runs, unless somebody jumps there. */
	block = new_block(w, "switch", tree_node(t, body)->begin);
	if (tree_node(t, body)->kind != CX_COMPOUND)
		plan_before(w->plan, after_condition(w, value), " { ");
	walk_statement(w, body, block);
	if (tree_node(t, body)->kind != CX_COMPOUND)
		plan_behind(w->plan, tree_statement_end(t, body), " }");
}

/* case, default, a label: what is behind the colon begins a block that also those enter who come from above. */
static uint32_t walk_label(struct walk *w, uint32_t node)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t inside = n->child, at = n->begin, block;

	while (inside && tree_node(t, inside)->next) {
		at = tree_node(t, inside)->end; /* the constant of a case */
		inside = tree_node(t, inside)->next;
	}
	at = tree_find(t, at, ':');
	if (!inside || at >= t->length) {
		tree_refuse(t, n->begin, "the end of a label was not found");
		return 0;
	}
	if (labelled(tree_node(t, inside)->kind))
		return walk_statement(w, inside, 0);
	block = new_block(w, n->kind == CX_LABEL ? "label" : "case", n->begin);
	plan_count(w->plan, at + 1, block, " ", "++;");
	return walk_statement(w, inside, block);
}

static void walk_return(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);

	walk_children(w, node, block);
	if (!t->functions[w->function].kernel)
		return;
	if (n->child) {
		tree_refuse(t, n->begin, "a kernel returns the value of an expression");
		return;
	}
	plan_blank(w->plan, n->begin, n->end);
	plan_before(w->plan, n->begin, "goto kymo_end");
	w->returns = true;
}

/* What follows such a statement, and there is something. */
static uint32_t walk_rest(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint16_t next = n->next ? tree_node(t, n->next)->kind : 0;

	if (!next || labelled(next) || !breaks_up(t, node))
		return block;
	block = new_block(w, "rest", tree_node(t, n->next)->begin);
	plan_count(w->plan, tree_statement_end(t, node), block, " ", "++;");
	return block;
}

static void walk_compound(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;

	for (uint32_t i = tree_node(t, node)->child; i && !t->why[0]; i = tree_node(t, i)->next) {
		block = walk_statement(w, i, block);
		block = walk_rest(w, i, block);
	}
}

static void walk_loop(struct walk *w, uint32_t node, uint32_t block)
{
	switch (walk_node(w, node)->kind) {
	case CX_FOR:
		walk_for(w, node, block);
		break;
	case CX_WHILE:
		walk_while(w, node);
		break;
	default:
		walk_do(w, node);
	}
}

uint32_t walk_statement(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);

	switch (n->kind) {
	case CX_COMPOUND:
		walk_compound(w, node, block);
		break;
	case CX_IF:
		walk_if(w, node, block);
		break;
	case CX_FOR:
	case CX_WHILE:
	case CX_DO:
		walk_loop(w, node, block);
		break;
	case CX_SWITCH:
		walk_switch(w, node, block);
		break;
	case CX_CASE:
	case CX_DEFAULT:
	case CX_LABEL:
		return walk_label(w, node);
	case CX_RETURN:
		walk_return(w, node, block);
		break;
	case CX_UNEXPOSED_STMT: /* one with attributes */
		for (uint32_t i = n->child; i; i = tree_node(t, i)->next)
			block = walk_statement(w, i, block);
		break;
	case CX_DECL_STMT:
		for (uint32_t i = n->child; i; i = tree_node(t, i)->next)
			walk_children(w, i, block);
		break;
	case CX_ASM:
	case CX_INDIRECT_GOTO:
		tree_refuse(t, n->begin,
			    n->kind == CX_ASM ? "assembly in the program"
					      : "a goto to a computed place");
		break;
	case CX_GOTO:
	case CX_BREAK:
	case CX_CONTINUE:
	case CX_NULL:
		break;
	default:
		walk_expression(w, node, USE_VALUE, block);
	}
	return block;
}

/* The counts of a kernel begin as zero and are handed over at its one end. */
static void walk_kernel(struct walk *w, const struct node *body)
{
	struct plan *p = w->plan;

	plan_edit(p, &(struct edit){.at = body->begin + 1,
				    .kind = EDIT_ARRAY,
				    .number = w->function,
				    .opens = true});
}

void walk_function(struct plan *p, uint32_t function)
{
	struct walk w = {.plan = p, .function = function};
	const struct function *f = &p->tree.functions[function];
	const struct node *body = tree_node(&p->tree, f->body);
	uint32_t block = plan_block(p, function, "function", body->begin);

	if (f->kernel)
		walk_kernel(&w, body);
	plan_count(p, body->begin + 1, block, " ", "++;");
	walk_statement(&w, f->body, block);
	if (f->kernel)
		/* Behind what opens at the same place: of a body that is {}, that is its beginning. */
		plan_edit(p, &(struct edit){.at = tree_node(&p->tree, f->body)->end - 1,
					    .kind = EDIT_END,
					    .number = function,
					    .opens = true,
					    .before = w.returns ? " kymo_end: " : " "});
}
