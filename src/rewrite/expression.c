/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions: which of them access memory, and what runs less often than the rest. What a name, subscript or member stands for is
 * accessed where its value is used or replaced, not where its address is taken or a part of it is meant.
 */
#include <string.h>

#include "rewrite/plan.h"

uint32_t walk_bare(const struct tree *t, uint32_t node)
{
	const struct node *n = tree_node(t, node);

	while ((n->kind == CX_PAREN || n->kind == CX_UNEXPOSED_EXPR) && n->child &&
	       !tree_node(t, n->child)->next && !walk_component(t, node) &&
	       (n->kind == CX_PAREN || (tree_node(t, n->child)->begin == n->begin &&
					tree_node(t, n->child)->end == n->end))) {
		node = n->child;
		n = tree_node(t, node);
	}
	return node;
}

/* clang has no kind of its own for them: what follows the vector is ".xyz" (or "->xyz" behind a pointer). */
bool walk_component(const struct tree *t, uint32_t node)
{
	const struct node *n = tree_node(t, node), *inside = tree_node(t, n->child);
	uint32_t at;

	if ((n->kind != CX_UNEXPOSED_EXPR && n->kind != CX_MEMBER) || !n->child || inside->next ||
	    inside->begin != n->begin || inside->end >= n->end)
		return false;
	if (!inside->type.vector && !(inside->type.of == TYPE_POINTER && n->kind != CX_MEMBER))
		return false;
	at = tree_skip(t, inside->end);
	return t->text[at] == '.' || (t->text[at] == '-' && t->text[at + 1] == '>');
}

static bool arrow(const struct tree *t, uint32_t node)
{
	const struct node *n = tree_node(t, node);

	return n->child && tree_node(t, n->child)->type.of == TYPE_POINTER;
}

/* What is left of `node` belongs to memory if this does. */
bool walk_memory(const struct tree *t, uint32_t node)
{
	for (;;) {
		const struct node *n;

		node = walk_bare(t, node);
		n = tree_node(t, node);
		if (n->kind == CX_SUBSCRIPT || n->kind == CX_UNARY)
			return n->kind == CX_SUBSCRIPT || t->text[n->begin] == '*';
		if (n->kind != CX_MEMBER && !walk_component(t, node))
			return n->kind == CX_DECL_REF && n->type.space != SPACE_PRIVATE;
		if (arrow(t, node))
			return true;
		node = n->child;
	}
}

static bool is_place(const struct tree *t, uint32_t node)
{
	const struct node *n = tree_node(t, node);

	return n->kind == CX_SUBSCRIPT || n->kind == CX_MEMBER || n->kind == CX_DECL_REF ||
	       walk_component(t, node) || (n->kind == CX_UNARY && t->text[n->begin] == '*');
}

/* What of a place is meant: all of it, or some components. */
struct part {
	uint32_t bytes, offset; /* 0 bytes: all */
};

/* The component that a letter names; 16: it is none. */
static uint32_t component(char letter)
{
	static const char letters[] = "xyzw", digits[] = "0123456789abcdef";
	const char *found = letter ? strchr(letters, letter) : NULL;

	if (found)
		return (uint32_t)(found - letters);
	found = letter ? strchr(digits, letter | 0x20) : NULL;
	return found ? (uint32_t)(found - digits) : 16;
}

/* The first component in memory of those that ".zw", ".s32", ".hi" name. */
static uint32_t first_component(const struct tree *t, uint32_t node, uint32_t width)
{
	const char *s = t->text + tree_skip(t, tree_node(t, tree_node(t, node)->child)->end);
	const char *end = t->text + tree_node(t, node)->end;
	uint32_t first = 16;

	s = t->text + tree_skip(t, (uint32_t)(s - t->text) + (*s == '-' ? 2 : 1));
	if (strncmp(s, "hi", 2) == 0)
		return width; /* as many as it has itself are in front of it */
	if (strncmp(s, "odd", 3) == 0)
		return 1;
	if (strncmp(s, "lo", 2) == 0 || strncmp(s, "even", 4) == 0)
		return 0;
	for (s += *s == 's' || *s == 'S'; s < end; s++)
		first = component(*s) < first ? component(*s) : first;
	return first < 16 ? first : 0;
}

