/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file as a stream of JSON values, compressed by gzip or not, in memory that does not depend on its
 * length: one value at a time lies in memory, and one that is larger than SOURCE_VALUE_MAX is passed over.
 */
#ifndef STREAM_SOURCE_H
#define STREAM_SOURCE_H

#include <zlib.h>

#include "stream/span.h"

enum { SOURCE_VALUE_MAX = 32 << 20, SOURCE_BUFFER = 256 << 10 };

struct source {
	gzFile file;
	const char *path;
	char *buffer;
	size_t used, at;
	uint64_t bytes;    /* on disk */
	struct text value; /* what was read last */
	bool begun;
	bool ended;         /* the file is at its end, or cannot be read further: */
	const char *broken; /* why */
	uint64_t too_large; /* values that were passed over */
};

/* False: it cannot be opened (errno), or there is no memory. */
bool source_open(struct source *s, const char *path);
void source_close(struct source *s);

/* The next character that is no space, which stays; -1 at the end. source_take() moves past it. */
int source_peek(struct source *s);
static inline void source_take(struct source *s)
{
	s->at++;
}

/* The next value, which stays until the next; false: the file ends in it. One that was too large is empty. */
bool source_value(struct source *s, struct span *out);

/* Part of the file that has been read, 0 to 1. */
double source_done(const struct source *s);

#endif
