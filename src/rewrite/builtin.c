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
	uint32_t count, block, node, mark;
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void read_call(struct walk *w, uint32_t node, uint32_t block, uint32_t mark,
		      struct call *out)
{
	const char *s = w->plan->tree.text + walk_node(w, node)->begin;
	uint32_t callee = walk_node(w, node)->child;
	unsigned n = 0;

	*out = (struct call){.block = block, .node = node, .mark = mark};
	while (n < NAME - 1 && (isalnum((unsigned char)s[n]) || s[n] == '_')) {
		out->name[n] = s[n];
		n++;
	}
	for (uint32_t i = callee ? walk_node(w, callee)->next : 0; i && out->count < ARGUMENTS;
	     i = walk_node(w, i)->next)
		out->arguments[out->count++] = i;
}

/* The type of a pointer before it was converted to what the function takes; of an array, of the pointer that it becomes. */
static const struct type *pointer_type(struct walk *w, uint32_t argument)
{
	const struct tree *t = &w->plan->tree;
	uint32_t bare = walk_bare(t, argument);
	const struct type *type = &tree_node(t, argument)->type;

	for (uint32_t i = argument; i; i = i == bare ? 0 : tree_node(t, i)->child)
		if (tree_node(t, i)->type.of == TYPE_POINTER)
			type = &tree_node(t, i)->type;
	return type;
}

/* An access through the argument, a pointer, to some elements of what it points to. Returns the site. */
static uint32_t through(struct walk *w, const struct call *c, unsigned argument, enum access access,
			uint32_t elements, uint32_t block)
{
	const struct type *type = pointer_type(w, c->arguments[argument]);
	struct site s = {.block = block,
			 .at = walk_node(w, c->node)->begin,
			 .access = access,
			 .space = type->target,
			 .bytes = elements * type->target_bytes};

	return plan_site(w->plan, &s);
}

/* The same, and where accesses are recorded, that at the pointer. */
static void through_wrapped(struct walk *w, const struct call *c, unsigned argument,
			    enum access access)
{
	const struct node *pointer;
	struct wrap wrap = {.mark = c->mark};

	if (argument >= c->count)
		return;
	pointer = walk_node(w, c->arguments[argument]);
	wrap.begin = pointer->begin;
	wrap.end = pointer->end;
	wrap.site = through(w, c, argument, access, 1, c->block);
	plan_wrap(w->plan, &wrap);
}

/*
 * vload4(offset, pointer), vstore4(data, offset, pointer): the address is of both, so they become variables:
 * "({ size_t kymo_o = (offset); ... kymo_p = (pointer); record; vload4(kymo_o, kymo_p); })"
 */
static void record_vector(struct walk *w, const struct call *c, bool store, uint32_t site,
			  const char *step)
{
	static const char *const behind[] = {"", "); size_t kymo_o = (",
					     "); __auto_type kymo_p = ("};
	struct plan *p = w->plan;
	const struct node *call = walk_node(w, c->node), *argument;
	uint32_t at = call->begin, name = (uint32_t)strlen(c->name);

	for (unsigned i = 0; i < c->count; i++) {
		argument = walk_node(w, c->arguments[i]);
		plan_blank(p, at, argument->begin);
		if (i == 0) /* within what surrounds the call */
			plan_around(p, at, c->mark,
				    store ? "({ __auto_type kymo_d = (" : "({ size_t kymo_o = (");
		else
			plan_behind(p, at, behind[i + !store]);
		at = argument->end;
	}
	plan_record(p, at, site, "); ", "(ulong)(kymo_p + kymo_o * ");
	plan_behind(p, at, step);
	plan_behind(p, at, ")); ");
	plan_edit(p, &(struct edit){
			     .at = at, .kind = EDIT_COPY, .number = call->begin, .offset = name});
	plan_behind(p, at, store ? "(kymo_d, kymo_o, kymo_p); })" : "(kymo_o, kymo_p); })");
	plan_blank(p, at, call->end);
}

