/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any number of texts that are written side by side and read one after the other, in bounded memory: all lie in
 * one unlinked temporary file, in blocks of which each says where the next one of its text is.
 *
 *	strands_init(&p, directory);
 *	strand_begin(&p, &one); strand_begin(&p, &two);
 *	output_text(&one.out, "a"); output_text(&two.out, "b");
 *	strand_copy(&one, &o); strand_copy(&two, &o);          // "ab"
 */
#ifndef STREAM_STRANDS_H
#define STREAM_STRANDS_H

#include "stream/output.h"

struct strands {
	int fd;
	uint64_t end; /* bytes in the file */
};

struct strand {
	struct output out; /* what is written goes here */
	struct strands *strands;
	uint64_t first, last; /* blocks + 1; 0: none */
};

/* The file lies in `directory`. */
kymo_status_t strands_init(struct strands *p, const char *directory);
void strands_release(struct strands *p);

/* Its address must stay. */
kymo_status_t strand_begin(struct strands *p, struct strand *x);

/* Nothing was written to it. */
static inline bool strand_is_empty(const struct strand *x)
{
	return !x->first && !x->out.used;
}

/* Adds all of it to `o`, and ends it. */
kymo_status_t strand_copy(struct strand *x, struct output *o);
void strand_release(struct strand *x);

#endif
