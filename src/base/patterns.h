/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions as users give them: one, or those of a file, one a line. What one of them matches is chosen. Of
 * kernels a line may end in numbers of executions, "scale#1-3".
 */
#ifndef BASE_PATTERNS_H
#define BASE_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define PATTERNS_MAX   60000u /* bytes: a variable of the environment has 128 KiB */
#define PATTERNS_LINES 1000u

/*
 * What "@FILE" has: its lines without what surrounds them, comments (# first) and empty ones; to be freed. NULL: `why`
 * says why not.
 */
char *patterns_read(const char *path, char *why, size_t size);

/* All lines are regular expressions that can be borne. `numbered`: numbers of executions may follow. */
bool patterns_check(const char *text, bool numbered, char *why, size_t size);

/* The next line at *s, to be freed; *s is NULL after the last. Of no text there is one, which is empty. */
char *patterns_next(const char **s);

/* In one line, for people: "a|b", its beginning if it is long. */
void patterns_show(struct text *out, const char *text);

#endif