/* How many elements the offset counts in. Of three, only those that are aligned take the room of four. */
static const char *step_of(const char *name, uint32_t elements)
{
	switch (elements) {
	case 2:
		return "2";
	case 3:
		return begins(name, "vloada") || begins(name, "vstorea") ? "4" : "3";
	case 4:
		return "4";
	case 8:
		return "8";
	case 16:
		return "16";
	default:
		return "1";
	}
}

/* vload4, vstore_half, vloada_half3 ...: the digits at the end, or before "_rte" and the like, are the elements. */
static bool vector_access(struct walk *w, const struct call *c)
{
	bool store = begins(c->name, "vstore");
	const char *digits = c->name + (store ? 6 : 5), *half;
	unsigned pointer = store ? 2 : 1;
	uint32_t elements, site;

	if (!store && !begins(c->name, "vload"))
		return false;
	half = strstr(c->name, "_half");
	elements = (uint32_t)strtoul(half ? half + 5 : digits, NULL, 10);
	if (c->count != pointer + 1)
		return true;
	site = through(w, c, pointer, store ? ACCESS_STORE : ACCESS_LOAD, elements ? elements : 1,
		       c->block);
	if (w->plan->mode & REWRITE_ADDRESS)
		record_vector(w, c, store, site, step_of(c->name, elements));
	return true;
}

static bool atomic_access(struct walk *w, const struct call *c)
{
	if (!begins(c->name, "atomic_") && !begins(c->name, "atom_"))
		return false;
	if (strcmp(c->name, "atomic_work_item_fence") == 0)
		return true;
	through_wrapped(w, c, 0,
			strcmp(c->name, "atomic_init") == 0 ? ACCESS_STORE : ACCESS_ATOMIC);
	walk_atomic_work(w, c->node, c->block);
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

/* An access to an image has no address, but happens: "(record, read_imagef(...))". */
static void record_texel(struct walk *w, const struct call *c, uint32_t site)
{
	const struct node *call = walk_node(w, c->node);

	if (!(w->plan->mode & REWRITE_ADDRESS))
		return;
	plan_edit(w->plan, &(struct edit){.at = call->begin,
					  .order = c->mark,
					  .kind = EDIT_SITE,
					  .number = site,
					  .opens = true,
					  .before = "(",
					  .after = "0ul), "});
	plan_behind(w->plan, call->end, ")");
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
	record_texel(w, c, plan_site(w->plan, &s));
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
			through_wrapped(w, c, c->count - 1, ACCESS_STORE);
}

/* What KYMO_REGION_BEGIN(name) and KYMO_REGION_END(name) become: the call of a function that nobody has, with a text. */
static bool region_mark(struct walk *w, const struct call *c)
{
	struct tree *t = &w->plan->tree;
	const struct node *call = walk_node(w, c->node), *text;
	bool begin = strcmp(c->name, REGION_BEGIN) == 0;

	if (!begin && strcmp(c->name, REGION_END) != 0)
		return false;
	text = c->count == 1 ? walk_node(w, c->arguments[0]) : NULL;
	if (!text || t->text[text->begin] != '"') {
		tree_refuse(t, call->begin, "a region without a name");
		return true;
	}
	plan_region(w->plan, &(struct region){.block = c->block,
					      .at = call->begin,
					      .text = text->begin,
					      .end = text->end,
					      .begin = begin});
	plan_blank(w->plan, call->begin, call->end);
	plan_edit(w->plan, &(struct edit){.at = call->begin,
					  .kind = EDIT_REGION,
					  .number = w->plan->region_count - 1,
					  .opens = true});
	return true;
}

void walk_builtin(struct walk *w, uint32_t node, uint32_t block, uint32_t mark)
{
	struct call c;

	read_call(w, node, block, mark, &c);
	if (region_mark(w, &c))
		return;
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
