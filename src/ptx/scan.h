/* SPDX-License-Identifier: Apache-2.0 */
/* PTX as a row of statements. Nothing is read beyond the text's length. */
#ifndef PTX_SCAN_H
#define PTX_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of the text. */
struct ptx_word {
	uint32_t at, length;
};

enum ptx_kind {
	PTX_END,
	PTX_OPEN,  /* { */
	PTX_CLOSE, /* } */
	PTX_LABEL,
	PTX_DIRECTIVE, /* `name` with its point; ends with ; or, some, with the line */
	PTX_INSTRUCTION,
	PTX_BAD
};

struct ptx_statement {
	enum ptx_kind kind;
	uint32_t start, end;   /* with its ; */
	struct ptx_word name;  /* label, directive, or operation with all of its points */
	struct ptx_word guard; /* the predicate's name; length 0: none */
	bool negated;
	uint32_t operands; /* where they begin; they end in front of the ; */
};

struct ptx_scan {
	const char *text; /* without comments: ptx_blank() */
	uint32_t length, at;
};

/* A copy in which comments are blanks, terminated; lines stay where they are. NULL: no memory. */
char *ptx_blank(const char *text, size_t length);

/* The next statement of a function's body. */
struct ptx_statement ptx_next(struct ptx_scan *s);

/* The next identifier, number or mark from `*at` on, which goes behind it; length 0: there is none before `end`. */
struct ptx_word ptx_word_next(const char *text, uint32_t *at, uint32_t end);
bool ptx_word_is(const char *text, struct ptx_word w, const char *is);
bool ptx_word_begins(const char *text, struct ptx_word w, const char *with);
bool ptx_words_equal(const char *text, struct ptx_word a, struct ptx_word b);
/* May stand in a name. */
bool ptx_named(char c);

/* From an opening bracket at `at`: behind the one that closes it; 0: there is none. */
uint32_t ptx_closing(const char *text, uint32_t at, uint32_t length);

#endif
