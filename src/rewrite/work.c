/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: what of an operator or built-in function counts as work, by the rules of docs/kernel-lines.md. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rewrite/plan.h"

static void add_work(struct walk *w, uint32_t node, uint32_t block, enum work class, uint32_t n)
{
	plan_operation(w->plan, &(struct operation){block, walk_node(w, node)->begin, n, class});
}

static enum work class_of(const struct type *t)
{
	switch (t->of) {
	case TYPE_HALF:
		return WORK_flop_half;
	case TYPE_FLOAT:
		return WORK_flop_single;
	case TYPE_DOUBLE:
		return WORK_flop_double;
	case TYPE_INT:
		break;
	default:
		return WORKS;
	}
	switch (type_element_bytes(t)) {
	case 1:
		return WORK_int8;
	case 2:
		return WORK_int16;
	case 4:
		return WORK_int32;
	default:
		return WORK_int64;
	}
}

bool walk_constant(const struct tree *t, uint32_t node)
{
	const struct node *n = tree_node(t, walk_bare(t, node));

	switch (n->kind) {
	case CX_INTEGER:
	case CX_FLOATING:
	case CX_CHARACTER:
	case CX_SIZEOF:
		return true;
	case CX_PAREN:
	case CX_UNEXPOSED_EXPR:
	case CX_CAST:
	case CX_UNARY:
	case CX_BINARY:
		break;
	default:
		return false;
	}
	for (uint32_t i = n->child; i; i = tree_node(t, i)->next)
		if (!walk_constant(t, i))
			return false;
	return n->child != 0;
}

/* ==, !=, <, >, <=, >=: their own type says nothing of what is compared. */
static bool compares(const char *sign)
{
	if (sign[0] == '<' || sign[0] == '>')
		return sign[1] != sign[0];
	return (sign[0] == '=' || sign[0] == '!') && sign[1] == '=';
}

static const struct type *wider(const struct type *a, const struct type *b)
{
	if (a->of == TYPE_POINTER || b->of == TYPE_POINTER)
		return a->of == TYPE_POINTER ? a : b;
	return a->of >= b->of ? a : b;
}

void walk_operator(struct walk *w, uint32_t node, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node), *left = tree_node(t, n->child);
	const struct node *right = left->next ? tree_node(t, left->next) : left;
	const char *sign = t->text + tree_skip(t, left->end);
	const struct type *type = &n->type;
	enum work class;

	if (walk_constant(t, node) || (n->kind == CX_BINARY && *sign == ','))
		return;
	if (n->kind == CX_BINARY && compares(sign)) {
		type = wider(&left->type, &right->type);
		if (type->of >= TYPE_INT && type->of <= TYPE_DOUBLE)
			add_work(w, node, block, WORK_compare, n->type.width);
		return;
	}
	/* A shift's right side does not say in what it is computed. */
	if (n->kind == CX_COMPOUND_ASSIGN && sign[0] != '<' && sign[0] != '>')
		type = wider(&left->type, &right->type);
	if (left->type.of == TYPE_POINTER || right->type.of == TYPE_POINTER)
		return;
	class = class_of(type);
	if (class != WORKS)
		add_work(w, node, block, class, n->type.width);
}

/* ---- built-in functions ---- */

/* What one result, or element of it, costs if that is not 1. `vector`: the cost depends on the width n of the first argument: a * n + b. */
struct cost {
	const char *name;
	uint8_t each, vector;
	int8_t more;
};

static const struct cost costs[] = {
	/* move, choose or inspect */
	{"fabs", 0, 0, 0},
	{"copysign", 0, 0, 0},
	{"select", 0, 0, 0},
	{"bitselect", 0, 0, 0},
	{"nan", 0, 0, 0},
	{"shuffle", 0, 0, 0},
	{"shuffle2", 0, 0, 0},
	{"as_", 0, 0, 0},
	{"convert_", 0, 0, 0},
	{"vload", 0, 0, 0},
	{"read_image", 0, 0, 0},
	{"work_group_broadcast", 0, 0, 0},
	{"sub_group_broadcast", 0, 0, 0},
	/* more than one */
	{"fma", 2, 0, 0},
	{"mad", 2, 0, 0},
	{"mix", 3, 0, 0},
	{"dot", 0, 2, -1},
	{"length", 0, 2, 0},
	{"fast_length", 0, 2, 0},
	{"distance", 0, 3, 0},
	{"fast_distance", 0, 3, 0},
	{"normalize", 0, 3, 0},
	{"fast_normalize", 0, 3, 0},
	{"cross", 0, 0, 9},
};

static bool matches(const char *name, const char *row)
{
	size_t n = strlen(row);

	if (n && row[n - 1] == '_')
		return strncmp(name, row, n) == 0;
	if (strcmp(row, "vload") == 0 || strcmp(row, "read_image") == 0)
		return strncmp(name, row, n) == 0;
	return strcmp(name, row) == 0;
}

static uint32_t cost_of(const char *name, uint32_t width, uint32_t argument_width)
{
	for (unsigned i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		const struct cost *c = &costs[i];

		if (matches(name, c->name))
			return (uint32_t)(c->each * width + c->vector * argument_width +
					  (uint32_t)c->more);
	}
	return width;
}

void walk_function_work(struct walk *w, uint32_t node, const char *name, uint32_t block)
{
	struct tree *t = &w->plan->tree;
	const struct node *n = tree_node(t, node);
	uint32_t first = n->child ? tree_node(t, n->child)->next : 0;
	enum work class = class_of(&n->type);

	if (class == WORK_flop_half || class == WORK_flop_single || class == WORK_flop_double)
		add_work(w, node, block, class,
			 cost_of(name, n->type.width, first ? tree_node(t, first)->type.width : 1));
	if (strncmp(name, "mad24", 5) == 0 || strcmp(name, "mad_hi") == 0 ||
	    strcmp(name, "mad_sat") == 0)
		add_work(w, node, block, class, 2u * n->type.width);
	else if (strncmp(name, "mul", 3) == 0 || strcmp(name, "rotate") == 0)
		add_work(w, node, block, class, n->type.width);
	if (strcmp(name, "barrier") == 0 || strcmp(name, "work_group_barrier") == 0 ||
	    strcmp(name, "sub_group_barrier") == 0)
		add_work(w, node, block, WORK_barrier, 1);
}

void walk_branch(struct walk *w, uint32_t node, uint32_t block)
{
	if (!walk_constant(&w->plan->tree, node))
		add_work(w, node, block, WORK_branch, 1);
}

void walk_atomic_work(struct walk *w, uint32_t node, uint32_t block)
{
	add_work(w, node, block, WORK_atomic, 1);
}
