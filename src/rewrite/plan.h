/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found in a program: blocks, the accesses and operations in each, and what is to be inserted into the text.
 *
 * A block is the smallest piece that runs as often as all that is in it. More blocks than needed are never wrong.
 */
#ifndef REWRITE_PLAN_H
#define REWRITE_PLAN_H

#include "rewrite/rewrite.h"
#include "rewrite/tree.h"

enum access {
	ACCESS_LOAD,
	ACCESS_STORE,
	ACCESS_RW,
	ACCESS_ATOMIC,
};

/* What is counted of operations; their names are in the result. */
#define WORK_CLASSES(X)                                                                            \
	X(flop_half)                                                                               \
	X(flop_single)                                                                             \
	X(flop_double)                                                                             \
	X(int8)                                                                                    \
	X(int16)                                                                                   \
	X(int32)                                                                                   \
	X(int64)                                                                                   \
	X(compare)                                                                                 \
	X(branch)                                                                                  \
	X(barrier)                                                                                 \
	X(atomic)

#define WORK_NAME(name) WORK_##name,
enum work { WORK_CLASSES(WORK_NAME) WORKS };
#undef WORK_NAME

struct block {
	uint32_t function, at;
	uint32_t place; /* in the private array of counts; filled when all are known */
	const char *kind;
};

/* Operations at a place. */
struct operation {
	uint32_t block, at, count;
	enum work class;
};

struct site {
	uint32_t block, at, bytes;
	enum access access;
	enum space space;
};

/* KYMO_REGION_BEGIN(name), KYMO_REGION_END(name): `text` begins and `end` ends the literal of the name. */
struct region {
	uint32_t block, at, text, end;
	bool begin;
};
#define REGION_BEGIN "kymo_region_begin"
#define REGION_END   "kymo_region_end"

/* A kernel's argument that points to memory which all groups have. */
struct argument {
	uint32_t function, number, name, length; /* where its name is */
};

enum edit_kind {
	EDIT_TEXT,
	EDIT_COUNT, /* "before kymo_n[PLACE] after" */
	EDIT_SITE,  /* the same, with what records an access of a site */
	EDIT_ARRAY, /* a kernel's counts begin */
	EDIT_END,   /* they are handed over */
	EDIT_COPY,  /* `offset` bytes of the text from `number` on */
	EDIT_BLANK, /* the text until `end` is left out */
	EDIT_REGION,
};

struct edit {
	uint32_t at, end, order, sequence;
	uint32_t number; /* block, site, function, region, or a place in the text */
	uint32_t offset; /* added to a site's address; or bytes of text */
	enum edit_kind kind;
	bool opens; /* belongs to what follows: comes behind what closes at the same place */
	const char *before, *after;
};

struct plan {
	struct tree tree;
	enum rewrite_mode mode;
	struct block *blocks;
	uint32_t block_count, block_room;
	struct site *sites;
	uint32_t site_count, site_room;
	struct operation *operations;
	uint32_t operation_count, operation_room;
	struct edit *edits;
	uint32_t edit_count, edit_room;
	struct region *regions;
	uint32_t region_count, region_room;
	struct argument *arguments;
	uint32_t argument_count, argument_room;
	uint64_t *calls; /* pairs: caller, callee */
	uint32_t call_count, call_room;
};

uint32_t plan_block(struct plan *p, uint32_t function, const char *kind, uint32_t at);
uint32_t plan_site(struct plan *p, const struct site *s);
void plan_region(struct plan *p, const struct region *r);
/* Arguments of all kernels. */
void plan_arguments(struct plan *p);
void plan_operation(struct plan *p, const struct operation *o);
void plan_edit(struct plan *p, const struct edit *e);
/* `text` before what begins at `at`, or behind what ends there. */
void plan_before(struct plan *p, uint32_t at, const char *text);
void plan_behind(struct plan *p, uint32_t at, const char *text);
/* "before kymo_n[PLACE] after" at the beginning of something. */
/*
 * What is between `begin` and `end` is a pointer (or, `place`, what one points to): its accesses through `site` are recorded,
 * `offset` bytes behind it. `mark`: plan_mark() before anything in it was inserted. Nothing happens where accesses are not
 * recorded.
 */
struct wrap {
	uint32_t begin, end, mark, site, offset;
	bool place;
	bool packed; /* it may be less aligned than its type says */
};
uint32_t plan_mark(const struct plan *p);
void plan_wrap(struct plan *p, const struct wrap *w);
/* Text that comes before what was inserted at the same place since the mark. */
void plan_around(struct plan *p, uint32_t at, uint32_t mark, const char *text);
void plan_blank(struct plan *p, uint32_t begin, uint32_t end);
/* Behind what ends at `at`: the access is recorded; its address is what `after` says. */
void plan_record(struct plan *p, uint32_t at, uint32_t site, const char *before, const char *after);
void plan_count(struct plan *p, uint32_t at, uint32_t block, const char *before, const char *after);

/* Fills blocks, sites and edits from the tree; tree.why says what stands against it. */
void rewrite_plan(struct plan *p);
void plan_release(struct plan *p);

/* ---- parts of rewrite_plan() ---- */

enum use {
	USE_VALUE,
	USE_STORE,
	USE_RW,
	USE_ADDRESS, /* or a part of it: nothing is read yet */
};

/* Where a walk stands. */
struct walk {
	bool returns; /* before its end */
	struct plan *plan;
	uint32_t function;
};

void walk_function(struct plan *p, uint32_t function);
/* An expression that runs as often as `block`. */
void walk_expression(struct walk *w, uint32_t node, enum use use, uint32_t block);
void walk_children(struct walk *w, uint32_t node, uint32_t block);
/* The statement and what is in it; returns the block of what follows. */
uint32_t walk_statement(struct walk *w, uint32_t node, uint32_t block);
void walk_call(struct walk *w, uint32_t node, uint32_t block);
/* A call of a built-in function, whose arguments have been walked since the mark. */
void walk_builtin(struct walk *w, uint32_t node, uint32_t block, uint32_t mark);
/* An expression of an operator: what it counts as. */
void walk_operator(struct walk *w, uint32_t node, uint32_t block);
void walk_function_work(struct walk *w, uint32_t node, const char *name, uint32_t block);
void walk_atomic_work(struct walk *w, uint32_t node, uint32_t block);
/* `node` decides where to go on. */
void walk_branch(struct walk *w, uint32_t node, uint32_t block);
/* Known when the program is built: no device computes it. */
bool walk_constant(const struct tree *t, uint32_t node);
/* Past parentheses and conversions that are not written. */
uint32_t walk_bare(const struct tree *t, uint32_t node);
/* It is an element or component of memory, not a variable. */
bool walk_memory(const struct tree *t, uint32_t node);
/* A vector's components: v.xyz. */
bool walk_component(const struct tree *t, uint32_t node);

/* Numbers of records: sites come first, then blocks, the end of an item, regions, arguments of kernels. */
static inline uint32_t plan_record_block(const struct plan *p, uint32_t block)
{
	return p->site_count + block;
}

static inline uint32_t plan_record_region(const struct plan *p, uint32_t region)
{
	return p->site_count + p->block_count + 1 + region;
}

static inline uint32_t plan_record_argument(const struct plan *p, uint32_t argument)
{
	return plan_record_region(p, p->region_count) + argument;
}

static inline const struct node *walk_node(const struct walk *w, uint32_t node)
{
	return tree_node(&w->plan->tree, node);
}

#endif