/* A member of something packed. */
static bool packed(const struct tree *t, uint32_t node)
{
	uint8_t align = tree_node(t, node)->type.align;

	for (;;) {
		const struct node *n, *base;

		node = walk_bare(t, node);
		n = tree_node(t, node);
		if (!n->child || (n->kind != CX_MEMBER && n->kind != CX_SUBSCRIPT))
			return false;
		base = tree_node(t, n->child);
		if (n->kind == CX_MEMBER &&
		    (arrow(t, node) ? base->type.target_align : base->type.align) < align)
			return true;
		node = n->child;
	}
}

/* A place that is accessed: it, or (of components behind a pointer) the pointer that stands for it. */
static void add_site(struct walk *w, uint32_t node, enum use use, uint32_t block,
		     const struct part *part, uint32_t mark)
{
	const struct node *n = walk_node(w, node);
	struct tree *t = &w->plan->tree;
	struct site s = {
		.block = block, .at = n->begin, .bytes = part->bytes ? part->bytes : n->type.bytes};
	bool behind = walk_component(t, node);
	const struct node *wrapped = behind ? walk_node(w, n->child) : n;

	if (use == USE_ADDRESS || n->type.of == TYPE_ARRAY || n->type.of == TYPE_FUNCTION ||
	    !walk_memory(t, node))
		return;
	s.space = behind ? wrapped->type.target : n->type.space;
	s.access = use == USE_STORE ? ACCESS_STORE : use == USE_RW ? ACCESS_RW : ACCESS_LOAD;
	plan_wrap(w->plan, &(struct wrap){.begin = wrapped->begin,
					  .end = wrapped->end,
					  .mark = mark,
					  .site = plan_site(w->plan, &s),
					  .offset = part->offset,
					  .place = !behind,
					  .packed = packed(t, node)});
}

static void walk_place(struct walk *w, uint32_t node, enum use use, uint32_t block,
		       const struct part *part);

/* v.xyz, p->xyz; `outer`: what of these is meant. */
static void walk_components(struct walk *w, uint32_t node, enum use use, uint32_t block,
			    const struct part *outer)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t mark = plan_mark(w->plan), one = type_element_bytes(&n->type);
	struct part part = {outer->bytes ? outer->bytes : one * n->type.width, outer->offset};

	part.offset += one * first_component(t, node, n->type.width);
	if (!arrow(t, node)) {
		walk_place(w, n->child, use, block, &part);
		return;
	}
	walk_expression(w, n->child, USE_VALUE, block);
	add_site(w, node, use, block, &part, mark);
}

/* The parts of what is accessed: names of arrays, pointers, indices. */
static void walk_place(struct walk *w, uint32_t node, enum use use, uint32_t block,
		       const struct part *part)
{
	struct tree *t = &w->plan->tree;
	uint32_t mark = plan_mark(w->plan), base, index;
	const struct node *n;

	node = walk_bare(t, node);
	n = tree_node(t, node);
	if (walk_component(t, node)) {
		walk_components(w, node, use, block, part);
		return;
	}
	switch (n->kind) {
	case CX_SUBSCRIPT:
		base = n->child;
		index = tree_node(t, base)->next;
		if (tree_node(t, walk_bare(t, base))->type.vector) { /* v[i]: a component */
			walk_place(w, base, use, block, &(struct part){n->type.bytes, 0});
			walk_expression(w, index, USE_VALUE, block);
			return;
		}
		walk_expression(w, base, USE_VALUE, block);
		walk_expression(w, index, USE_VALUE, block);
		break;
	case CX_MEMBER:
		walk_expression(w, n->child, arrow(t, node) ? USE_VALUE : USE_ADDRESS, block);
		break;
	case CX_UNARY:
		walk_expression(w, n->child, USE_VALUE, block);
		break;
	default:
		if (!is_place(t, node)) { /* a component of what an expression yields */
			walk_expression(w, node, USE_VALUE, block);
			return;
		}
	}
	add_site(w, node, use, block, part, mark);
}

void walk_children(struct walk *w, uint32_t node, uint32_t block)
{
	for (uint32_t i = walk_node(w, node)->child; i; i = walk_node(w, i)->next)
		walk_expression(w, i, USE_VALUE, block);
}

/* What only runs if something else says so. */
static void walk_arm(struct walk *w, uint32_t node, const char *kind)
{
	const struct node *n = walk_node(w, node);
	uint32_t block;

	if (!n->counted)
		return;
	block = plan_block(w->plan, w->function, kind, n->begin);
	plan_count(w->plan, n->begin, block, "(", "++, ");
	walk_expression(w, node, USE_VALUE, block);
	plan_behind(w->plan, n->end, ")");
}

