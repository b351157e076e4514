/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON: strings as it wants them, and a writer of small documents onto growable text. Large ones
 * are streamed by their format, with the same json_escape().
 *
 *	struct json j = {.out = &text};
 *
 *	json_open(&j, '{');
 *	json_name(&j, "host");
 *	json_add_string(&j, host);
 *	json_close(&j);                  // {"host": "node1"}
 *
 * When memory runs out, `out->failed` says so; nothing else fails.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Bytes that `n` bytes take at most: six for one that is a control, 12 for a character of four. */
#define JSON_ESCAPED_MAX(n) ((n)*6 + 2)

/*
 * `s` as a JSON string with its quotes, without a terminator; returns its length. What is valid
 * UTF-8 stays as it is, but for quotes, backslashes, and all that plain_hidden() names (controls,
 * marks of direction), which are escaped; each byte that is not UTF-8 becomes U+FFFD.
 */
size_t json_escape(char *out, const char *s, size_t n);

#define JSON_DEPTH 16u

struct json {
	struct text *out;
	bool compact;           /* no spaces after ',' and ':' */
	bool later[JSON_DEPTH]; /* of each level: a comma is due */
	char ends[JSON_DEPTH];  /* what closes it */
	unsigned depth;
	bool named;    /* a name was written, its value comes next */
	unsigned line; /* more than 0: what comes next begins a line, after so many spaces less one
			*/
};

/* Begins an object, '{', or an array, '['. No deeper than JSON_DEPTH. */
void json_open(struct json *j, char bracket);
void json_close(struct json *j);

/* What comes next (a name, a value, an end) begins a line, after `indent` spaces. */
void json_line(struct json *j, unsigned indent);

/* In an object, before each value. */
void json_name(struct json *j, const char *name);

void json_add_string(struct json *j, const char *s); /* NULL: null */
void json_add_bytes(struct json *j, const char *s, size_t n);
void json_add_unsigned(struct json *j, uint64_t v);
void json_add_signed(struct json *j, int64_t v);
void json_add_bool(struct json *j, bool v);
void json_add_null(struct json *j);

/* A value that is JSON already. */
void json_add_raw(struct json *j, const char *value);

#endif
