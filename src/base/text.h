/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers on strings: growable text, spelling suggestions. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Growable text; all zero is empty. `s` is NULL until something is added, then terminated. */
struct text {
	char *s;
	size_t length;
	size_t room;
	bool failed; /* memory ran out: the content is incomplete */
};

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t n);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds `s` as a JSON string with its quotes: json_escape(). */
void text_add_json(struct text *t, const char *s);
void text_add_json_bytes(struct text *t, const char *s, size_t n);

/* Adds `s` quoted for a POSIX shell, where it needs quotes. */
void text_add_shell(struct text *t, const char *s);

void text_release(struct text *t);

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
unsigned text_distance(const char *a, const char *b);

/*
 * Spelling suggestion: true if `candidate` is near enough to `word` and nearer than the best so far,
 * which is then it. Start with *best = UINT_MAX.
 */
bool text_nearer(const char *word, const char *candidate, unsigned *best);

/*
 * A regular expression of users that the C library can bear: repetitions of repetitions take memory
 * without bound, references back time. False, and what is wrong in `why` (may be NULL): it is not.
 */
bool text_regex_bearable(const char *pattern, char *why, size_t size);

#endif
