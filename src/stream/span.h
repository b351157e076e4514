/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values as stretches of text that lie in memory: an object's members, an array's elements, and
 * numbers taken from their digits, since a double cannot hold a time of today in nanoseconds. Values
 * that are not what is asked for give false; nothing here fails for what is in the text.
 */
#ifndef STREAM_SPAN_H
#define STREAM_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

struct span {
	const char *s;
	size_t n;
};

/* Where a walk through an object or array stands; `broken`: the rest of it is no JSON. */
struct span_walk {
	const char *p, *end;
	bool broken;
};

/* False: the value is no object (array). */
bool span_object(struct span value, struct span_walk *w);
bool span_array(struct span value, struct span_walk *w);

/* The next member, its key without quotes; the next element. False: there is none. */
bool span_member(struct span_walk *w, struct span *key, struct span *value);
bool span_element(struct span_walk *w, struct span *value);

/* The value of the member of that name. */
bool span_find(struct span object, const char *name, struct span *value);

static inline bool span_is(struct span v, const char *text)
{
	return v.n == strlen(text) && memcmp(v.s, text, v.n) == 0;
}

static inline bool span_is_string(struct span v)
{
	return v.n >= 2 && v.s[0] == '"';
}

/*
 * The text of a string, without escapes: in `scratch` where it has some, else where it lies. What is no
 * character becomes U+FFFD. False: it is no string.
 */
bool span_string(struct span v, struct text *scratch, struct span *out);

/* Whole numbers, of strings as well ("0x7f", "12"). False: it is none, or out of range. */
bool span_signed(struct span v, int64_t *out);
bool span_unsigned(struct span v, uint64_t *out);
bool span_real(struct span v, double *out);

/* Microseconds as nanoseconds, exactly; digits beyond are rounded. False: no number, or beyond 140 years. */
bool span_time(struct span v, int64_t *ns);

#endif
