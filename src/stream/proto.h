/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a message, walked where they lie: whatever is in it, nothing is read beyond its end. */
#ifndef STREAM_PROTO_H
#define STREAM_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct part {
	const uint8_t *s;
	size_t n;
};

/* An empty one: there are bytes, none of which is its. */
#define PART_NONE ((struct part){(const uint8_t *)"", 0})

struct proto_walk {
	const uint8_t *p, *end;
	bool broken; /* what follows is no message */
};

enum proto_type { PROTO_NUMBER = 0, PROTO_8_BYTES = 1, PROTO_PART = 2, PROTO_4_BYTES = 5 };

struct proto_field {
	uint32_t number;
	uint8_t type;  /* enum proto_type */
	uint64_t v;    /* of numbers and bytes */
	struct part s; /* of parts */
};

static inline struct proto_walk proto_walk(struct part m)
{
	return (struct proto_walk){m.s, m.s + m.n, false};
}

/* The next of numbers that are packed in one part. False: there is none, or the rest is broken. */
bool proto_number(struct proto_walk *w, uint64_t *out);

/* False: there is none, or the rest is broken. */
bool proto_next(struct proto_walk *w, struct proto_field *f);

/* A field of that number and type; others of the number are wrong, and are counted. */
static inline bool proto_is(const struct proto_field *f, uint32_t number, enum proto_type type,
			    uint64_t *wrong)
{
	if (f->number != number)
		return false;
	*wrong += f->type != type;
	return f->type == type;
}

static inline bool part_is(struct part p, const char *text)
{
	return p.n == strlen(text) && memcmp(p.s, text, p.n) == 0;
}

static inline bool part_begins(struct part p, const char *text)
{
	size_t n = strlen(text);

	return p.n >= n && memcmp(p.s, text, n) == 0;
}

#endif
