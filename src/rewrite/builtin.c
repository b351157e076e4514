/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in functions that access memory by a pointer, or an image. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite/plan.h"

enum { NAME = 48, ARGUMENTS = 8 };

struct call {
	char name[NAME];
	uint32_t arguments[ARGUMENTS];
	uint32_t count, block, node;
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void read_call(struct walk *w, uint32_t node, uint32_t block, struct call *out)
{
	const char *s = w->plan->tree.text + walk_node(w, node)->begin;
	uint32_t callee = walk_node(w, node)->child;
	unsigned n = 0;

	*out = (struct call){.block = block, .node = node};
	while (n < NAME - 1 && (isalnum((unsigned char)s[n]) || s[n] == '_')) {
		out->name[n] = s[n];
		n++;
	}
	for (uint32_t i = callee ? walk_node(w, callee)->next : 0; i && out->count < ARGUMENTS;
	     i = walk_node(w, i)->next)
		out->arguments[out->count++] = i;
}

/* An access through the argument, a pointer, to some elements of what it points to. */
static void through(struct walk *w, const struct call *c, unsigned argument, enum access access,
		    uint32_t elements, uint32_t block)
{
	const struct node *pointer;
	struct site s = {.block = block, .at = walk_node(w, c->node)->begin, .access = access};

	if (argument >= c->count)
		return;
	pointer = walk_node(w, walk_bare(&w->plan->tree, c->arguments[argument]));
	s.space = pointer->type.target;
	s.bytes = elements * pointer->type.target_bytes;
	plan_site(w->plan, &s);
}

/* vload4, vstore_half, vloada_half3 ...: the digits at the end, or before "_rte" and the like, are the elements. */
static bool vector_access(struct walk *w, const struct call *c)
{
	bool store = begins(c->name, "vstore");
	const char *digits = c->name + (store ? 6 : 5), *half;
	unsigned pointer = store ? 2 : 1;
	uint32_t elements;

	if (!store && !begins(c->name, "vload"))
		return false;
	half = strstr(c->name, "_half");
	elements = (uint32_t)strtoul(half ? half + 5 : digits, NULL, 10);
	through(w, c, pointer, store ? ACCESS_STORE : ACCESS_LOAD, elements ? elements : 1,
		c->block);
	return true;
}

static bool atomic_access(struct walk *w, const struct call *c)
{
	if (!begins(c->name, "atomic_") && !begins(c->name, "atom_"))
		return false;
	if (strcmp(c->name, "atomic_work_item_fence") == 0)
		return true;
	through(w, c, 0, strcmp(c->name, "atomic_init") == 0 ? ACCESS_STORE : ACCESS_ATOMIC, 1,
		c->block);
	walk_atomic_work(w, c->block);
	return true;
}

/* A copy that all items of a group make together: its elements are counted once a group, in a block of their own. */
static bool group_copy(struct walk *w, const struct call *c)
{
	const struct node *number;
	uint32_t block;

	if (!begins(c->name, "async_work_group_") || c->count < 3)
		return false;
	number = walk_node(w, c->arguments[2]);
	block = plan_block(w->plan, w->function, "copy", walk_node(w, c->node)->begin);
	plan_count(w->plan, number->begin, block, "kymo_copied(&", ", ");
	plan_behind(w->plan, number->end, ")");
	through(w, c, 0, ACCESS_STORE, 1, block);
	through(w, c, 1, ACCESS_LOAD, 1, block);
	return true;
}

/* An element's bytes are not known, but those of what the program gets or gives. */
static bool image_access(struct walk *w, const struct call *c)
{
	bool store = begins(c->name, "write_image");
	struct site s = {
		.block = c->block, .at = walk_node(w, c->node)->begin, .space = SPACE_IMAGE};

	if (!store && !begins(c->name, "read_image"))
		return false;
	s.access = store ? ACCESS_STORE : ACCESS_LOAD;
	s.bytes = store ? walk_node(w, c->arguments[c->count - 1])->type.bytes
			: walk_node(w, c->node)->type.bytes;
	plan_site(w->plan, &s);
	return true;
}

/* Mathematical functions that have a second result, in memory. */
static void second_result(struct walk *w, const struct call *c)
{
	static const char *const names[] = {"fract",  "frexp",  "lgamma_r", "modf",
					    "remquo", "sincos", NULL};

	for (unsigned i = 0; names[i]; i++)
		if (strcmp(c->name, names[i]) == 0 && c->count &&
		    walk_node(w, c->arguments[c->count - 1])->type.target != SPACE_PRIVATE)
			through(w, c, c->count - 1, ACCESS_STORE, 1, c->block);
}

void walk_builtin(struct walk *w, uint32_t node, uint32_t block)
{
	struct call c;

	read_call(w, node, block, &c);
	if (begins(c.name, "enqueue_kernel") || begins(c.name, "get_kernel_")) {
		tree_refuse(&w->plan->tree, walk_node(w, node)->begin,
			    "kernels started by kernels");
		return;
	}
	walk_function_work(w, node, c.name, block);
	if (vector_access(w, &c) || atomic_access(w, &c) || group_copy(w, &c) ||
	    image_access(w, &c))
		return;
	second_result(w, &c);
}
