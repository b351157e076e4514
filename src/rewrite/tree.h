/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's functions as a tree of a few bytes a node, taken from libclang once: what comes after needs no library.
 * Places are offsets in the preprocessed text.
 */
#ifndef REWRITE_TREE_H
#define REWRITE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rewrite/clang.h"

enum space {
	SPACE_PRIVATE,
	SPACE_GLOBAL,
	SPACE_LOCAL,
	SPACE_CONSTANT,
	SPACE_GENERIC,
	SPACE_IMAGE,
};

enum type_class {
	TYPE_OTHER, /* structures, images, events, void ... */
	TYPE_INT,
	TYPE_HALF,
	TYPE_FLOAT,
	TYPE_DOUBLE,
	TYPE_POINTER,
	TYPE_ARRAY,
	TYPE_FUNCTION,
};

struct type {
	uint8_t of;     /* enum type_class: of a vector's elements */
	uint8_t width;  /* elements of a vector; 1: none */
	uint8_t space;  /* enum space: where a value of this type is */
	uint8_t target; /* enum space: where a pointer points to */
	bool vector;    /* float4, but not float */
	uint32_t bytes; /* of the whole; 0: not known */
	uint32_t target_bytes;
	uint8_t align, target_align; /* 255: that or more */
	uint8_t target_of;
};

/* How a statement may be left before its end, or entered after its beginning. */
enum {
	LEAVES_FUNCTION = 1, /* return, goto */
	LEAVES_BREAK = 2,
	LEAVES_CONTINUE = 4,
	HAS_CASE = 8,
	HAS_LABEL = 16,
};

struct node {
	uint16_t kind; /* CX_... */
	uint8_t flow;  /* the bits above */
	bool counted;  /* something in it may be counted: more than names and constants */
	uint32_t begin, end;
	uint32_t child, next; /* 0: none */
	uint32_t function;    /* of a call or a definition: place in `functions`, plus one */
	struct type type;
};

/* A place in the text at which a declaration's parameters end: its ')'. */
struct parameters {
	uint32_t function, close;
	bool empty; /* () or (void) */
	uint32_t open;
};

/* A piece of the text. */
struct stretch {
	uint32_t begin, end;
};

struct function {
	CXCursor cursor; /* the canonical one */
	char *name;
	bool kernel;
	bool used;     /* a kernel, or one that a kernel may call */
	uint32_t node; /* of the definition; 0: declared alone */
	uint32_t body;
};

struct tree {
	const char *text;
	uint32_t length;
	struct node *nodes; /* [0] is none */
	uint32_t count, room;
	struct function *functions;
	uint32_t function_count, function_room;
	struct parameters *parameters;
	uint32_t parameters_count, parameters_room;
	struct stretch *promises; /* pure, const: attributes of functions that will count */
	uint32_t promise_count, promise_room;
	char why[512]; /* not empty: it cannot be rewritten */
	uint32_t why_at;
};

/* Parses `text` with these arguments. False: `why` is filled. */
bool tree_build(struct tree *t, const struct clang *c, const char *const *arguments, int count);
void tree_release(struct tree *t);

/* ---- looking around in the text ---- */

/* What cannot be rewritten, said once: the first reason stands. */
void tree_refuse(struct tree *t, uint32_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* From `at` on over white space and lines of the preprocessor. */
uint32_t tree_skip(const struct tree *t, uint32_t at);
/* The parenthesis that closes the one at `open`; `length`: none. */
uint32_t tree_closing(const struct tree *t, uint32_t open);
/* The next `c` outside of parentheses, texts and lines of the preprocessor from `at` on; `length`: none. */
uint32_t tree_find(const struct tree *t, uint32_t at, char c);
/* The word `word` begins at `at`. */
bool tree_word(const struct tree *t, uint32_t at, const char *word);
/* The next word or number outside of texts and lines of the preprocessor, and `at` behind it; `length`: none. */
uint32_t tree_next_word(const struct tree *t, uint32_t *at);
/* Behind the statement, its semicolon included. */
uint32_t tree_statement_end(struct tree *t, uint32_t node);

/* Bytes of a vector's element; those of three take the room of four. */
static inline uint32_t type_element_bytes(const struct type *t)
{
	return t->bytes / (t->width == 3 ? 4u : t->width ? t->width : 1u);
}

static inline const struct node *tree_node(const struct tree *t, uint32_t i)
{
	return &t->nodes[i];
}

#endif