static void walk_conditional(struct walk *w, uint32_t node, uint32_t block)
{
	uint32_t condition = walk_node(w, node)->child, yes = walk_node(w, condition)->next;

	walk_expression(w, condition, USE_VALUE, block);
	if (walk_node(w, condition)->type.vector) { /* chooses among elements of both */
		walk_expression(w, yes, USE_VALUE, block);
		walk_expression(w, walk_node(w, yes)->next, USE_VALUE, block);
		return;
	}
	walk_branch(w, condition, block);
	walk_arm(w, yes, "true");
	walk_arm(w, walk_node(w, yes)->next, "false");
}

/* The operator between two operands. */
static const char *operator_of(const struct tree *t, uint32_t node)
{
	return t->text + tree_skip(t, tree_node(t, tree_node(t, node)->child)->end);
}

static void walk_binary(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t left = n->child, right = tree_node(t, left)->next;
	const char *sign = operator_of(t, node);

	if (sign[0] == '=' && sign[1] != '=') {
		walk_expression(w, left, USE_STORE, block);
		walk_expression(w, right, USE_VALUE, block);
		return;
	}
	walk_expression(w, left, USE_VALUE, block);
	if ((sign[0] == '&' || sign[0] == '|') && sign[1] == sign[0] && !n->type.vector) {
		walk_branch(w, left, block);
		walk_arm(w, right, sign[0] == '&' ? "and" : "or");
		return;
	}
	walk_expression(w, right, USE_VALUE, block);
	walk_operator(w, node, block);
}

static void walk_unary(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	const char *first = t->text + n->begin, *last = t->text + n->end - 2;
	bool before = (first[0] == '+' || first[0] == '-') && first[1] == first[0];

	if (first[0] == '&') {
		walk_expression(w, n->child, USE_ADDRESS, block);
		return;
	}
	if (!before && !((last[0] == '+' || last[0] == '-') && last[1] == last[0])) {
		walk_children(w, node, block);
		if (first[0] == '~')
			walk_operator(w, node, block);
		return;
	}
	walk_expression(w, n->child, USE_RW, block);
	walk_operator(w, node, block);
}

static void walk_compound_assign(struct walk *w, uint32_t node, uint32_t block)
{
	uint32_t left = walk_node(w, node)->child;

	walk_expression(w, left, USE_RW, block);
	walk_expression(w, walk_node(w, left)->next, USE_VALUE, block);
	walk_operator(w, node, block);
}

/* ({ ... }) */
static void walk_statement_expression(struct walk *w, uint32_t node)
{
	const struct node *n = walk_node(w, node);
	uint32_t block;

	if (n->flow || walk_node(w, n->child)->kind != CX_COMPOUND) {
		tree_refuse(&w->plan->tree, n->begin, "an expression is left by a jump");
		return;
	}
	block = plan_block(w->plan, w->function, "expression", n->begin);
	plan_count(w->plan, walk_node(w, n->child)->begin + 1, block, " ", "++;");
	walk_statement(w, n->child, block);
}

static void walk_other(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);

	if (n->kind == CX_BLOCK_EXPR)
		tree_refuse(t, n->begin, "a block: ^{ }");
	else if (n->kind == CX_UNEXPOSED_EXPR && n->child && tree_node(t, n->child)->next &&
		 n->type.of != TYPE_OTHER && *operator_of(t, node) == '?')
		tree_refuse(t, n->begin, "a ?: without its middle");
	else
		walk_children(w, node, block);
}

void walk_expression(struct walk *w, uint32_t node, enum use use, uint32_t block)
{
	struct tree *t = &w->plan->tree;

	if (t->why[0])
		return;
	node = walk_bare(t, node);
	if (is_place(t, node)) {
		walk_place(w, node, use, block, &(struct part){0, 0});
		return;
	}
	switch (tree_node(t, node)->kind) {
	case CX_CALL:
		walk_call(w, node, block);
		break;
	case CX_UNARY:
		walk_unary(w, node, block);
		break;
	case CX_BINARY:
		walk_binary(w, node, block);
		break;
	case CX_COMPOUND_ASSIGN:
		walk_compound_assign(w, node, block);
		break;
	case CX_CONDITIONAL:
		walk_conditional(w, node, block);
		break;
	case CX_STMT_EXPR:
		walk_statement_expression(w, node);
		break;
	case CX_DECL_STMT: /* in a condition */
		walk_statement(w, node, block);
		break;
	default:
		walk_other(w, node, block);
	}
}
